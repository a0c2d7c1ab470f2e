"""Names of governed contracts, over all tenants, page by page."""

import pytest

from registry.identifiers import AliasName, ContractName
from registry.revision import ContractClass
from registry.store import governed
from registry.store.governed import GovernedAlias, GovernedStore
from tests.registry.store.world import ACME, ADA, EVE, NOON, OTHER, opened

GOVERNED = ContractClass.GOVERNED


async def test_all_names_of_live_governed_contracts_are_found_in_order(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(database_url) as world:
        for actor in (ADA, EVE):
            for name in ("b", "a", "gone"):
                await world.register(1, actor=actor, name=ContractName(name), contract_class=GOVERNED)
            await world.register(2, actor=actor, name=ContractName("plain"))
            await world.point(1, actor=actor, name=ContractName("plain"))
        for name, alias in (("b", "prod"), ("a", "prod"), ("a", "dev")):
            await world.point(1, name=ContractName(name), alias=alias)
        await world.point(1, actor=EVE, name=ContractName("b"), alias="live")
        await world.contracts.tombstone_contract(ADA, ContractName("gone"), reason="", at=NOON)
        store = GovernedStore(world.database)
        everything = await store.aliases()
        pages, after = [], None
        monkeypatch.setattr(governed, "PAGE", 2)
        while page := await store.aliases(after=after):
            pages.append(len(page))
            after = page[-1]
    assert [(each.tenant, each.name, each.alias) for each in everything] == [
        (ACME, "a", "dev"), (ACME, "a", "prod"), (ACME, "b", "prod"), (OTHER, "b", "live"),
    ]  # fmt: skip
    assert pages == [2, 2]
    assert everything[0] == GovernedAlias(tenant=ACME, name=ContractName("a"), alias=AliasName("dev"))
