"""Which names lead to governed contracts, of all tenants: for who keeps their artifacts warm, never for a caller."""

from dataclasses import dataclass
from typing import Final

from sqlalchemy import and_, select, tuple_

from registry.identifiers import AliasName, ContractName, TenantId
from registry.revision import ContractClass
from registry.store.database import Database
from registry.store.faults import retried
from registry.store.tables.contracts import ALIASES, CONTRACTS

PAGE: Final = 500
"""Aliases of one answer."""


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class GovernedAlias:
    """A name of a live governed contract."""

    tenant: TenantId
    name: ContractName
    alias: AliasName


_LIVE: Final = and_(CONTRACTS.c.contract_class == ContractClass.GOVERNED.value, CONTRACTS.c.tombstoned_at.is_(None))
_OF_CONTRACT: Final = and_(ALIASES.c.tenant == CONTRACTS.c.tenant, ALIASES.c.name == CONTRACTS.c.name)
_PLACE: Final = (ALIASES.c.tenant, ALIASES.c.name, ALIASES.c.alias)


class GovernedStore:
    """One for a process; it holds nothing but its database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @retried
    async def aliases(self, *, after: GovernedAlias | None = None) -> tuple[GovernedAlias, ...]:
        """The next `PAGE` in the order of their names; fewer mean that these were the last."""
        statement = select(*_PLACE).select_from(ALIASES.join(CONTRACTS, _OF_CONTRACT)).where(_LIVE)
        if after is not None:
            statement = statement.where(tuple_(*_PLACE) > tuple_(after.tenant, after.name, after.alias))
        async with self._database.looking() as session:
            found = await session.execute(statement.order_by(*_PLACE).limit(PAGE))
            return tuple(
                GovernedAlias(tenant=TenantId(row.tenant), name=ContractName(row.name), alias=AliasName(row.alias))
                for row in found
            )
