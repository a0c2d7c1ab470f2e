"""Proposals to move an alias, and what becomes of them. Who may decide, and on what grounds, is judged above."""

import secrets
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime

from sqlalchemy import func, insert, literal, select, tuple_, update
from sqlalchemy.ext.asyncio import AsyncConnection

from registry.audit import AuditAction
from registry.contract import JsonValue
from registry.errors import InvalidNameError, NotFoundError, StateError
from registry.identifiers import AliasName, ContractName, PromotionId, RevisionNumber, TenantId
from registry.revision import Actor, Alias, Promotion, PromotionState, RevisionState
from registry.store import rows
from registry.store.aliasing import move_alias
from registry.store.audit_log import append
from registry.store.bounds import DEFAULT_PAGE, MAX_OPEN_PROMOTIONS, MAX_PAGE
from registry.store.cursors import read_cursor, write_cursor
from registry.store.database import Database
from registry.store.faults import retried
from registry.store.ledger import lock_ledger
from registry.store.looking import live_contract, live_revision
from registry.store.notes import checked_note
from registry.store.records import Decided, Page
from registry.store.tables.contracts import PROMOTIONS

_ACTIONS = {
    PromotionState.APPLIED: AuditAction.PROMOTION_APPLIED,
    PromotionState.REJECTED: AuditAction.PROMOTION_REJECTED,
    PromotionState.WITHDRAWN: AuditAction.PROMOTION_WITHDRAWN,
}


class PromotionStore:
    """Promotions of all tenants; every method names one."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @retried
    async def propose(
        self,
        actor: Actor,
        name: ContractName,
        alias: AliasName,
        number: RevisionNumber,
        *,
        alias_version: int | None,
        reason: str,
        details: Mapping[str, JsonValue] | None = None,
        at: datetime,
    ) -> Promotion:
        """Keep a proposal for somebody else to decide; `details` go into its audit event.

        The same proposal of the same person that still waits is this one: whoever sends it twice has made one.

        Raises:
            NotFoundError, TombstonedError: no such contract or revision, or no more.
            StateError: `sunset_revision`, `too_many_promotions`.
        """
        checked_note("a reason", reason)
        promotion = Promotion(
            promotion_id=PromotionId(f"prm_{secrets.token_hex(16)}"),
            tenant=actor.tenant,
            name=name,
            alias=alias,
            number=number,
            state=PromotionState.PROPOSED,
            proposed_by=actor.principal,
            proposed_at=at,
            reason=reason,
            alias_version=alias_version,
        )
        async with self._database.writing() as session:
            await lock_ledger(session, actor.tenant)
            await live_contract(session, actor.tenant, name)
            target = await live_revision(session, actor.tenant, name, number)
            if target.status.state is RevisionState.SUNSET:
                raise StateError("sunset_revision", f"{name}@{number} is no longer served, so no alias can move to it")
            waiting = await _find_waiting(session, promotion)
            if waiting is not None:
                return waiting
            await _refuse_too_many(session, actor.tenant)
            await session.execute(
                insert(PROMOTIONS).values(
                    promotion_id=promotion.promotion_id,
                    tenant=promotion.tenant,
                    name=name,
                    alias=alias,
                    number=number,
                    state=promotion.state.value,
                    proposed_by=promotion.proposed_by,
                    proposed_at=at,
                    reason=reason,
                    alias_version=alias_version,
                )
            )
            await append(
                session,
                actor,
                AuditAction.PROMOTION_PROPOSED,
                subject={"name": name, "alias": alias, "promotion": promotion.promotion_id},
                details={"number": number, "digest": target.revision.digest, "reason": reason, **(details or {})},
                at=at,
            )
        return promotion

    @retried
    async def decide(
        self,
        actor: Actor,
        promotion_id: PromotionId,
        state: PromotionState,
        *,
        expected_version: int | None,
        must_be_new: bool = False,
        reason: str,
        details: Mapping[str, JsonValue] | None = None,
        at: datetime,
    ) -> Decided:
        """End a proposal. APPLIED moves its alias in the same transaction, under the preconditions of `move_alias`.

        Raises:
            NotFoundError: the tenant has no such promotion.
            StateError: `promotion_decided`: somebody has ended it already; and those of `move_alias`.
            TombstonedError, PreconditionFailedError: of `move_alias`.
        """
        if state is PromotionState.PROPOSED:
            raise ValueError("a decision ends a proposal")
        checked_note("a reason", reason)
        async with self._database.writing() as session:
            await lock_ledger(session, actor.tenant)
            present = await _find(session, actor.tenant, promotion_id)
            if present is None:
                raise NotFoundError("promotion", promotion_id)
            if present.state is not PromotionState.PROPOSED:
                raise StateError("promotion_decided", f"{promotion_id} has been {present.state} already")
            await session.execute(
                update(PROMOTIONS)
                .where(PROMOTIONS.c.promotion_id == promotion_id)
                .values(state=state.value, decided_by=actor.principal, decided_at=at)
            )
            decided = replace(present, state=state, decided_by=actor.principal, decided_at=at)
            await append(
                session,
                actor,
                _ACTIONS[state],
                subject={"name": present.name, "alias": present.alias, "promotion": promotion_id},
                details={
                    "number": present.number,
                    "proposed_by": present.proposed_by,
                    "reason": reason,
                    **(details or {}),
                },
                at=at,
            )
            moved: Alias | None = None
            if state is PromotionState.APPLIED:
                moved = await move_alias(
                    session,
                    actor,
                    present.name,
                    present.alias,
                    present.number,
                    expected_version=expected_version,
                    must_be_new=must_be_new,
                    reason=reason,
                    action=AuditAction.ALIAS_MOVED,
                    at=at,
                    extra={"promotion": promotion_id},
                )
        return Decided(promotion=decided, alias=moved)

    @retried
    async def get(self, tenant: TenantId, promotion_id: PromotionId) -> Promotion | None:
        """A tenant's promotion."""
        async with self._database.looking() as session:
            return await _find(session, tenant, promotion_id)

    @retried
    async def list(
        self,
        tenant: TenantId,
        *,
        name: ContractName | None = None,
        state: PromotionState | None = None,
        cursor: str | None = None,
        limit: int = DEFAULT_PAGE,
    ) -> Page[Promotion]:
        """A tenant's promotions, newest first.

        Raises:
            InvalidNameError: not a cursor of this question.
        """
        question = ("promotions", tenant, name, state)
        statement = select(PROMOTIONS).where(PROMOTIONS.c.tenant == tenant)
        if name is not None:
            statement = statement.where(PROMOTIONS.c.name == name)
        if state is not None:
            statement = statement.where(PROMOTIONS.c.state == state.value)
        if cursor is not None:
            proposed_at, last = _place(question, cursor)
            place = tuple_(literal(proposed_at, PROMOTIONS.c.proposed_at.type), literal(last))
            statement = statement.where(tuple_(PROMOTIONS.c.proposed_at, PROMOTIONS.c.promotion_id) < place)
        size = max(1, min(limit, MAX_PAGE))
        ordered = statement.order_by(PROMOTIONS.c.proposed_at.desc(), PROMOTIONS.c.promotion_id.desc())
        async with self._database.looking() as session:
            found = [rows.promotion(row) for row in await session.execute(ordered.limit(size + 1))]
        if len(found) <= size:
            return Page(items=tuple(found))
        end = found[size - 1]
        return Page(
            items=tuple(found[:size]),
            next_cursor=write_cursor(question, (end.proposed_at.isoformat(), end.promotion_id)),
        )


def _place(question: tuple[object, ...], cursor: str) -> tuple[datetime, str]:
    moment, last = read_cursor(question, cursor, shape=(str, str))
    try:
        proposed_at = datetime.fromisoformat(str(moment))
        return proposed_at.astimezone(UTC), str(last)
    except (ValueError, OverflowError) as error:
        raise InvalidNameError("a cursor", cursor) from error


async def _find(session: AsyncConnection, tenant: TenantId, promotion_id: PromotionId) -> Promotion | None:
    statement = select(PROMOTIONS).where(PROMOTIONS.c.promotion_id == promotion_id, PROMOTIONS.c.tenant == tenant)
    row = (await session.execute(statement)).one_or_none()
    return None if row is None else rows.promotion(row)


async def _find_waiting(session: AsyncConnection, wanted: Promotion) -> Promotion | None:
    statement = select(PROMOTIONS).where(
        PROMOTIONS.c.tenant == wanted.tenant,
        PROMOTIONS.c.state == PromotionState.PROPOSED.value,
        PROMOTIONS.c.name == wanted.name,
        PROMOTIONS.c.alias == wanted.alias,
        PROMOTIONS.c.number == wanted.number,
        PROMOTIONS.c.proposed_by == wanted.proposed_by,
        PROMOTIONS.c.alias_version.is_not_distinct_from(wanted.alias_version),
    )
    oldest = statement.order_by(PROMOTIONS.c.proposed_at, PROMOTIONS.c.promotion_id).limit(1)
    row = (await session.execute(oldest)).one_or_none()
    return None if row is None else rows.promotion(row)


async def _refuse_too_many(session: AsyncConnection, tenant: TenantId) -> None:
    waiting = select(PROMOTIONS.c.promotion_id).where(
        PROMOTIONS.c.tenant == tenant, PROMOTIONS.c.state == PromotionState.PROPOSED.value
    )
    counted = select(func.count()).select_from(waiting.limit(MAX_OPEN_PROMOTIONS).subquery())
    if (await session.execute(counted)).scalar_one() >= MAX_OPEN_PROMOTIONS:
        raise StateError("too_many_promotions", f"{MAX_OPEN_PROMOTIONS} promotions are waiting: decide some first")
