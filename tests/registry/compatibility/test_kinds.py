"""Contracts that are not JSON Schema: choices and expressions exactly, tools by calls, grammars by identity."""

import json
from typing import Any

from registry.compatibility.changes import ChangeKind, Effect
from registry.compatibility.comparison import Comparison, ContractText, compare
from registry.compatibility.verdicts import Safe, Unknown, UnknownReason, Unsafe
from tests.registry.compatibility.comparing import JUDGES


def _compared(kind: str, old: Any, new: Any) -> Comparison:
    texts = [value if isinstance(value, str) else json.dumps(value) for value in (old, new)]
    return compare(ContractText(kind=kind, text=texts[0]), ContractText(kind=kind, text=texts[1]), JUDGES)


def _tool(name: str, **members: Any) -> dict[str, Any]:
    return {"name": name, "type": "function", "parameters": {"type": "object", "properties": members}}


def test_equal_contracts_of_any_kind_are_safe() -> None:
    for kind in ("json_schema", "lark", "gbnf", "structural_tag", "regex", "choice", "tool_set"):
        comparison = _compared(kind, "anything", "anything")
        assert isinstance(comparison.consumer_safe, Safe)
        assert isinstance(comparison.producer_safe, Safe)
        assert not comparison.changes


def test_grammars_that_differ_are_not_guessed_at() -> None:
    comparison = _compared("lark", 'start: "a"', 'start: "a" | "b"')

    assert isinstance(comparison.consumer_safe, Unknown)
    assert comparison.consumer_safe.reason is UnknownReason.KIND
    assert [change.kind for change in comparison.changes] == [ChangeKind.TEXT_CHANGED]


def test_a_choice_that_grew_lets_old_texts_stand_and_shows_a_new_one() -> None:
    comparison = _compared("choice", ["no", "yes"], ["maybe", "no", "yes"])

    assert isinstance(comparison.producer_safe, Safe)
    assert isinstance(comparison.consumer_safe, Unsafe)
    assert comparison.consumer_safe.witness_text == "maybe"
    assert [(c.kind, c.effect) for c in comparison.changes] == [(ChangeKind.CHOICE_ADDED, Effect.WIDENS)]


def test_expressions_are_compared_as_sets_of_texts() -> None:
    comparison = _compared("regex", "a{2,3}|b", "(?:aa){1,2}|b")

    assert isinstance(comparison.consumer_safe, Unsafe)
    assert comparison.consumer_safe.witness_text == "aaaa"
    assert isinstance(comparison.producer_safe, Unsafe)
    assert comparison.producer_safe.witness_text == "aaa"
    same = _compared("regex", "(?:ab|ac)+", "(?:a[bc])+")
    assert isinstance(same.consumer_safe, Safe)
    assert isinstance(same.producer_safe, Safe)


def test_a_choice_and_an_expression_have_documents_of_one_kind() -> None:
    comparison = compare(ContractText(kind="choice", text='["a","ab"]'), ContractText(kind="regex", text="ab?"), JUDGES)

    assert isinstance(comparison.consumer_safe, Safe)
    assert isinstance(comparison.producer_safe, Safe)
    assert comparison.changes[0].kind is ChangeKind.KIND_CHANGED


def test_texts_and_json_are_not_compared() -> None:
    comparison = compare(
        ContractText(kind="choice", text='["1"]'), ContractText(kind="json_schema", text='{"const":1}'), JUDGES
    )

    assert isinstance(comparison.consumer_safe, Unknown)
    assert isinstance(comparison.producer_safe, Unknown)


def test_tools_are_compared_call_by_call() -> None:
    integer, number = {"type": "integer"}, {"type": "number"}
    old = [_tool("find", size=integer), _tool("stop")]
    new = [_tool("find", size=number), _tool("go")]

    comparison = _compared("tool_set", old, new)

    assert [change.kind for change in comparison.changes] == [
        ChangeKind.TOOL_CHANGED,
        ChangeKind.TOOL_ADDED,
        ChangeKind.TOOL_REMOVED,
    ]
    assert isinstance(comparison.consumer_safe, Unsafe)
    assert isinstance(comparison.producer_safe, Unsafe)
    assert json.loads(comparison.producer_safe.witness_text)["name"] == "stop"


def test_tools_keep_their_own_definitions_apart() -> None:
    def recursive(value: dict[str, str]) -> dict[str, Any]:
        node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/d0"}, "$ref": value, "enum": value}}
        parameters = {"$defs": {"d0": node}, "$ref": "#/$defs/d0"}
        return {"type": "function", "parameters": parameters}

    old = [recursive({"type": "integer"}) | {"name": "a"}, recursive({"type": "string"}) | {"name": "b"}]
    new = [recursive({"type": "number"}) | {"name": "a"}, recursive({"type": "string"}) | {"name": "b"}]

    comparison = _compared("tool_set", old, new)

    assert isinstance(comparison.producer_safe, Safe)
    assert isinstance(comparison.consumer_safe, Unsafe)
    assert json.loads(comparison.consumer_safe.witness_text)["name"] == "a"


def test_a_grammar_of_a_tool_must_stay_what_it_is() -> None:
    grammar = {"name": "sql", "type": "custom", "format": {"definition": 'start: "x"', "syntax": "lark"}}
    other = grammar | {"format": {"definition": 'start: "y"', "syntax": "lark"}}
    wider, narrower = _tool("f", a={"type": "number"}), _tool("f", a={"type": "integer"})

    same = _compared("tool_set", [narrower, grammar], [wider, grammar])
    changed = _compared("tool_set", [narrower, grammar], [narrower, other])

    assert isinstance(same.producer_safe, Safe)
    assert isinstance(same.consumer_safe, Unsafe)
    assert isinstance(changed.producer_safe, Unknown)


def test_what_is_no_canonical_text_is_unreadable_and_never_safe() -> None:
    for old, new in (('{"$ref":"#/x"}', "true"), ("[]", "true"), ("{", "true"), ('{"madeUp":1}', "true")):
        comparison = _compared("json_schema", old, new)
        assert isinstance(comparison.consumer_safe, Unknown)
        assert isinstance(comparison.producer_safe, Unknown)
        assert comparison.consumer_safe.reason is UnknownReason.UNREADABLE
