"""What holds for every text and every value, not only for the ones somebody thought of."""

import tempfile
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cli.contract.export_file import FORMAT, ExportWriter, read_export
from cli.contract.listing import spread
from cli.contract.naming import read_target, revision_place
from cli.contract.ordering import registrable_order
from cli.remote.exits import CommandError
from cli.remote.files import Replacement
from cli.remote.members import Members
from cli.remote.printing import shown
from registry.naming import read_reference
from registry.parsing import parse_json

_patient = settings(deadline=None)
"""How long an example takes says nothing here: machines are shared."""
_TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
_DECIMALS = st.decimals(-1000, 1000, places=3).filter(lambda number: number != int(number)).map(Decimal.normalize)
_VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**20), 10**20) | _DECIMALS | _TEXTS,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(_TEXTS, inner, max_size=5),
    max_leaves=25,
)


@_patient
@given(_VALUES)
def test_a_value_that_is_spread_over_lines_is_the_same_value(value: Any) -> None:
    assert parse_json(spread(value), max_bytes=10**7, max_nesting=100) == value


@_patient
@given(st.text(max_size=60))
def test_what_is_shown_is_one_line_without_control_characters(text: str) -> None:
    assert shown(text).isprintable()
    if text.isprintable():
        assert shown(text) == text


@_patient
@given(st.text(max_size=60) | st.from_regex(r"[a-z0-9./@:%#?\\ -]{0,40}", fullmatch=True))
def test_a_reference_leads_to_one_place_of_the_api_or_is_refused(text: str) -> None:
    if read_reference(text) is None:
        with pytest.raises(CommandError) as caught:
            read_target(text)
        assert caught.value.exit_code == 2
        return
    place = revision_place(read_target(text))
    read = urlsplit(f"http://gw{place.path}")
    segments = read.path.split("/")
    assert segments[:3] == ["", "v1", "contracts"]
    assert len(segments) == 4
    assert segments[3] not in {"", ".", ".."}
    assert not read.query
    assert not read.fragment


@_patient
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 10**6), st.integers(0, 40)), max_size=30), st.randoms())
def test_revisions_are_ordered_so_that_each_can_be_registered(made: list[tuple[int, int, int]], random: Any) -> None:
    # Each: its contract, what some replica's clock said (anything), and an earlier one that it refers to.
    answers, numbers = [], [0, 0, 0, 0]
    for place, (contract, microseconds, referred) in enumerate(made):
        numbers[contract] += 1
        pins = [{"revision_id": f"r{referred % place}"}] if place and referred % 3 == 0 else []
        moment = f"2026-01-01T00:00:00.{microseconds % 10**6:06}Z" if microseconds else "2026-01-01T00:00:00Z"
        members: dict[str, Any] = {
            "id": f"r{place}",
            "number": numbers[contract],
            "created_at": moment,
            "dependencies": pins,
        }
        answers.append(Members({"contract": {"name": f"c{contract}"}, "revision": members}))
    shuffled = list(answers)
    random.shuffle(shuffled)
    seen: set[str] = set()
    given_out = {f"c{contract}": 0 for contract in range(4)}
    for answer in registrable_order(shuffled):
        name, revision = answer.member("contract").text("name"), answer.member("revision")
        given_out[name] += 1
        assert revision.number("number") == given_out[name]
        assert {pin.text("revision_id") for pin in revision.each("dependencies")} <= seen
        seen.add(revision.text("id"))
    assert len(seen) == len(made)


@_patient
@given(st.lists(_VALUES, max_size=4), st.data())
def test_no_byte_of_an_export_can_change_unnoticed(values: list[Any], data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "export.jsonl"
        with Replacement(path) as file:
            writer = ExportWriter(file)
            writer.line({"format": FORMAT, "tenant": "t"})
            for value in values:
                writer.line({"signing_key": {"any": value}})
            writer.end()
        whole = path.read_bytes()
        assert [each.value["any"] for each in read_export(path).signing_keys] == values
        place = data.draw(st.integers(0, len(whole) - 1))
        byte = data.draw(st.integers(0, 255).filter(lambda each: each != whole[place]))
        path.write_bytes(whole[:place] + bytes([byte]) + whole[place + 1 :])
        with pytest.raises(CommandError) as caught:
            read_export(path)
        assert caught.value.exit_code == 1
        path.write_bytes(whole[:place])
        with pytest.raises(CommandError):
            read_export(path)
