"""Whatever two contracts are, a comparison ends within its budget, and what it could not decide it calls unknown."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from policy.enforcement import EnforcementPolicy
from policy.limits import GOVERNED
from registry.algebra.alphabet import Alphabet
from registry.algebra.automata import POSITIONS_PER_STEP, Automaton, sets_of
from registry.algebra.budgeting import Spending
from registry.compatibility.comparison import Comparison, ContractText, compare
from registry.compatibility.schema_comparison import SchemaPair
from registry.compatibility.verdicts import ComparisonBudget, Direction, Safe, Unknown, UnknownReason, Unsafe
from registry.contract import JsonValue
from registry.full_match import full_match_tree
from registry.json_schema import read_json_schema
from registry.text import canonical_json
from tests.registry.compatibility.comparing import JUDGES, compared
from tests.registry.reading import parsed


@contextmanager
def _deep_stack() -> Iterator[None]:
    """As many frames as a comparing process has; the values compared here are nested as deeply as limits allow."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(20_000)
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def _governed(old: Any, new: Any, **limits: int) -> Comparison:
    texts = [
        canonical_json(read_json_schema(parsed(s), limits=GOVERNED.contract, policy=EnforcementPolicy()).schema)
        for s in (old, new)
    ]
    with _deep_stack():
        return compare(
            ContractText(kind="json_schema", text=texts[0]),
            ContractText(kind="json_schema", text=texts[1]),
            JUDGES,
            ComparisonBudget(**limits),
        )


def _nested(depth: int, leaf: Any) -> Any:
    for _ in range(depth):
        leaf = {"type": "object", "properties": {"a": leaf}, "required": ["a"]}
    return leaf


def test_a_change_as_deep_as_contracts_may_be_is_seen() -> None:
    comparison = _governed(_nested(28, {"type": "integer"}), _nested(28, {"type": "number"}))

    assert isinstance(comparison.consumer_safe, Unsafe)
    assert isinstance(comparison.producer_safe, Safe)


def test_wide_objects_are_compared_member_by_member() -> None:
    members = {f"m{number}": {"type": "string", "maxLength": number + 1} for number in range(390)}
    old = {"type": "object", "properties": members, "additionalProperties": False}
    new = old | {"properties": members | {"m389": {"type": "string", "maxLength": 389}}}

    comparison = _governed(old, new)

    assert isinstance(comparison.consumer_safe, Safe)
    assert isinstance(comparison.producer_safe, Unsafe)


def test_many_tagged_branches_are_told_apart_without_trying_pairs() -> None:
    def branches(widest: int) -> list[Any]:
        return [
            {
                "type": "object",
                "properties": {"kind": {"const": f"k{number}"}, "v": {"type": "integer", "maximum": widest + number}},
                "required": ["kind", "v"],
            }
            for number in range(120)
        ]

    old, new = branches(100), branches(100)
    new[60]["properties"]["v"]["maximum"] = 99

    comparison = _governed({"oneOf": old}, {"oneOf": new})

    assert isinstance(comparison.consumer_safe, Safe)
    assert isinstance(comparison.producer_safe, Unsafe)


def test_large_enums_are_sets() -> None:
    old = {"enum": [f"value {number}" for number in range(3_000)]}
    new = {"enum": [f"value {number}" for number in range(1, 3_000)]}

    comparison = _governed(old, new)

    assert isinstance(comparison.consumer_safe, Safe)
    assert isinstance(comparison.producer_safe, Unsafe)
    assert comparison.producer_safe.witness == "value 0"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        # the product of these automata has more states than anyone has time for
        (
            {"type": "string", "allOf": [{"pattern": f"^(?:.*a.{{{n}}}|b*)$"} for n in range(9, 14)]},
            {"type": "string", "pattern": "^(?:.*a.{8}|c*)$"},
        ),
        # 2^16 ways through alternatives that all have to be closed
        (
            {"allOf": [{"anyOf": [{"required": [f"a{n}"]}, {"required": [f"b{n}"]}]} for n in range(16)]},
            {"anyOf": [{"required": [f"a{n}", f"b{n + 1}", "c"]} for n in range(16)]},
        ),
        # counts that would have to be built to be shown
        (
            {"type": "array", "items": {"type": "integer", "minimum": 1, "maximum": 100000}, "uniqueItems": True},
            {"type": "array", "maxItems": 99999, "uniqueItems": True},
        ),
    ],
    ids=["automata", "alternatives", "counts"],
)
def test_hard_questions_end_with_the_budget(old: Any, new: Any) -> None:
    comparison = _governed(old, new, max_steps=3_000, max_candidates=50)

    for answer in (comparison.consumer_safe, comparison.producer_safe):
        assert isinstance(answer, Unsafe | Unknown | Safe)
    assert any(not isinstance(a, Safe) for a in (comparison.consumer_safe, comparison.producer_safe))


def test_without_any_budget_nothing_is_claimed() -> None:
    spent = ComparisonBudget(max_steps=0, max_candidates=0)

    comparison = compared({"type": "integer"}, {"type": "number"}, budget=spent)

    assert isinstance(comparison.consumer_safe, Unknown)
    assert comparison.consumer_safe.reason is UnknownReason.BUDGET
    assert isinstance(comparison.producer_safe, Unknown)


def test_a_witness_that_would_be_too_long_is_not_shown() -> None:
    long = {"type": "string", "minLength": 900}

    comparison = compared(long, {"type": "integer"}, budget=ComparisonBudget(max_witness_bytes=100))

    assert isinstance(comparison.producer_safe, Unknown)


def test_the_same_comparison_is_the_same_twice() -> None:
    old = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"enum": ["x", "y"]}}}
    new = {"type": "object", "properties": {"a": {"type": "number"}, "b": {"enum": ["x", "z"]}}, "required": ["a"]}

    assert compared(old, new) == compared(old, new)


def test_too_many_conditions_of_an_unevaluated_keyword_are_no_reason_to_guess() -> None:
    def tagged(count: int) -> Any:
        branches = [{"properties": {f"p{n}": {"type": "integer"}}, "required": [f"p{n}"]} for n in range(count)]
        return {"type": "object", "anyOf": branches, "unevaluatedProperties": False}

    comparison = compared(tagged(12), tagged(13))
    unchanged = compared({"items": tagged(12), "type": "array"}, {"items": tagged(12), "type": ["array", "null"]})

    assert isinstance(comparison.consumer_safe, Unsafe)
    assert isinstance(comparison.producer_safe, Unknown | Safe)
    assert isinstance(unchanged.consumer_safe, Unsafe)
    assert isinstance(unchanged.producer_safe, Safe)


def _doubling(depth: int, leaf: Any) -> Any:
    definitions: dict[str, Any] = {
        f"a{number}": {
            "type": "object",
            "properties": {side: {"$ref": f"#/$defs/a{number + 1}"} for side in ("left", "right")},
            "required": ["left", "right"],
        }
        for number in range(depth)
    }
    return {"$ref": "#/$defs/a0", "$defs": {**definitions, f"a{depth}": leaf}}


def test_a_part_that_a_document_holds_hundreds_of_times_is_looked_at_once() -> None:
    comparison = _governed(_doubling(9, {"type": "integer"}), _doubling(9, {"type": "number"}))

    assert isinstance(comparison.consumer_safe, Unsafe)
    assert isinstance(comparison.producer_safe, Safe)


def test_a_document_of_gigabytes_is_neither_written_nor_walked() -> None:
    rows: Any = {"type": "integer"}
    for _ in range(3):
        rows = {"type": "array", "items": rows, "minItems": 9_000}

    comparison = _governed({"anyOf": [{"type": "null"}, rows]}, {"type": "null"})

    assert isinstance(comparison.consumer_safe, Safe)
    assert isinstance(comparison.producer_safe, Unknown)


def test_a_document_that_is_too_dear_to_evaluate_ends_the_search_only() -> None:
    dear: JsonValue = {"type": "integer", "oneOf": [{"minimum": number} for number in range(-4_000, 0)]}
    pair = SchemaPair({"type": "integer"}, dear, JUDGES, ComparisonBudget(max_steps=160))

    assert isinstance(pair.answer(Direction.PRODUCER_SAFE), Unknown)


def test_following_a_pattern_costs_by_the_positions_that_are_followed() -> None:
    tree = full_match_tree("^[ab]*a[ab]{250}$")
    spending = Spending(ComparisonBudget())
    alphabet = Alphabet(sets_of(tree))
    automaton = Automaton(tree, alphabet, max_positions=3_000, spending=spending)
    state, num_followed = automaton.start, 0
    for _ in range(240):
        state = automaton.next(state, alphabet.group_of("a"))
        num_followed += state.bit_count()

    assert num_followed > 240 * 100
    assert spending.num_spent > num_followed // POSITIONS_PER_STEP - 240


def test_names_that_are_made_one_after_the_other_are_made_cheaply() -> None:
    def at_least(count: int) -> Any:
        required = [f"r{number}" for number in range(200)]
        return {"type": "object", "required": required, "minProperties": count}

    comparison = _governed(at_least(390), at_least(391), max_steps=20_000)

    assert isinstance(comparison.consumer_safe, Safe)
    assert isinstance(comparison.producer_safe, Unsafe)
