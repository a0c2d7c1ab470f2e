"""Schemas of arrays, from keywords to what the engine generates: exactly the valid arrays, or a keyword is named."""

import json
from collections.abc import Iterator
from itertools import product
from random import Random
from typing import Any, Final

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from compiler_pool.form.spending import ExpansionSpentError
from registry.contract import JsonValue
from registry.errors import ContractRejectedError
from registry.parsing import parse_json
from registry.text import canonical_json
from tests.compiler_pool.lark.form_texts import FormTexts, parsed
from tests.gateway.validation.suite import suite_cases

SUITE_FILES = (
    "contains", "minContains", "maxContains", "uniqueItems", "items", "prefixItems", "unevaluatedItems", "minItems",
    "maxItems",
)  # fmt: skip

VALUES: Final[tuple[JsonValue, ...]] = (0, 1, 2, True, None, "a", [0], [])

subsets = st.lists(st.sampled_from(VALUES), min_size=1, max_size=4, unique_by=canonical_json)
item_schemas = st.one_of(
    st.sampled_from(
        [
            True,
            {"type": "integer"},
            {"type": "integer", "minimum": 0, "maximum": 2},
            {"type": "boolean"},
            {"type": "null"},
            {"type": ["integer", "string"]},
            {"minimum": 1},
            {"type": "array", "maxItems": 1, "items": {"const": 0}},
        ]
    ),
    subsets.map(lambda values: {"enum": values}),
    subsets.map(lambda values: {"not": {"enum": values}}),
)
arrays = st.lists(st.sampled_from(VALUES), max_size=5)
counts = st.integers(0, 3)


def array_schemas(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries(
        {},
        optional={
            "prefixItems": st.lists(item_schemas, min_size=1, max_size=3),
            "items": item_schemas,
            "minItems": counts,
            "maxItems": counts,
            "contains": item_schemas,
            "minContains": counts,
            "maxContains": counts,
            "uniqueItems": st.just(value=True),
            "unevaluatedItems": item_schemas,
            "not": inner
            | st.lists(arrays, min_size=1, max_size=4, unique_by=canonical_json).map(lambda v: {"enum": v}),
            "anyOf": st.lists(inner, min_size=2, max_size=2),
            "oneOf": st.lists(inner, min_size=2, max_size=2),
        },
    )


plain = st.fixed_dictionaries({}, optional={"items": item_schemas, "maxItems": counts, "contains": item_schemas})


@settings(max_examples=60, deadline=None)
@given(array_schemas(plain), st.lists(arrays, min_size=8, max_size=8), st.randoms(use_true_random=False))
def test_what_is_generated_is_what_is_valid(schema: dict[str, Any], values: list[JsonValue], random: Random) -> None:
    try:
        texts = FormTexts(canonical_json({"type": "array", **schema}))
    except (ContractRejectedError, ExpansionSpentError):
        assume(condition=False)
    for value in values:
        is_valid, is_generated = texts.allows(value), texts.generates(value)
        assert is_generated == is_valid or (is_generated and texts.inabilities), value
    if texts.grammar is not None:
        for _ in range(3):
            text = texts.walk(random, longest=20)
            value = None if text is None or texts.inabilities else readable(text)
            assert value is None or texts.allows(value), text


def readable(text: str) -> JsonValue:
    """The array of a text; None where it holds a number or an object that the parser takes for an attack."""
    try:
        return parse_json(text, max_bytes=1_000, max_nesting=200)
    except ContractRejectedError:
        return None


def all_arrays(values: str, longest: int) -> Iterator[list[JsonValue]]:
    """Arrays of the values of a JSON array."""
    listed = parsed(values)
    assert isinstance(listed, list)
    for length in range(longest + 1):
        yield from map(list, product(listed, repeat=length))


EXACT: Final = {
    "contains": '{"type": "array", "contains": {"const": 1}}',
    "contains where nothing else may stand": '{"type": "array", "items": {"const": 1}, "contains": {"const": 1}}',
    "minContains": '{"type": "array", "contains": {"type": "integer"}, "minContains": 2}',
    "maxContains": '{"type": "array", "contains": {"type": "integer"}, "minContains": 0, "maxContains": 1}',
    "both bounds": '{"type": "array", "contains": {"const": 1}, "minContains": 1, "maxContains": 2, "maxItems": 3}',
    "two of them": '{"type": "array", "allOf": [{"contains": {"const": 1}}, {"contains": {"const": "a"}}]}',
    "after a prefix": '{"type": "array", "prefixItems": [{"const": 1}, {"const": "a"}], "contains": {"const": 2}}',
    "no contains": '{"type": "array", "not": {"contains": {"const": 1}}}',
    "not all items": '{"type": "array", "not": {"items": {"type": "integer"}}}',
    "not all after the first": '{"type": "array", "not": {"prefixItems": [true], "items": {"const": 1}}}',
    "not the first": '{"type": "array", "not": {"prefixItems": [{"const": 1}]}}',
    "not some arrays": '{"type": "array", "not": {"enum": [[], [1], [1, 2], ["a", 1, 2], [2, 2]]}}',
    "not a length": '{"type": "array", "not": {"minItems": 1, "maxItems": 2}}',
    "different items": '{"type": "array", "items": {"enum": [1, 2, "a"]}, "uniqueItems": true}',
    "some different items": '{"items": {"enum": [1, 2, "a"]}, "uniqueItems": true, "minItems": 2, "type": "array"}',
    "two equal items": '{"type": "array", "items": {"enum": [1, 2, "a"]}, "not": {"uniqueItems": true}}',
    "different in two places": '{"prefixItems": [{"enum": [1, 2]}, true], "items": false, "uniqueItems": true}',
    "places apart": '{"prefixItems": [{"type": "integer"}, {"type": "string"}], "items": false, "uniqueItems": true}',
    "a prefix beside different items": '{"prefixItems": [{"type": "string"}], "items": {"enum": [1, 2, "a"]},'
    ' "uniqueItems": true, "type": "array"}',
    "one value shared": '{"prefixItems": [{"enum": [1, "a"]}, {"enum": [2, "a"]}], "items": false,'
    ' "uniqueItems": true}',
    "equal in few values": '{"prefixItems": [{"enum": [1, 2]}, true], "items": false, "not": {"uniqueItems": true}}',
    "different and found": '{"type": "array", "items": {"enum": [1, 2, "a"]}, "uniqueItems": true,'
    ' "contains": {"type": "integer"}, "maxContains": 1}',
    "unevaluated": '{"type": "array", "contains": {"const": 1}, "unevaluatedItems": {"const": "a"}}',
}


@pytest.mark.parametrize("name", EXACT)
def test_each_keyword_is_exact(name: str) -> None:
    texts = FormTexts(EXACT[name])
    assert not texts.inabilities
    for value in all_arrays('[1, 2, "a"]', 4):
        assert texts.generates(value) == texts.allows(value), value


def test_long_arrays_with_found_items_are_counted_both_ways() -> None:
    texts = FormTexts('{"type": "array", "contains": {"const": 1}, "minItems": 500, "maxItems": 5000}')
    assert not texts.inabilities
    for array, is_in in (([0] * 499 + [1], True), ([0] * 500, False), ([0] * 498 + [1], False), ([1] * 5_001, False)):
        assert texts.generates(list[JsonValue](array)) == is_in


def test_items_are_found_among_many_different_ones() -> None:
    values = [*range(40)]
    texts = FormTexts(
        f'{{"type": "array", "items": {{"enum": {values}}}, "uniqueItems": true, "maxItems": 30,'
        ' "contains": {"minimum": 30}, "minContains": 2, "maxContains": 3}'
    )
    assert not texts.inabilities
    for array, is_in in (
        ([30, 1, 39], True),
        ([*range(27), 30, 31, 32], True),
        ([*range(28), 30, 31, 32], False),
        ([*range(28), 30, 31], True),
        ([30, 1, 30], False),
        ([1, 2, 39], False),
        ([30, 31, 32, 33], False),
    ):
        assert texts.generates(list[JsonValue](array)) == is_in, array


def test_values_of_one_place_alone_need_no_memory() -> None:
    places = [{"enum": [3 * at, 3 * at + 1, "x"]} for at in range(90)]
    texts = FormTexts(json.dumps({"type": "array", "prefixItems": places, "items": False, "uniqueItems": True}))
    assert not texts.inabilities
    assert texts.generates([3 * at for at in range(90)])
    assert texts.generates(["x", *(3 * at for at in range(1, 90))])
    assert not texts.generates(["x", *(3 * at for at in range(1, 89)), "x"])


def test_any_of_sixty_values_may_come_twice() -> None:
    texts = FormTexts(f'{{"type": "array", "items": {{"enum": {[*range(60)]}}}, "not": {{"uniqueItems": true}}}}')
    assert not texts.inabilities
    assert texts.generates([*range(60), 7])
    assert texts.generates([7, 7])
    assert not texts.generates([*range(60)])


def test_a_hundred_items_are_counted_by_place_where_counts_of_both_kinds_meet() -> None:
    texts = FormTexts('{"type": "array", "contains": {"const": 1}, "minContains": 9, "maxItems": 90}')
    assert not texts.inabilities
    assert texts.generates([1] * 90)
    assert texts.generates([0, 1] * 9)
    assert not texts.generates([0, 1] * 8)
    assert not texts.generates([1] * 91)


@pytest.mark.parametrize(
    ("schema", "keyword"),
    [
        ('{"type": "array", "uniqueItems": true}', "uniqueItems"),
        ('{"type": "array", "not": {"uniqueItems": true}}', "uniqueItems"),
        ('{"type": "array", "items": {"type": "string"}, "maxItems": 2, "uniqueItems": true}', "uniqueItems"),
        (f'{{"type": "array", "items": {{"enum": {[*range(70)]}}}, "uniqueItems": true}}', "uniqueItems"),
        (f'{{"type": "array", "items": {{"enum": {[*range(300)]}}}, "uniqueItems": true}}', "uniqueItems"),
        (f'{{"type": "array", "items": {{"enum": {[*range(90)]}}}, "not": {{"uniqueItems": true}}}}', "uniqueItems"),
        ('{"prefixItems": [{"type": "string"}, {"minimum": 1}], "items": false, "uniqueItems": true}', "uniqueItems"),
        (
            json.dumps(
                {
                    "type": "array",
                    "prefixItems": [{"enum": [*range(at, 12)]} for at in range(12)],
                    "items": False,
                    "uniqueItems": True,
                }
            ),
            "uniqueItems",
        ),
        (
            json.dumps(
                {
                    "type": "array",
                    "anyOf": [{"prefixItems": [{"const": at}, {"const": at}]} for at in range(7)],
                    "unevaluatedItems": False,
                }
            ),
            "unevaluatedItems",
        ),
        ('{"type": "array", "contains": {"const": 1}, "minContains": 900}', "contains"),
        ('{"type": "array", "contains": {"const": 1}, "minContains": 50, "maxItems": 9000}', "contains"),
    ],
)
def test_what_takes_too_much_is_named_and_only_widens(schema: str, keyword: str) -> None:
    texts = FormTexts(schema)
    assert {named for named, _ in texts.inabilities} == {keyword}
    for value in ([], ["a", "b"], [1, 2], [2, 1, 2], [1] * 60, [1] * 900):
        listed: list[JsonValue] = [*value]
        assert texts.generates(listed) or not texts.allows(listed)


@pytest.mark.parametrize(
    "schema",
    [
        '{"type": "array", "items": {"enum": [1, 2]}, "uniqueItems": true, "minItems": 3}',
        '{"type": "array", "items": {"const": 1}, "contains": {"const": 2}}',
        '{"type": "array", "maxItems": 1, "not": {"uniqueItems": true}}',
        '{"type": "array", "contains": {"const": 1}, "minContains": 3, "maxContains": 3, "not": {"minItems": 3}}',
    ],
)
def test_an_array_that_no_items_fit_has_no_text(schema: str) -> None:
    assert FormTexts(schema).grammar is None


@pytest.mark.parametrize("keyword", SUITE_FILES)
def test_the_official_suite_is_judged_right(keyword: str) -> None:
    cases = list(suite_cases(f"{keyword}.json"))
    if not cases:
        pytest.skip("the official test suite is not there: set SCHEMAGATE_CORPORA")
    for case in cases:
        texts = FormTexts(json.dumps(case.schema))
        assert {named for named, _ in texts.inabilities} <= {"uniqueItems"}, case.description
        for description, data, is_valid in case.tests:
            is_generated = texts.generates(parsed(json.dumps(data)))
            assert is_generated == is_valid or (is_generated and texts.inabilities), description
