"""How far a transitive level looks back, and what it makes of what it did not look at."""

import pytest

from registry import measuring
from registry.compatibility.modes import CompatibilityMode
from registry.errors import UndecidedError
from registry.revision import RevisionState
from tests.registry.world import ANN, a_registry

pytestmark = pytest.mark.usefixtures("each_database")


def growing(count: int) -> dict[str, list[int]]:
    return {"enum": list(range(count + 1))}


async def test_what_is_beyond_the_number_of_comparisons_is_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "MAX_COMPARED", 3)
    async with a_registry() as world:
        for count in range(3):
            await world.register(growing(count), compatibility=CompatibilityMode.BACKWARD_TRANSITIVE)
        assert (await world.register(growing(3))).number == 4
        with pytest.raises(UndecidedError, match="more earlier revisions"):
            await world.register(growing(4))


async def test_what_is_beyond_the_time_is_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    async with a_registry() as world:
        await world.register(growing(0), compatibility=CompatibilityMode.BACKWARD)
        monkeypatch.setattr(measuring, "MAX_MEASURING_SECONDS", -1.0)
        with pytest.raises(UndecidedError):
            await world.register(growing(1))


async def test_sunset_and_drafts_at_the_top_do_not_hide_what_is_in_use() -> None:
    async with a_registry() as world:
        first = await world.register(growing(5), compatibility=CompatibilityMode.BACKWARD)
        for count in range(3):
            await world.register(growing(6 + count), state=RevisionState.DRAFT)
        sunset = await world.register(growing(10))
        await world.catalogue.lifecycle.set_state(ANN, "invoice", sunset.number, RevisionState.SUNSET, reason="")
        outcome = await world.outcome(growing(5) | {"title": "the same values"})
        assert [measured.number for measured in outcome.against] == [first.number]


async def test_only_the_newest_in_use_is_read_where_the_level_asks_for_no_more() -> None:
    async with a_registry() as world:
        for count in range(4):
            await world.register(growing(count))
        world.comparer.num_comparisons = 0
        outcome = await world.outcome(growing(9))
        assert [measured.number for measured in outcome.against] == [4]
        assert world.comparer.num_comparisons == 1
