"""Schemas of objects, from keywords to what the engine generates: exactly the valid objects, or a keyword is named."""

import json
from collections.abc import Iterator
from itertools import combinations, permutations, product
from random import Random
from typing import Any, Final

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from compiler_pool.form.spending import ExpansionSpentError
from registry.contract import JsonValue
from registry.errors import ContractRejectedError
from registry.text import canonical_json
from tests.compiler_pool.lark.form_texts import FormTexts, generates, matcher_of, parsed
from tests.gateway.validation.suite import suite_cases

SUITE_FILES: Final = (
    "properties", "required", "additionalProperties", "patternProperties", "propertyNames", "minProperties",
    "maxProperties", "dependentRequired", "dependentSchemas", "if-then-else", "oneOf", "anyOf", "allOf", "not",
    "unevaluatedProperties", "enum", "const",
)  # fmt: skip

NAMES: Final = ("a", "b", "c", "x1", "xy")
PATTERNS: Final = ("^x", "1$", "^[ab]$", "y", "^$")
VALUES: Final[tuple[JsonValue, ...]] = (1, 2, True, None, "p", {}, {"a": True}, {"a": 1}, {"a": 1, "b": True})

member_schemas = st.sampled_from(
    [
        True,
        False,
        {"type": "integer"},
        {"type": "boolean"},
        {"const": 1},
        {"enum": [1, 2, True]},
        {"enum": ["p", None]},
        {"type": ["integer", "null"]},
        {"minimum": 2},
        {"not": {"const": 1}},
        {"const": {"a": 1}},
        {"type": "object", "properties": {"a": {"type": "integer"}}},
    ]
)
names = st.sampled_from(NAMES)
some_names = st.lists(names, min_size=1, max_size=2, unique=True)
counts = st.integers(0, 3)
objects = st.dictionaries(st.sampled_from([*NAMES, "z", ""]), st.sampled_from(VALUES), max_size=3)


def object_schemas(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries(
        {},
        optional={
            "properties": st.dictionaries(names, member_schemas, max_size=3),
            "patternProperties": st.dictionaries(st.sampled_from(PATTERNS), member_schemas, max_size=2),
            "additionalProperties": member_schemas,
            "unevaluatedProperties": member_schemas,
            "required": some_names,
            "minProperties": counts,
            "maxProperties": counts,
            "propertyNames": st.sampled_from(
                [{"pattern": "^[axy]"}, {"enum": ["a", "b"]}, {"maxLength": 1}, {"not": {"const": "a"}}]
            ),
            "dependentRequired": st.dictionaries(names, some_names, max_size=2),
            "dependentSchemas": st.dictionaries(names, inner, max_size=1),
            "if": inner,
            "then": inner,
            "else": inner,
            "anyOf": st.lists(inner, min_size=2, max_size=3),
            "oneOf": st.lists(inner, min_size=2, max_size=3),
            "not": inner,
        },
    )


plain = st.fixed_dictionaries(
    {},
    optional={
        "properties": st.dictionaries(names, member_schemas, max_size=2),
        "patternProperties": st.dictionaries(st.sampled_from(PATTERNS), member_schemas, max_size=1),
        "additionalProperties": member_schemas,
        "required": some_names,
        "minProperties": counts,
        "maxProperties": counts,
    },
)


def is_generated(texts: FormTexts, value: JsonValue) -> bool:
    """Whether an object is generated with its members in some order."""
    assert isinstance(value, dict)
    return any(texts.generates(dict(members)) for members in permutations(value.items()))


@settings(max_examples=80, deadline=None)
@given(object_schemas(plain), st.lists(objects, min_size=8, max_size=8), st.randoms(use_true_random=False))
def test_what_is_generated_is_what_is_valid(schema: dict[str, Any], values: list[JsonValue], random: Random) -> None:
    try:
        texts = FormTexts(canonical_json({"type": "object", **schema}))
    except (ContractRejectedError, ExpansionSpentError):
        assume(condition=False)
    for value in values:
        is_valid, is_in = texts.allows(value), is_generated(texts, value)
        assert is_in == is_valid or (is_in and texts.inabilities), value
    if texts.grammar is not None:
        for _ in range(3):
            text = texts.walk(random, longest=20)
            if text is None or texts.inabilities:
                continue
            members = json.loads(text, object_pairs_hook=lambda pairs: pairs)
            if len(dict(members)) == len(members):
                assert texts.allows(parsed(text)), text


def all_objects(among: str = "abx", values: str = '[1, "s"]', longest: int = 3) -> Iterator[dict[str, JsonValue]]:
    """Objects with single letters as names and the values of a JSON array."""
    listed = parsed(values)
    assert isinstance(listed, list)
    for length in range(longest + 1):
        for chosen in combinations(among, length):
            for members in product(listed, repeat=length):
                yield dict(zip(chosen, members, strict=True))


EXACT: Final = {
    "presence": '{"required": ["b"], "properties": {"a": {"const": 1}, "b": true}, "additionalProperties": false}',
    "required and undeclared": '{"required": ["x"], "properties": {"a": {"const": 1}}}',
    "overlapping patterns": '{"patternProperties": {"^[ab]": {"type": "string"}, "[bx]$": {"minLength": 1}}}',
    "declared and matched": '{"properties": {"a": {"type": "string"}}, "patternProperties": {"a": {"minLength": 2}}}',
    "others": '{"properties": {"a": true}, "patternProperties": {"^b": true}, "additionalProperties": {"const": 1}}',
    "names": '{"propertyNames": {"pattern": "^[ab]"}}',
    "listed names": '{"propertyNames": {"enum": ["a", "x"]}, "minProperties": 1}',
    "no such name": '{"propertyNames": {"not": {"const": "b"}}}',
    "not all names": '{"not": {"propertyNames": {"enum": ["a", "b"]}}}',
    "at least": '{"properties": {"a": true, "b": true}, "minProperties": 2}',
    "at most": '{"properties": {"a": true, "b": true}, "maxProperties": 1}',
    "so many": '{"minProperties": 2, "maxProperties": 2, "required": ["a"]}',
    "brought along": '{"dependentRequired": {"b": ["a"], "x": ["b"]}}',
    "a schema brought along": '{"dependentSchemas": {"x": {"properties": {"a": {"const": 1}}, "required": ["b"]}}}',
    "if there": '{"if": {"required": ["x"]}, "then": {"required": ["a"]}, "else": {"properties": {"b": false}}}',
    "if so": '{"if": {"properties": {"x": {"const": 1}}}, "then": {"required": ["a"]}, "else": {"required": ["b"]}}',
    "one of the names": '{"oneOf": [{"required": ["a"]}, {"required": ["b"]}, {"required": ["x"]}]}',
    "some of the names": '{"anyOf": [{"required": ["a", "x"]}, {"required": ["b"]}]}',
    "never together": '{"not": {"required": ["a", "b"]}}',
    "not a member": '{"not": {"properties": {"a": {"const": 1}}}}',
    "not all others": '{"properties": {"a": true}, "not": {"properties": {"a": true}, "additionalProperties": '
    '{"type": "integer"}}}',
    "not all that match": '{"not": {"patternProperties": {"[ax]": {"type": "string"}}}}',
    "no listed object": '{"not": {"enum": [{}, {"a": 1}, {"a": "s", "b": 1}]}}',
    "told apart by a constant": '{"oneOf": [{"required": ["x", "a"], "properties": {"x": {"const": 1}, "b": '
    '{"const": 1}}}, {"required": ["x"], "properties": {"x": {"const": "s"}, "b": {"const": "s"}}}]}',
    "one of two that overlap": '{"oneOf": [{"properties": {"a": {"const": 1}, "b": {"type": "string"}}}, '
    '{"properties": {"a": {"type": "integer"}, "x": {"const": 1}}}]}',
    "unevaluated": '{"anyOf": [{"properties": {"a": {"const": 1}}, "required": ["a"]}, {"properties": {"b": true}, '
    '"required": ["b"]}], "unevaluatedProperties": false}',
    "unevaluated in eight cases": '{"allOf": [{"anyOf": [true, {"properties": {"a": {"const": 1}}, "required": ["a"]}]}'
    ', {"anyOf": [true, {"properties": {"b": {"const": 1}}, "required": ["b"]}]}, {"if": {"required": ["x"]}, "then": '
    '{"patternProperties": {"^x": true}}}], "unevaluatedProperties": false}',
    "listed objects that look at members": '{"anyOf": [{"enum": [{"a": 1}, {"a": "s", "b": 1}, {}], "properties": '
    '{"a": true}}, {"required": ["b"], "properties": {"b": true}}], "unevaluatedProperties": {"const": 1}}',
    "not all unevaluated": '{"not": {"anyOf": [{"properties": {"a": true}, "required": ["a"]}, {"required": ["b"]}], '
    '"unevaluatedProperties": {"const": 1}}}',
    "a listed object beside others": '{"anyOf": [{"const": {"a": 1}}, {"required": ["a", "b"]}]}',
}


@pytest.mark.parametrize("name", EXACT)
def test_each_keyword_is_exact(name: str) -> None:
    texts = FormTexts(f'{{"type": "object", {EXACT[name][1:]}')
    assert not texts.inabilities
    judged = [(texts.allows(value), is_generated(texts, value), value) for value in all_objects()]
    assert [value for is_valid, is_in, value in judged if is_valid != is_in] == []
    assert {is_valid for is_valid, _, _ in judged} == {True, False}


def test_members_come_in_the_order_of_their_schemas_and_undeclared_ones_last() -> None:
    texts = FormTexts('{"type": "object", "properties": {"b": true, "a": true}, "required": ["c"]}')
    assert texts.generates({"b": 1, "a": 1, "c": 1, "z": 1, "d": 1})
    assert texts.generates({"a": 1, "c": 1, "d": 1, "z": 1})
    assert not texts.generates({"a": 1, "b": 1, "c": 1})
    assert not texts.generates({"z": 1, "c": 1})


def test_what_decides_on_unevaluated_members_may_be_much() -> None:
    branches = ", ".join(f'{{"properties": {{"p{at}": {{"const": {at}}}}}, "required": ["p{at}"]}}' for at in range(20))
    texts = FormTexts(f'{{"type": "object", "anyOf": [{branches}], "unevaluatedProperties": false}}')
    assert not texts.inabilities
    assert texts.generates({"p3": 3, "p7": 7})
    assert not texts.generates({"p3": 3, "p7": 8})
    assert not texts.generates({"p3": 3, "q": 8})


def test_too_many_patterns_of_unevaluated_members_are_named_and_only_widen() -> None:
    branches = ", ".join(f'{{"patternProperties": {{"^{letter}": {{"const": 1}}}}}}' for letter in "abcdefg")
    texts = FormTexts(f'{{"type": "object", "anyOf": [{branches}], "unevaluatedProperties": false}}')
    assert {named for named, _ in texts.inabilities} == {"unevaluatedProperties"}
    assert all(texts.generates(value) for value in all_objects() if texts.allows(value))


def test_a_name_out_of_a_short_list_comes_once() -> None:
    texts = FormTexts('{"type": "object", "propertyNames": {"pattern": "^(a|b)$"}}')
    assert texts.grammar is not None
    matcher = matcher_of(texts.grammar)
    assert generates(matcher, '{"a":1,"b":2}')
    assert not generates(matcher, '{"a":1,"a":2}')


def test_a_long_list_of_names_fits_a_row() -> None:
    listed = ", ".join(f'"n{at}"' for at in range(900))
    texts = FormTexts(f'{{"type": "object", "propertyNames": {{"enum": [{listed}]}}}}')
    assert texts.generates({"n899": 1, "n0": 2})
    assert not texts.generates({"n900": 1})
    assert texts.walk(Random(1)) is not None


@pytest.mark.parametrize(
    "schema",
    [
        '{"type": "object", "required": ["a"], "propertyNames": {"maxLength": 0}}',
        '{"type": "object", "propertyNames": {"enum": ["a", "b"]}, "minProperties": 3}',
        '{"type": "object", "patternProperties": {"^[ab]$": true}, "additionalProperties": false, "minProperties": 3}',
        '{"type": "object", "required": ["a"], "not": {"minProperties": 1}}',
        '{"type": "object", "required": ["a"], "if": {"required": ["a"]}, "then": {"maxProperties": 0}}',
        '{"type": "object", "required": ["a"], "properties": {"a": {"const": 1}}, "not": {"properties": {"a": true}}}',
    ],
)
def test_an_object_that_no_members_fit_has_no_text(schema: str) -> None:
    assert FormTexts(schema).grammar is None


@pytest.mark.parametrize("keyword", SUITE_FILES)
def test_the_official_suite_is_judged_right(keyword: str) -> None:
    cases = list(suite_cases(f"{keyword}.json"))
    if not cases:
        pytest.skip("the official test suite is not there: set SCHEMAGATE_CORPORA")
    for case in cases:
        try:
            texts = FormTexts(json.dumps(case.schema))
        except ContractRejectedError:
            assert not any(is_valid for _, _, is_valid in case.tests), case.description
            continue
        assert not texts.inabilities, case.description
        for description, data, is_valid in case.tests:
            value = parsed(json.dumps(data))
            is_in = is_generated(texts, value) if isinstance(value, dict) else texts.generates(value)
            assert is_in == is_valid, (case.description, description)
