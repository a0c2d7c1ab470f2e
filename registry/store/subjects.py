"""The registry's rows in the order of a Confluent registry: subjects, versions, schema ids, of one tenant each.

A revision is a *version* of its subject if its contract is a JSON Schema and it is more than a draft. It is *live*
while it is served, and *retired* from then on (tombstoned, or at its sunset) until it is hidden.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from sqlalchemy import ColumnElement, FromClause, Select, and_, exists, func, or_, select

from registry.audit import AuditAction
from registry.contract import ContractDigest, ContractKind, JsonValue
from registry.identifiers import ContractName, RevisionId, RevisionNumber, SchemaId, TenantId
from registry.revision import Actor, RevisionState
from registry.store.audit_log import append
from registry.store.bounds import MAX_REVISIONS
from registry.store.database import Database
from registry.store.faults import retried
from registry.store.ledger import inserting, lock_ledger
from registry.store.tables.contracts import CONTRACTS, DEPENDENCIES, REVISIONS, STATUSES
from registry.store.tables.hidden import HIDDEN


class Standing(StrEnum):
    """Which versions are asked for."""

    LIVE = "live"
    RETIRED = "retired"
    ANY = "any"


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """A version by all its names."""

    subject: ContractName
    number: RevisionNumber
    revision_id: RevisionId
    schema_id: SchemaId
    is_live: bool


_NUMBERS_IN_EVENT: Final = 500
"""Hidden in one audit event, so that no event grows with the number of revisions."""
_JSON_SCHEMA: Final = ContractKind.JSON_SCHEMA.value
_SERVED = (RevisionState.ACTIVE.value, RevisionState.DEPRECATED.value)


class SubjectStore:
    """Reads them; all it writes is what is hidden."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @retried
    async def subjects(
        self, tenant: TenantId, *, prefix: str, standing: Standing, offset: int, limit: int
    ) -> tuple[ContractName, ...]:
        """Subjects by name. A retired one has retired versions and no live one."""
        live, retired = _has_version(_is_live(STATUSES)), _has_version(_is_retired(STATUSES))
        wanted = {Standing.LIVE: live, Standing.RETIRED: and_(retired, ~live), Standing.ANY: or_(live, retired)}
        statement = (
            select(CONTRACTS.c.name)
            .where(
                CONTRACTS.c.tenant == tenant,
                CONTRACTS.c.kind == _JSON_SCHEMA,
                _begins(CONTRACTS.c.name, prefix),
                wanted[standing],
            )
            .order_by(CONTRACTS.c.name)
        )
        async with self._database.looking() as session:
            return tuple(ContractName(name) for name in await session.scalars(statement.offset(offset).limit(limit)))

    @retried
    async def versions(
        self, tenant: TenantId, name: ContractName, *, standing: Standing, offset: int = 0, limit: int = MAX_REVISIONS
    ) -> tuple[Version, ...]:
        """A subject's versions, upwards."""
        statement = _versions(standing).where(REVISIONS.c.tenant == tenant, REVISIONS.c.name == name)
        return await self._all(statement.order_by(REVISIONS.c.number).offset(offset).limit(limit))

    @retried
    async def version(
        self,
        tenant: TenantId,
        name: ContractName,
        *,
        standing: Standing,
        number: RevisionNumber | None = None,
        source_digest: str | None = None,
        digest: ContractDigest | None = None,
    ) -> Version | None:
        """The highest version of a subject that has all that is named."""
        statement = _versions(standing).where(REVISIONS.c.tenant == tenant, REVISIONS.c.name == name)
        if number is not None:
            statement = statement.where(REVISIONS.c.number == number)
        if source_digest is not None:
            statement = statement.where(REVISIONS.c.source_digest == source_digest)
        if digest is not None:
            statement = statement.where(REVISIONS.c.digest == digest)
        found = await self._all(statement.order_by(REVISIONS.c.number.desc()).limit(1))
        return found[0] if found else None

    @retried
    async def uses(
        self,
        tenant: TenantId,
        schema_id: SchemaId,
        *,
        standing: Standing,
        subject: ContractName | None = None,
        limit: int,
    ) -> tuple[Version, ...]:
        """Versions with that id, of all subjects or of one: the live ones first, by name and number."""
        statement = _versions(standing).where(REVISIONS.c.tenant == tenant, REVISIONS.c.schema_id == schema_id)
        if subject is not None:
            statement = statement.where(REVISIONS.c.name == subject)
        order = (_is_live(STATUSES).desc(), REVISIONS.c.name, REVISIONS.c.number)
        return await self._all(statement.order_by(*order).limit(limit))

    @retried
    async def listed(
        self, tenant: TenantId, *, prefix: str, standing: Standing, latest_only: bool, offset: int, limit: int
    ) -> tuple[Version, ...]:
        """Every version of every subject, or the highest of each, by name and number."""
        statement = _versions(standing).where(REVISIONS.c.tenant == tenant, _begins(REVISIONS.c.name, prefix))
        if latest_only:
            statement = statement.where(~_has_later(standing))
        return await self._all(statement.order_by(REVISIONS.c.name, REVISIONS.c.number).offset(offset).limit(limit))

    @retried
    async def dependents(
        self, tenant: TenantId, revision_id: RevisionId, *, offset: int, limit: int
    ) -> tuple[SchemaId, ...]:
        """The ids of the tenant's live versions that refer to a revision, directly or through others."""
        leaning = DEPENDENCIES.join(REVISIONS, REVISIONS.c.revision_id == DEPENDENCIES.c.revision_id)
        statement = (
            select(REVISIONS.c.schema_id)
            .select_from(leaning.join(STATUSES, STATUSES.c.revision_id == DEPENDENCIES.c.revision_id))
            .where(
                DEPENDENCIES.c.dependency_id == revision_id,
                # Hidden from the index by tenant, which SQLite would go through from end to end.
                func.coalesce(REVISIONS.c.tenant, "") == tenant,
                REVISIONS.c.kind == _JSON_SCHEMA,
                _is_live(STATUSES),
            )
            .distinct()
            .order_by(REVISIONS.c.schema_id)
        )
        async with self._database.looking() as session:
            return tuple(SchemaId(number) for number in await session.scalars(statement.offset(offset).limit(limit)))

    @retried
    async def named(self, tenant: TenantId, revisions: Sequence[RevisionId]) -> dict[RevisionId, Version]:
        """Those among some revisions that are the tenant's, whatever has become of them."""
        found = await self._all(
            select(*_columns())
            .select_from(_joined())
            .where(REVISIONS.c.tenant == tenant, REVISIONS.c.revision_id.in_(revisions))
        )
        return {version.revision_id: version for version in found}

    @retried
    async def hide(
        self, actor: Actor, name: ContractName, versions: Sequence[Version], *, at: datetime
    ) -> tuple[RevisionNumber, ...]:
        """Leave retired versions of a subject out of every list from now on; which were not hidden before."""
        if not versions:
            return ()
        rows = [{"revision_id": one.revision_id, "hidden_at": at, "hidden_by": actor.principal} for one in versions]
        async with self._database.writing() as session:
            await lock_ledger(session, actor.tenant)
            adding = inserting(session, HIDDEN).values(rows).on_conflict_do_nothing().returning(HIDDEN.c.revision_id)
            added = set(await session.scalars(adding))
            hidden = sorted(version.number for version in versions if version.revision_id in added)
            for first in range(0, len(hidden), _NUMBERS_IN_EVENT):
                numbers: list[JsonValue] = [*hidden[first : first + _NUMBERS_IN_EVENT]]
                await append(
                    session,
                    actor,
                    AuditAction.REVISION_HIDDEN,
                    subject={"name": name},
                    details={"numbers": numbers},
                    at=at,
                )
        return tuple(hidden)

    async def _all(self, statement: Select[Any]) -> tuple[Version, ...]:
        async with self._database.looking() as session:
            return tuple(
                Version(
                    subject=ContractName(row.name),
                    number=RevisionNumber(row.number),
                    revision_id=RevisionId(row.revision_id),
                    schema_id=SchemaId(row.schema_id),
                    is_live=bool(row.is_live),
                )
                for row in await session.execute(statement)
            )


def _columns() -> tuple[ColumnElement[Any], ...]:
    names = (REVISIONS.c.name, REVISIONS.c.number, REVISIONS.c.revision_id, REVISIONS.c.schema_id)
    return (*names, _is_live(STATUSES).label("is_live"))


def _joined() -> FromClause:
    return REVISIONS.join(STATUSES, STATUSES.c.revision_id == REVISIONS.c.revision_id)


def _versions(standing: Standing) -> Select[Any]:
    is_json = REVISIONS.c.kind == _JSON_SCHEMA
    return select(*_columns()).select_from(_joined()).where(is_json, _standing(standing, STATUSES))


def _standing(standing: Standing, statuses: FromClause) -> ColumnElement[bool]:
    match standing:
        case Standing.LIVE:
            return _is_live(statuses)
        case Standing.RETIRED:
            return _is_retired(statuses)
        case Standing.ANY:
            return or_(_is_live(statuses), _is_retired(statuses))


def _is_live(statuses: FromClause) -> ColumnElement[bool]:
    return and_(statuses.c.state.in_(_SERVED), statuses.c.tombstoned_at.is_(None))


def _is_retired(statuses: FromClause) -> ColumnElement[bool]:
    over = or_(statuses.c.tombstoned_at.is_not(None), statuses.c.state == RevisionState.SUNSET.value)
    hidden = exists().where(HIDDEN.c.revision_id == statuses.c.revision_id)
    return and_(statuses.c.state != RevisionState.DRAFT.value, over, ~hidden)


def _has_version(condition: ColumnElement[bool]) -> ColumnElement[bool]:
    return exists().where(
        REVISIONS.c.tenant == CONTRACTS.c.tenant,
        REVISIONS.c.name == CONTRACTS.c.name,
        STATUSES.c.revision_id == REVISIONS.c.revision_id,
        condition,
    )


def _has_later(standing: Standing) -> ColumnElement[bool]:
    later, statuses = REVISIONS.alias("later"), STATUSES.alias("later_statuses")
    return exists().where(
        later.c.tenant == REVISIONS.c.tenant,
        later.c.name == REVISIONS.c.name,
        later.c.number > REVISIONS.c.number,
        statuses.c.revision_id == later.c.revision_id,
        _standing(standing, statuses),
    )


def _begins(column: ColumnElement[str], prefix: str) -> ColumnElement[bool]:
    # LIKE has wildcards and, on SQLite, no regard for the case of letters.
    return func.substr(column, 1, len(prefix)) == prefix
