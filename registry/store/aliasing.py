"""Moving aliases: within a transaction that holds the tenant's ledger."""

from datetime import datetime

from sqlalchemy import delete, func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from registry.audit import AuditAction
from registry.contract import JsonValue
from registry.errors import NotFoundError, PreconditionFailedError, StateError
from registry.identifiers import AliasName, ContractName, RevisionNumber
from registry.revision import Actor, Alias, RevisionState
from registry.store.audit_log import append
from registry.store.bounds import MAX_ALIASES
from registry.store.ledger import lock_ledger
from registry.store.looking import find_alias, live_contract, live_revision
from registry.store.statuses import change_state
from registry.store.tables.contracts import ALIASES, CONTRACTS


async def move_alias(
    session: AsyncConnection,
    actor: Actor,
    name: ContractName,
    alias: AliasName,
    number: RevisionNumber,
    *,
    expected_version: int | None,
    must_be_new: bool,
    reason: str,
    action: AuditAction,
    at: datetime,
    extra: dict[str, JsonValue] | None = None,
) -> Alias:
    """See `ContractStore.move_alias`; `extra` is added to the details of the audit event."""
    await lock_ledger(session, actor.tenant)
    await live_contract(session, actor.tenant, name)
    present = await find_alias(session, actor.tenant, name, alias)
    _check(present, expected_version=expected_version, must_be_new=must_be_new)
    target = await live_revision(session, actor.tenant, name, number)
    if target.status.state is RevisionState.SUNSET:
        raise StateError("sunset_revision", f"{name}@{number} is no longer served, so no alias can move to it")
    if target.status.state is RevisionState.DRAFT:
        await change_state(session, actor, target, RevisionState.ACTIVE, reason=reason, at=at)
    left = None if present is None else present.number
    moved = Alias(
        tenant=actor.tenant,
        name=name,
        alias=alias,
        number=number,
        revision_id=target.revision.revision_id,
        version=await _first_version(session, actor, name) if present is None else present.version + 1,
        moved_at=at,
        moved_by=actor.principal,
        # There is one way back. What a rollback left is no way forward: that is a promotion, with all that it asks. And
        # a rollback that is sent twice goes back once.
        previous=None if action is AuditAction.ALIAS_ROLLED_BACK else left,
    )
    await _write(session, moved, is_new=present is None)
    details: dict[str, JsonValue] = {
        "number": number,
        "revision_id": moved.revision_id,
        "digest": target.revision.digest,
        "previous": left,
        "version": moved.version,
        "reason": reason,
    }
    await append(session, actor, action, subject={"name": name, "alias": alias}, details=details | (extra or {}), at=at)
    return moved


async def drop_alias(
    session: AsyncConnection,
    actor: Actor,
    name: ContractName,
    alias: AliasName,
    *,
    expected_version: int | None,
    reason: str,
    at: datetime,
) -> None:
    """See `ContractStore.drop_alias`."""
    await lock_ledger(session, actor.tenant)
    await live_contract(session, actor.tenant, name)
    present = await find_alias(session, actor.tenant, name, alias)
    if present is None:
        raise NotFoundError("alias", f"{name}@{alias}")
    _check(present, expected_version=expected_version, must_be_new=False)
    await session.execute(
        delete(ALIASES).where(ALIASES.c.tenant == actor.tenant, ALIASES.c.name == name, ALIASES.c.alias == alias)
    )
    # An alias of this name made later must not come to a version that somebody has seen of this one.
    await session.execute(
        update(CONTRACTS)
        .where(CONTRACTS.c.tenant == actor.tenant, CONTRACTS.c.name == name, CONTRACTS.c.alias_floor < present.version)
        .values(alias_floor=present.version)
    )
    await append(
        session,
        actor,
        AuditAction.ALIAS_DROPPED,
        subject={"name": name, "alias": alias},
        details={"number": present.number, "version": present.version, "reason": reason},
        at=at,
    )


def _check(present: Alias | None, *, expected_version: int | None, must_be_new: bool) -> None:
    observed = None if present is None else present.version
    if must_be_new and present is not None:
        raise PreconditionFailedError(expected=None, observed=observed)
    if expected_version is not None and observed != expected_version:
        raise PreconditionFailedError(expected=expected_version, observed=observed)


async def _first_version(session: AsyncConnection, actor: Actor, name: ContractName) -> int:
    mine = (ALIASES.c.tenant == actor.tenant, ALIASES.c.name == name)
    num_aliases = (await session.execute(select(func.count()).select_from(ALIASES).where(*mine))).scalar_one()
    if num_aliases >= MAX_ALIASES:
        raise StateError("too_many_aliases", f"{name} has {MAX_ALIASES} aliases, the most that one contract can have")
    floor = select(CONTRACTS.c.alias_floor).where(CONTRACTS.c.tenant == actor.tenant, CONTRACTS.c.name == name)
    return int((await session.execute(floor)).scalar_one()) + 1


async def _write(session: AsyncConnection, alias: Alias, *, is_new: bool) -> None:
    values = {
        "number": alias.number,
        "revision_id": alias.revision_id,
        "version": alias.version,
        "moved_at": alias.moved_at,
        "moved_by": alias.moved_by,
        "previous": alias.previous,
    }
    if is_new:
        key = {"tenant": alias.tenant, "name": alias.name, "alias": alias.alias}
        await session.execute(insert(ALIASES).values(key | values))
    else:
        await session.execute(
            update(ALIASES)
            .where(ALIASES.c.tenant == alias.tenant, ALIASES.c.name == alias.name, ALIASES.c.alias == alias.alias)
            .values(values)
        )
