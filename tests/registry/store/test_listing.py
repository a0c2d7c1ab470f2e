"""Pages: every item once, in one order, however the list is cut; cursors that lead nowhere else."""

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.contract import ContractKind
from registry.errors import InvalidNameError
from registry.identifiers import ContractName, TeamName, TenantId
from registry.revision import RevisionState, Visibility
from registry.store.cursors import read_cursor, write_cursor
from registry.store.records import ContractQuery
from tests.registry.store.world import ACME, ADA, EVE, INVOICE, NOON, OTHER, World, number, opened

EVERYTHING = ContractQuery()


async def names(world: World, query: ContractQuery, *, viewer: TenantId = ACME, limit: int = 100) -> list[str]:
    """All pages, as `tenant/name`."""
    found: list[str] = []
    cursor = None
    while True:
        page = await world.contracts.contracts(viewer, query, cursor=cursor, limit=limit)
        assert len(page.items) <= limit
        found += [f"{each.tenant}/{each.name}" for each in page.items]
        cursor = page.next_cursor
        if cursor is None:
            return found
        assert len(page.items) == limit


async def fill(world: World) -> None:
    for content, name in enumerate(("delta", "alpha", "bravo", "charlie"), start=1):
        await world.register(content, name=ContractName(name))
    for content, (name, visibility) in enumerate(
        (("one", Visibility.SHARED), ("two", Visibility.PRIVATE), ("three", Visibility.SHARED)), start=1
    ):
        await world.register(content, actor=EVE, name=ContractName(name), visibility=visibility)


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 5, 6, 7])
async def test_ones_own_come_first_then_what_is_shared(database_url: str, limit: int) -> None:
    async with opened(database_url) as world:
        await fill(world)
        mine = ["acme/alpha", "acme/bravo", "acme/charlie", "acme/delta"]
        assert await names(world, EVERYTHING, limit=limit) == [*mine, "other/one", "other/three"]
        theirs = ["other/one", "other/three", "other/two"]
        assert await names(world, EVERYTHING, viewer=OTHER, limit=limit) == theirs
        assert await names(world, EVERYTHING, viewer=TenantId("none"), limit=limit) == ["other/one", "other/three"]


async def test_a_list_is_narrowed_by_all_that_is_asked(database_url: str) -> None:
    async with opened(database_url) as world:
        await fill(world)
        await world.register(9, name=ContractName("Alpha_2"), kind=ContractKind.REGEX, team=TeamName("billing"))
        await world.register(8, name=ContractName("bravo"), state=RevisionState.DRAFT)
        await world.contracts.tombstone_contract(ADA, ContractName("delta"), reason="", at=NOON)
        asked = {
            ContractQuery(text="alpha"): ["acme/Alpha_2", "acme/alpha"],
            ContractQuery(text="A_2"): ["acme/Alpha_2"],
            ContractQuery(text="%"): [],
            ContractQuery(text="r"): ["acme/bravo", "acme/charlie", "other/three"],
            ContractQuery(kind=ContractKind.REGEX): ["acme/Alpha_2"],
            ContractQuery(team=TeamName("billing")): ["acme/Alpha_2"],
            ContractQuery(owner=OTHER): ["other/one", "other/three"],
            ContractQuery(owner=ACME, text="c"): ["acme/charlie"],
            ContractQuery(state=RevisionState.DRAFT): ["acme/bravo"],
            ContractQuery(text="d"): [],
            ContractQuery(text="d", include_tombstoned=True): ["acme/delta"],
        }
        assert {query: sorted(await names(world, query)) for query in asked} == asked
        hidden = ContractQuery(owner=ACME, include_tombstoned=True)
        assert await names(world, hidden, viewer=OTHER) == []


@pytest.mark.parametrize("newest_first", [True, False])
async def test_revisions_are_paged_by_number(database_url: str, newest_first: bool) -> None:  # noqa: FBT001
    async with opened(database_url) as world:
        for content in range(1, 8):
            await world.register(content)
        await world.contracts.tombstone_revision(ADA, INVOICE, number(4), reason="", at=NOON)
        for include, expected in ((False, [1, 2, 3, 5, 6, 7]), (True, [1, 2, 3, 4, 5, 6, 7])):
            found: list[int] = []
            cursor = None
            while True:
                page = await world.contracts.revisions(
                    ACME,
                    INVOICE,
                    cursor=cursor,
                    limit=3,
                    newest_first=newest_first,
                    include_tombstoned=include,
                )
                found += [each.revision.number for each in page.items]
                cursor = page.next_cursor
                if cursor is None:
                    break
            assert found == (expected[::-1] if newest_first else expected)


async def test_a_page_has_at_least_one_item_and_at_most_a_hundred(database_url: str) -> None:
    async with opened(database_url) as world:
        await world.register(1)
        await world.register(2)
        for limit, size in ((0, 1), (-5, 1), (10**9, 2)):
            assert len((await world.contracts.revisions(ACME, INVOICE, limit=limit)).items) == size


async def test_a_cursor_answers_only_the_question_it_was_given_for(database_url: str) -> None:
    async with opened(database_url) as world:
        await fill(world)
        cursor = (await world.contracts.contracts(ACME, EVERYTHING, limit=1)).next_cursor
        assert cursor is not None
        with pytest.raises(InvalidNameError, match="another question"):
            await world.contracts.contracts(OTHER, EVERYTHING, cursor=cursor, limit=1)
        with pytest.raises(InvalidNameError, match="another question"):
            await world.contracts.contracts(ACME, ContractQuery(text="a"), cursor=cursor, limit=1)
        with pytest.raises(InvalidNameError):
            await world.contracts.revisions(ACME, INVOICE, cursor=cursor)


async def test_a_search_has_an_end(database_url: str) -> None:
    async with opened(database_url) as world:
        with pytest.raises(InvalidNameError, match="at most 128"):
            await world.contracts.contracts(ACME, ContractQuery(text="a" * 129))


@given(st.lists(st.text()), st.lists(st.integers() | st.text(), max_size=4))
def test_a_cursor_is_read_as_it_was_written(question: list[str], place: list[int | str]) -> None:
    cursor = write_cursor(question, place)
    if len(cursor) <= 1_024:
        assert read_cursor(question, cursor, shape=[type(part) for part in place]) == place


@given(st.text() | st.binary().map(lambda data: base64.urlsafe_b64encode(data).decode()))
def test_any_text_is_a_cursor_or_refused(text: str) -> None:
    with pytest.raises(InvalidNameError):
        read_cursor(("question",), text, shape=(int,))


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=5))
def test_a_cursor_of_another_shape_is_refused(value: object) -> None:
    text = base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")
    with pytest.raises(InvalidNameError):
        read_cursor(("question",), text, shape=(int,))
