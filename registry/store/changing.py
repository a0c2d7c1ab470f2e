"""What may change about a contract, and retiring it. Within a transaction that holds the tenant's ledger."""

from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy import and_, exists, not_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from registry.audit import AuditAction
from registry.contract import JsonValue
from registry.errors import PreconditionFailedError, StateError
from registry.identifiers import ContractName
from registry.revision import Actor, Contract, Visibility
from registry.store.audit_log import append
from registry.store.ledger import lock_ledger
from registry.store.looking import live_contract
from registry.store.records import ContractChanges, Unchanged
from registry.store.tables.contracts import ALIASES, CONTRACTS, DEPENDENCIES, REVISIONS, STATUSES


async def change_contract(
    session: AsyncConnection,
    actor: Actor,
    name: ContractName,
    changes: ContractChanges,
    *,
    expected_version: int | None,
    at: datetime,
) -> Contract:
    """See `ContractStore.change_contract`."""
    await lock_ledger(session, actor.tenant)
    present = await live_contract(session, actor.tenant, name)
    if expected_version is not None and present.version != expected_version:
        raise PreconditionFailedError(expected=expected_version, observed=present.version)
    wanted: dict[str, Any] = {
        "team": changes.team,
        "visibility": changes.visibility,
        "compatibility": changes.compatibility,
        "description": changes.description,
    }
    new = {
        member: value
        for member, value in wanted.items()
        if not isinstance(value, Unchanged) and value != getattr(present, member)
    }
    if not new:
        return present
    if new.get("visibility") is Visibility.PRIVATE:
        await _refuse_if_others_depend(session, present)
    await session.execute(
        update(CONTRACTS)
        .where(*_this(present))
        .values(version=present.version + 1, **{k: _text(v) for k, v in new.items()})
    )
    if "visibility" in new:
        mine = select(REVISIONS.c.revision_id).where(
            REVISIONS.c.tenant == present.tenant, REVISIONS.c.name == present.name
        )
        await session.execute(
            update(STATUSES)
            .where(STATUSES.c.revision_id.in_(mine), STATUSES.c.tombstoned_at.is_(None))
            .values(is_shared=new["visibility"] is Visibility.SHARED)
        )
    await append(
        session,
        actor,
        AuditAction.CONTRACT_CHANGED,
        subject={"name": name},
        details={
            "from": {member: _text(getattr(present, member)) for member in new},
            "to": {member: _text(value) for member, value in new.items()},
            "version": present.version + 1,
        },
        at=at,
    )
    return replace(present, version=present.version + 1, **new)


async def tombstone_contract(
    session: AsyncConnection, actor: Actor, name: ContractName, *, reason: str, at: datetime
) -> Contract:
    """See `ContractStore.tombstone_contract`."""
    await lock_ledger(session, actor.tenant)
    present = await live_contract(session, actor.tenant, name)
    pointing = select(ALIASES.c.alias).where(ALIASES.c.tenant == present.tenant, ALIASES.c.name == present.name)
    alias = (await session.execute(pointing.order_by(ALIASES.c.alias).limit(1))).scalar_one_or_none()
    if alias is not None:
        raise StateError("still_referenced", f"{name} has the alias {alias}: drop its aliases first")
    mine = select(REVISIONS.c.revision_id).where(REVISIONS.c.tenant == present.tenant, REVISIONS.c.name == present.name)
    held = select(STATUSES.c.revision_id).where(STATUSES.c.revision_id.in_(mine), STATUSES.c.tombstoned_at.is_(None))
    await session.execute(held.order_by(STATUSES.c.revision_id).with_for_update())
    if await _is_needed(session, present, by_other_tenants=False):
        raise StateError("still_referenced", f"a revision of another contract refers to {name}")
    await session.execute(
        update(STATUSES)
        .where(STATUSES.c.revision_id.in_(mine), STATUSES.c.tombstoned_at.is_(None))
        .values(tombstoned_at=at, changed_at=at, changed_by=actor.principal, reason=reason, is_shared=False)
    )
    await session.execute(
        update(CONTRACTS).where(*_this(present)).values(tombstoned_at=at, version=present.version + 1)
    )
    await append(
        session,
        actor,
        AuditAction.CONTRACT_TOMBSTONED,
        subject={"name": name},
        details={"latest": present.latest, "reason": reason},
        at=at,
    )
    return replace(present, tombstoned_at=at, version=present.version + 1)


async def _refuse_if_others_depend(session: AsyncConnection, present: Contract) -> None:
    """What another tenant's contract is made of must stay readable to that tenant."""
    mine = select(REVISIONS.c.revision_id).where(REVISIONS.c.tenant == present.tenant, REVISIONS.c.name == present.name)
    held = select(STATUSES.c.revision_id).where(STATUSES.c.revision_id.in_(mine))
    await session.execute(held.order_by(STATUSES.c.revision_id).with_for_update())
    if await _is_needed(session, present, by_other_tenants=True):
        raise StateError("still_referenced", f"another tenant's contract refers to {present.name}")


async def _is_needed(session: AsyncConnection, present: Contract, *, by_other_tenants: bool) -> bool:
    needed, dependent = REVISIONS.alias("needed"), REVISIONS.alias("dependent")
    tables = (
        needed.join(DEPENDENCIES, DEPENDENCIES.c.dependency_id == needed.c.revision_id)
        .join(dependent, dependent.c.revision_id == DEPENDENCIES.c.revision_id)
        .join(STATUSES, STATUSES.c.revision_id == dependent.c.revision_id)
    )
    is_own = and_(dependent.c.tenant == present.tenant, dependent.c.name == present.name)
    outside = dependent.c.tenant != present.tenant if by_other_tenants else not_(is_own)
    statement = select(
        exists()
        .select_from(tables)
        .where(
            needed.c.tenant == present.tenant,
            needed.c.name == present.name,
            STATUSES.c.tombstoned_at.is_(None),
            outside,
        )
    )
    return bool((await session.execute(statement)).scalar_one())


def _this(contract: Contract) -> tuple[Any, Any]:
    return CONTRACTS.c.tenant == contract.tenant, CONTRACTS.c.name == contract.name


def _text(value: Any) -> JsonValue:
    return None if value is None else str(value)
