"""Pages of contracts and revisions. Each page is a range of an index, however long the list."""

from typing import Any, Final

from sqlalchemy import ColumnElement, Select, and_, func, literal_column, select, tuple_
from sqlalchemy.ext.asyncio import AsyncConnection

from registry.errors import InvalidNameError
from registry.identifiers import ContractName, TenantId
from registry.revision import Contract, Visibility
from registry.store import rows
from registry.store.bounds import MAX_PAGE, MAX_SEARCH_CHARACTERS
from registry.store.cursors import read_cursor, write_cursor
from registry.store.looking import select_revisions
from registry.store.records import ContractQuery, Page, StoredRevision
from registry.store.tables.contracts import CONTRACTS, REVISIONS, STATUSES

_SHARED: Final[ColumnElement[str]] = literal_column(f"'{Visibility.SHARED.value}'")
"""Spelt out, as the partial index spells it: a database does not see that a bound value would fit."""


async def list_contracts(
    session: AsyncConnection, viewer: TenantId, query: ContractQuery, *, cursor: str | None, limit: int
) -> Page[Contract]:
    """See `ContractStore.contracts`: the viewer's own by name, then what others share by owner and name."""
    if query.text is not None and len(query.text) > MAX_SEARCH_CHARACTERS:
        raise InvalidNameError("a search", query.text, reason=f"at most {MAX_SEARCH_CHARACTERS} characters")
    question = ("contracts", viewer, query)
    after = ("", "") if cursor is None else _place(question, cursor)
    wanted = _page(limit) + 1
    found: list[Contract] = []
    if after[0] == "" and query.owner in {None, viewer}:
        found += await _contracts(session, _own(viewer, query, after[1]), wanted)
    if len(found) < wanted and query.owner != viewer:
        found += await _contracts(session, _shared(viewer, query, after), wanted - len(found))
    if len(found) < wanted:
        return Page(items=tuple(found))
    kept = found[: wanted - 1]
    last = kept[-1]
    # An empty owner stands for the viewer: own contracts come first, whatever the tenants are called.
    return Page(
        items=tuple(kept),
        next_cursor=write_cursor(question, ("" if last.tenant == viewer else last.tenant, last.name)),
    )


async def list_revisions(
    session: AsyncConnection,
    tenant: TenantId,
    name: ContractName,
    *,
    cursor: str | None,
    limit: int,
    newest_first: bool,
    include_tombstoned: bool,
) -> Page[StoredRevision]:
    """See `ContractStore.revisions`."""
    question = ("revisions", tenant, name, newest_first, include_tombstoned)
    statement = select_revisions().where(REVISIONS.c.tenant == tenant, REVISIONS.c.name == name)
    if cursor is not None:
        place = int(read_cursor(question, cursor, shape=(int,))[0])
        statement = statement.where(REVISIONS.c.number < place if newest_first else REVISIONS.c.number > place)
    if not include_tombstoned:
        statement = statement.where(STATUSES.c.tombstoned_at.is_(None))
    order = REVISIONS.c.number.desc() if newest_first else REVISIONS.c.number
    size = _page(limit)
    found = [rows.stored(row) for row in await session.execute(statement.order_by(order).limit(size + 1))]
    if len(found) <= size:
        return Page(items=tuple(found))
    kept = found[:size]
    return Page(items=tuple(kept), next_cursor=write_cursor(question, (kept[-1].revision.number,)))


def _page(limit: int) -> int:
    return max(1, min(limit, MAX_PAGE))


def _place(question: tuple[object, ...], cursor: str) -> tuple[str, str]:
    owner, name = read_cursor(question, cursor, shape=(str, str))
    return str(owner), str(name)


def _own(viewer: TenantId, query: ContractQuery, after: str) -> Select[Any]:
    statement = select(*rows.CONTRACT).where(CONTRACTS.c.tenant == viewer, CONTRACTS.c.name > after)
    if not query.include_tombstoned:
        statement = statement.where(CONTRACTS.c.tombstoned_at.is_(None))
    return _filtered(statement, query).order_by(CONTRACTS.c.name)


def _shared(viewer: TenantId, query: ContractQuery, after: tuple[str, str]) -> Select[Any]:
    statement = select(*rows.CONTRACT).where(
        CONTRACTS.c.visibility == _SHARED,
        CONTRACTS.c.tombstoned_at.is_(None),
        CONTRACTS.c.tenant != viewer,
    )
    if after[0]:
        statement = statement.where(tuple_(CONTRACTS.c.tenant, CONTRACTS.c.name) > tuple_(*after))
    if query.owner is not None:
        statement = statement.where(CONTRACTS.c.tenant == query.owner)
    return _filtered(statement, query).order_by(CONTRACTS.c.tenant, CONTRACTS.c.name)


def _filtered(statement: Select[Any], query: ContractQuery) -> Select[Any]:
    if query.text is not None:
        statement = statement.where(func.lower(CONTRACTS.c.name).contains(query.text.lower(), autoescape=True))
    if query.team is not None:
        statement = statement.where(CONTRACTS.c.team == query.team)
    if query.kind is not None:
        statement = statement.where(CONTRACTS.c.kind == query.kind.value)
    if query.state is not None:
        newest = and_(
            REVISIONS.c.tenant == CONTRACTS.c.tenant,
            REVISIONS.c.name == CONTRACTS.c.name,
            REVISIONS.c.number == CONTRACTS.c.latest,
        )
        statement = (
            statement.join(REVISIONS, newest)
            .join(STATUSES, STATUSES.c.revision_id == REVISIONS.c.revision_id)
            .where(STATUSES.c.state == query.state.value)
        )
    return statement


async def _contracts(session: AsyncConnection, statement: Select[Any], limit: int) -> list[Contract]:
    return [rows.contract(row) for row in await session.execute(statement.limit(limit))]
