import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.rejection import Rejection, RejectionCode
from registry.contract import JsonValue
from registry.errors import MAX_REJECTIONS, ContractRejectedError
from registry.parsing import parse_json
from registry.text import canonical_json


def parse(data: bytes | str, *, max_bytes: int = 1_000_000, max_nesting: int = 32) -> JsonValue:
    return parse_json(data, max_bytes=max_bytes, max_nesting=max_nesting)


def rejections(data: bytes | str, *, max_bytes: int = 1_000_000, max_nesting: int = 32) -> tuple[Rejection, ...]:
    with pytest.raises(ContractRejectedError) as caught:
        parse(data, max_bytes=max_bytes, max_nesting=max_nesting)
    return caught.value.rejections


def places(data: bytes | str) -> list[tuple[RejectionCode, str]]:
    return [(rejection.code, rejection.pointer) for rejection in rejections(data)]


def test_numbers_are_exact_and_integral_ones_are_integers() -> None:
    value = parse(b"[2.0, -0.0, 1e2, 0.10, 9007199254740993, 1E-2, 1e400]")
    assert value == [2, 0, 100, Decimal("0.10"), 9007199254740993, Decimal("0.01"), 10**400]
    assert [type(number) for number in value] == [int, int, int, Decimal, int, Decimal, int]  # type: ignore[union-attr]


def test_a_text_over_the_size_limit_is_refused_with_both_numbers() -> None:
    (found,) = rejections(b'"' + b"x" * 98 + b'"', max_bytes=99)
    assert (found.code, found.limit_name, found.limit, found.observed) == ("limit_exceeded", "max_bytes", 99, 100)


def test_a_text_at_the_size_limit_is_read() -> None:
    assert parse(b'"' + b"x" * 97 + b'"', max_bytes=99) == "x" * 97


@pytest.mark.parametrize("opening", [b"[", b'{"a":', b'[{"a":'])
def test_a_hundred_thousand_levels_are_refused_before_the_parser_recurses(opening: bytes) -> None:
    (found,) = rejections(opening * 100_000)
    assert (found.code, found.limit_name, found.limit) == ("limit_exceeded", "max_nesting", 32)
    assert found.observed == opening.count(b"[") * 100_000 + opening.count(b"{") * 100_000


def test_nesting_counts_to_the_limit_and_not_beyond() -> None:
    assert parse(b"[" * 32 + b"]" * 32)
    assert rejections(b"[" * 33 + b"]" * 33)[0].observed == 33


def test_brackets_inside_strings_do_not_nest() -> None:
    assert parse(json.dumps(['[{"' * 1000, "\\" * 7 + '"[[[', "\\"]), max_nesting=1)


def test_escaped_quotes_in_an_open_string_cost_one_pass() -> None:
    assert places(b'"' + b'\\"' * 400_000) == [("invalid_json", "")]


def test_a_duplicate_name_is_refused_where_it_stands_and_not_merged() -> None:
    assert places(b'{"a": {"x": 1, "y": {}, "x": 1}}') == [("duplicate_name", "/a/x")]
    assert places(b'{"a/b": [{"~": 1, "~": 2}]}') == [("duplicate_name", "/a~1b/0/~0")]


def test_a_duplicate_name_spelt_with_an_escape_is_the_same_name() -> None:
    assert places(rb'{"a": 1, "\u0061": 2}') == [("duplicate_name", "/a")]


def test_duplicates_inside_a_member_that_was_replaced_are_found_through_the_outer_one() -> None:
    assert places(b'{"a": {"x": 1, "x": 2}, "a": 1}') == [("duplicate_name", "/a")]


def test_lone_surrogates_are_refused_in_values_names_and_python_strings() -> None:
    assert places(rb'{"a": ["\ud800"]}') == [("lone_surrogate", "/a/0")]
    assert places(rb'{"a": {"\uDfFf": 1}}') == [("lone_surrogate", "/a")]
    assert places('{"a": "\ud800"}') == [("lone_surrogate", "")]
    assert places(rb'["\udc00\ud800"]') == [("lone_surrogate", "/0")]


def test_a_surrogate_pair_is_one_character() -> None:
    assert parse(rb'"\ud83d\ude00"') == "\U0001f600"


def test_nan_and_infinity_are_refused_where_they_stand() -> None:
    assert places(b'{"a": NaN, "b": [Infinity, -Infinity]}') == [
        ("non_finite_number", "/a"),
        ("non_finite_number", "/b/0"),
        ("non_finite_number", "/b/1"),
    ]


@pytest.mark.parametrize("literal", ["1e999999999", "1e401", "-1e-401", "9" * 5000, "0." + "1" * 300, "1e" + "0" * 20])
def test_absurd_numbers_are_refused_without_being_built(literal: str) -> None:
    (found,) = rejections(f"[1, {literal}]")
    assert (found.code, found.pointer, found.limit_name) == ("limit_exceeded", "/1", "max_number_literal")


@pytest.mark.parametrize(
    "data", [b"\xef\xbb\xbf{}", b"\xff\xfe{\x00}\x00", b'"\xff"', b'"\xed\xa0\x80"', b'"\xc0\x80"']
)
def test_what_is_not_plain_utf_8_is_refused(data: bytes) -> None:
    assert places(data) == [("invalid_encoding", "")]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b" ",
        b"{",
        b"[1,]",
        b"{'a': 1}",
        b"01",
        b"1 2",
        b'"\t"',
        b"nul",
        b"+1",
        b".5",
        b"1.",
        b"[1}",
        b"// x\n1",
        b"\x00",
    ],
)
def test_what_is_not_json_is_refused_with_its_place(data: bytes) -> None:
    (found,) = rejections(data)
    assert found.code == "invalid_json"
    assert "line 1" in found.message


def test_a_thousand_faults_are_answered_with_the_first_few() -> None:
    assert len(rejections("[" + ",".join(["NaN"] * 1000) + "]")) == MAX_REJECTIONS


def test_limits_carry_the_names_their_caller_gives_them() -> None:
    with pytest.raises(ContractRejectedError) as caught:
        parse_json(b"[[]]", max_bytes=99, max_nesting=1, nesting_limit_name="max_body_nesting")
    assert caught.value.rejections[0].limit_name == "max_body_nesting"


_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.decimals(allow_nan=False, allow_infinity=False, places=3, min_value=-(10**9), max_value=10**9)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=4), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(_JSON)
def test_what_is_written_canonically_reads_back_as_itself(value: JsonValue) -> None:
    text = canonical_json(value)
    again = parse_json(text, max_bytes=1_000_000, max_nesting=100)
    assert again == value
    assert canonical_json(again) == text


@given(st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_any_bytes_are_read_as_python_reads_them_or_refused(data: bytes) -> None:
    try:
        value = parse(data)
    except ContractRejectedError:
        return
    assert json.loads(canonical_json(value)) == json.loads(data)
