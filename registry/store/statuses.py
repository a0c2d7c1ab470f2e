"""What may change about a revision: its state, and that it has been retired. The ledger is held."""

from dataclasses import replace
from datetime import datetime
from typing import Final

from sqlalchemy import exists, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from registry.audit import AuditAction
from registry.errors import StateError
from registry.identifiers import ContractName, RevisionNumber
from registry.revision import Actor, RevisionState
from registry.store.audit_log import append
from registry.store.ledger import lock_ledger
from registry.store.looking import live_contract, live_revision
from registry.store.records import StoredRevision
from registry.store.tables.contracts import ALIASES, DEPENDENCIES, STATUSES

_ORDER: Final = tuple(RevisionState)


async def set_state(
    session: AsyncConnection,
    actor: Actor,
    name: ContractName,
    number: RevisionNumber,
    state: RevisionState,
    *,
    reason: str,
    at: datetime,
) -> StoredRevision:
    """See `ContractStore.set_state`."""
    await lock_ledger(session, actor.tenant)
    await live_contract(session, actor.tenant, name)
    present = await live_revision(session, actor.tenant, name, number)
    if present.status.state is state:
        return present
    if _ORDER.index(state) < _ORDER.index(present.status.state):
        raise StateError(
            "backwards_state", f"{name}@{number} is {present.status.state} and cannot become {state} again"
        )
    if state is RevisionState.SUNSET:
        await refuse_if_named(session, present)
    return await change_state(session, actor, present, state, reason=reason, at=at)


async def change_state(
    session: AsyncConnection, actor: Actor, present: StoredRevision, state: RevisionState, *, reason: str, at: datetime
) -> StoredRevision:
    """Write the new state and its event; whether it is a good one is known already."""
    status = replace(present.status, state=state, changed_at=at, changed_by=actor.principal, reason=reason)
    await session.execute(
        update(STATUSES)
        .where(STATUSES.c.revision_id == present.revision.revision_id)
        .values(state=state.value, changed_at=at, changed_by=actor.principal, reason=reason)
    )
    await append(
        session,
        actor,
        AuditAction.REVISION_STATE_CHANGED,
        subject={"name": present.revision.name, "number": present.revision.number},
        details={"from": present.status.state.value, "to": state.value, "reason": reason},
        at=at,
    )
    return StoredRevision(revision=present.revision, status=status)


async def tombstone_revision(
    session: AsyncConnection, actor: Actor, name: ContractName, number: RevisionNumber, *, reason: str, at: datetime
) -> StoredRevision:
    """See `ContractStore.tombstone_revision`."""
    await lock_ledger(session, actor.tenant)
    await live_contract(session, actor.tenant, name)
    present = await live_revision(session, actor.tenant, name, number, lock=True)
    await refuse_if_named(session, present)
    dependents = DEPENDENCIES.join(STATUSES, STATUSES.c.revision_id == DEPENDENCIES.c.revision_id)
    needed = select(
        exists()
        .select_from(dependents)
        .where(DEPENDENCIES.c.dependency_id == present.revision.revision_id, STATUSES.c.tombstoned_at.is_(None))
    )
    if (await session.execute(needed)).scalar_one():
        raise StateError("still_referenced", f"{name}@{number} is referred to by another revision")
    await session.execute(
        update(STATUSES)
        .where(STATUSES.c.revision_id == present.revision.revision_id)
        .values(tombstoned_at=at, changed_at=at, changed_by=actor.principal, reason=reason, is_shared=False)
    )
    await append(
        session,
        actor,
        AuditAction.REVISION_TOMBSTONED,
        subject={"name": name, "number": number},
        details={"digest": present.revision.digest, "reason": reason},
        at=at,
    )
    status = replace(present.status, tombstoned_at=at, changed_at=at, changed_by=actor.principal, reason=reason)
    return StoredRevision(revision=present.revision, status=status)


async def refuse_if_named(session: AsyncConnection, present: StoredRevision) -> None:
    """Refuse while an alias points to the revision.

    Raises:
        StateError: `still_referenced`, with one of the aliases.
    """
    pointing = select(ALIASES.c.alias).where(ALIASES.c.revision_id == present.revision.revision_id)
    alias = (await session.execute(pointing.order_by(ALIASES.c.alias).limit(1))).scalar_one_or_none()
    if alias is not None:
        name, number = present.revision.name, present.revision.number
        raise StateError("still_referenced", f"the alias {name}@{alias} points to revision {number}: move it first")
