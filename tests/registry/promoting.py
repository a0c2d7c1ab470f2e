"""Promotions that have to succeed, and what they are about."""

from registry.identifiers import AliasName, ContractName, RevisionNumber
from registry.promotion import Promoted, Proposed
from registry.revision import Actor, Alias, Promotion
from tests.registry.world import ACME, ANN, World

ONE, TWO, THREE = RevisionNumber(1), RevisionNumber(2), RevisionNumber(3)
NARROW, WIDE, OTHER_WAY = {"type": "integer"}, {"type": ["integer", "string"]}, {"type": "boolean"}


async def moved(world: World, number: RevisionNumber, *, alias: str = "prod", actor: Actor = ANN) -> Alias:
    """Move the alias at once."""
    result = await world.catalogue.promoter.promote(actor, "invoice", alias, number)
    assert isinstance(result, Promoted), result
    return result.alias


async def proposed(world: World, number: RevisionNumber, *, alias: str = "prod", actor: Actor = ANN) -> Promotion:
    """Propose to move the alias."""
    result = await world.catalogue.promoter.promote(actor, "invoice", alias, number, reason="please")
    assert isinstance(result, Proposed), result
    return result.promotion


async def present(world: World, alias: str = "prod") -> RevisionNumber | None:
    found = await world.catalogue.contracts.alias(ACME, ContractName("invoice"), AliasName(alias))
    return None if found is None else found.number
