"""`oneOf` is only ever enforced on a proof; a proof that held for overlapping schemas would widen a contract."""

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from compiler_pool.lowering.disjoint import DisjointnessProof

_DEFS: dict[str, Any] = {
    "d0": {"type": "string"},
    "d1": {"required": ["kind"], "properties": {"kind": {"const": "a"}}, "type": "object"},
}


def _holds(left: str, right: str) -> bool:
    return DisjointnessProof(_DEFS).holds((json.loads(left),), (json.loads(right),))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ('{"type":"string"}', '{"type":"number"}'),
        ('{"type":["string","null"]}', '{"type":["object","array"]}'),
        ('{"enum":["a","b"]}', '{"enum":["c"]}'),
        ('{"const":1}', '{"type":"string"}'),
        ('{"$ref":"#/$defs/d0"}', '{"type":"array"}'),
        ('{"type":"integer","maximum":3}', '{"type":"integer","minimum":4}'),
        ('{"type":"number","maximum":3}', '{"type":"number","exclusiveMinimum":3}'),
        ('{"type":"string","maxLength":3}', '{"type":"string","minLength":4}'),
        ('{"type":"array","maxItems":1}', '{"type":"array","minItems":2}'),
        ('{"type":"object","required":["k"],"properties":{"k":{"const":"b"}}}', '{"$ref":"#/$defs/d1"}'),
        ('{"type":"object","required":["x"]}', '{"type":"object","additionalProperties":false}'),
        ('{"type":"object","required":["x"]}', '{"type":"object","properties":{"x":false}}'),
        ('{"anyOf":[{"type":"string"},{"type":"null"}]}', '{"type":"boolean"}'),
        ('{"allOf":[{"type":["string","null"]},{"type":["string","array"]}]}', '{"type":["null","array"]}'),
        ("false", "{}"),
    ],
)
def test_schemas_with_no_common_value_are_proven_apart(left: str, right: str) -> None:
    left = left.replace('"k"', '"kind"')
    assert _holds(left, right)
    assert _holds(right, left)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("{}", '{"type":"string"}'),
        ('{"type":"integer"}', '{"type":"number"}'),
        ('{"properties":{"kind":{"const":"b"}}}', '{"properties":{"kind":{"const":"a"}}}'),
        ('{"properties":{"kind":{"const":"a"}}}', '{"$ref":"#/$defs/d1"}'),
        ('{"required":["k"],"properties":{"k":{"const":"b"}}}', '{"required":["k"],"properties":{"k":{"const":"a"}}}'),
        ('{"required":["x"],"type":"object"}', '{"additionalProperties":false,"patternProperties":{"x":{}}}'),
        ('{"enum":[1,2]}', '{"enum":[2,3]}'),
        ('{"type":"number","maximum":3}', '{"type":"number","minimum":3}'),
        ('{"type":"string","pattern":"^a"}', '{"type":"string","pattern":"^b"}'),
    ],
)  # fmt: skip
def test_schemas_that_overlap_or_are_beyond_the_proof_are_not_proven_apart(left: str, right: str) -> None:
    assert not _holds(left, right)


_VALUES: list[Any] = [
    None, True, False, 0, 1, 2, Decimal("1.5"), -1, "", "a", "b", "abc", [], [1], ["a", 1], {}, {"k": "a"}, {"k": "b"},
    {"k": 1}, {"m": 1}, {"k": "a", "m": "a"},
]  # fmt: skip


def _schemas() -> st.SearchStrategy[Any]:
    leaf = st.one_of(
        st.sampled_from([True, False, {}]),
        st.sampled_from(["null", "boolean", "integer", "number", "string", "array", "object"]).map(
            lambda name: {"type": name}
        ),
        st.lists(st.sampled_from(_VALUES), min_size=1, max_size=3).map(lambda values: {"enum": values}),
        st.sampled_from(_VALUES).map(lambda value: {"const": value}),
        st.fixed_dictionaries({"minimum": st.integers(-1, 2)}),
        st.fixed_dictionaries({"exclusiveMaximum": st.integers(-1, 2)}),
        st.fixed_dictionaries({"minLength": st.integers(0, 3)}),
        st.fixed_dictionaries({"maxLength": st.integers(0, 3)}),
        st.fixed_dictionaries({"maxItems": st.integers(0, 2)}),
        st.just({"required": ["k"]}),
        st.just({"additionalProperties": False}),
    )

    def grow(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        return st.one_of(
            st.lists(inner, min_size=1, max_size=3).map(lambda parts: {"anyOf": parts}),
            st.lists(inner, min_size=1, max_size=3).map(lambda parts: {"allOf": parts}),
            st.lists(inner, min_size=1, max_size=2).map(lambda parts: {"oneOf": parts}),
            st.builds(lambda one, two: {"properties": {"k": one}, "required": ["k"], "allOf": [two]}, inner, inner),
            st.builds(lambda one: {"properties": {"m": one}, "additionalProperties": False}, inner),
            st.builds(lambda one: {"additionalProperties": one, "required": ["m"]}, inner),
        )

    return st.recursive(leaf, grow, max_leaves=6)


@settings(max_examples=250, deadline=None)
@given(left=_schemas(), right=_schemas())
def test_no_value_satisfies_two_schemas_that_were_proven_apart(left: Any, right: Any) -> None:
    if DisjointnessProof({}).holds((left,), (right,)):
        both = Draft202012Validator({"allOf": [left, right]})
        assert [value for value in _VALUES if both.is_valid(value)] == []


def test_the_effort_is_bounded() -> None:
    wide: Any = {"anyOf": [{"anyOf": [{"anyOf": [{} for _ in range(20)]} for _ in range(20)]} for _ in range(20)]}
    proof = DisjointnessProof({})
    assert not proof.holds((wide,), (wide,))
    cyclic = DisjointnessProof({"d0": {"properties": {"n": {"$ref": "#/$defs/d0"}}, "required": ["n"]}})
    assert not cyclic.holds(({"$ref": "#/$defs/d0"},), ({"$ref": "#/$defs/d0"},))


def test_any_number_of_branches_that_list_their_values_is_told_apart_in_one_pass() -> None:
    proof = DisjointnessProof({})
    assert proof.holds_pairwise([{"const": number} for number in range(2_000)], {})
    assert not proof.is_spent
    assert proof.holds_pairwise([{"enum": [1, 2]}, {"enum": ["1", True]}, {"const": None}], {})
    assert not proof.holds_pairwise([{"enum": [1, 2]}, {"const": {"a": 1}}, {"enum": [3, 2]}], {})


def test_a_proof_that_ran_out_of_effort_says_so() -> None:
    proof = DisjointnessProof({})
    branches: list[Any] = [{"type": "object", "required": ["k"], "properties": {"k": {"const": n}}} for n in range(200)]
    assert not proof.holds_pairwise(branches, {})
    assert proof.is_spent
