"""Tool sets: what may be called, with which arguments."""

from typing import Any

import pytest

from policy.rejection import RejectionCode as Code
from registry.contract import ContractKind
from tests.registry.kinds.contracts import read, refusal

OBJECT = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}


def function(name: str = "f", **more: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, **more}}


def custom(syntax: str = "lark", definition: Any = 'start: "a"', name: str = "c") -> dict[str, Any]:
    form = {"type": "grammar", "grammar": {"syntax": syntax, "definition": definition}}
    return {"type": "custom", "custom": {"name": name, "format": form}}


SAME: list[tuple[str, Any, Any]] = [
    ("order of tools", [function("a"), function("b")], [function("b"), function("a")]),
    ("descriptions", [function(description="x")], [function()]),
    ("no strictness", [function()], [function(strict=False)]),
    ("null strictness", [function()], [function(strict=None)]),
    ("no parameters", [function()], [function(parameters={"type": "object", "additionalProperties": False})]),
    ("null parameters", [function()], [function(parameters=None)]),
    ("the flat layout", [function(parameters=OBJECT, strict=True)],
     [{"type": "function", "name": "f", "parameters": OBJECT, "strict": True}]),
    ("schemas in any spelling", [function(parameters=OBJECT)], [function(parameters={**OBJECT, "title": "t"})]),
    ("a custom tool's flat layout", [custom()],
     [{"type": "custom", "name": "c", "format": {"type": "grammar", "syntax": "lark", "definition": 'start: "a"'}}]),
    ("grammars in any spelling", [custom()], [custom(definition='// x\nstart : ("a")')]),
    ("expressions in any spelling", [custom("regex", r"^\d$")], [custom("regex", "[0-9]")]),
    ("free text", [{"type": "custom", "custom": {"name": "c"}}],
     [{"type": "custom", "name": "c", "description": "d", "format": {"type": "text"}}]),
]  # fmt: skip
DIFFERENT: list[tuple[str, Any, Any]] = [
    ("names", [function("a")], [function("b")]),
    ("strictness", [function()], [function(strict=True)]),
    ("arguments", [function(parameters=OBJECT)], [function()]),
    ("any arguments or none", [function(parameters={"type": "object"})], [function()]),
    ("one tool more", [function("a")], [function("a"), function("b")]),
    ("a function or a custom tool", [function("c")], [{"type": "custom", "custom": {"name": "c"}}]),
    ("a grammar or free text", [custom()], [{"type": "custom", "custom": {"name": "c"}}]),
    ("a syntax", [custom("regex", "a")], [custom("lark", "start: /a/")]),
]
REFUSED: list[tuple[Any, Code, str]] = [
    ([], Code.UNSATISFIABLE, ""),
    ({}, Code.INVALID_SCHEMA, ""),
    ([1], Code.INVALID_SCHEMA, "/0"),
    ([function(), {"function": {"name": "g"}}], Code.INVALID_SCHEMA, "/1"),
    ([{"type": "file_search"}], Code.UNSUPPORTED_VALUE, "/0/type"),
    ([function(""), function()], Code.INVALID_SCHEMA, "/0/function/name"),
    ([function("a b")], Code.INVALID_SCHEMA, "/0/function/name"),
    ([function("é")], Code.INVALID_SCHEMA, "/0/function/name"),
    ([function("a\n")], Code.INVALID_SCHEMA, "/0/function/name"),
    ([function("a" * 65)], Code.INVALID_SCHEMA, "/0/function/name"),
    ([function("a"), function("a")], Code.DUPLICATE_NAME, "/1/function/name"),
    ([function("c"), custom()], Code.DUPLICATE_NAME, "/1/custom/name"),
    ([function(parameters={"type": "object", "requird": []})], Code.UNKNOWN_KEYWORD, "/0/function/parameters/requird"),
    ([function(parameters={"type": "string"})], Code.UNSATISFIABLE, "/0/function/parameters/type"),
    ([function(parameters={"x-guidance": {}})], Code.RESERVED_KEYWORD, "/0/function/parameters/x-guidance"),
    ([function(parameters="{}")], Code.INVALID_SCHEMA, "/0/function/parameters"),
    ([function(strict="yes")], Code.INVALID_SCHEMA, "/0/function/strict"),
    ([function(description=5)], Code.INVALID_SCHEMA, "/0/function/description"),
    ([function(paramters={})], Code.UNKNOWN_KEYWORD, "/0/function/paramters"),
    ([{**function(), "strict": True}], Code.UNKNOWN_KEYWORD, "/0/strict"),
    ([custom("ebnf")], Code.UNSUPPORTED_VALUE, "/0/custom/format/grammar/syntax"),
    ([custom("regex", "(?=a)")], Code.UNSUPPORTED_REGEX, "/0/custom/format/grammar/definition"),
    ([custom("lark", "start: <x>")], Code.UNSUPPORTED_KEYWORD, "/0/custom/format/grammar/definition"),
    ([custom("lark", None)], Code.INVALID_SCHEMA, "/0/custom/format/grammar/definition"),
    ([{"type": "custom", "custom": {"name": "c", "format": {"type": "xml"}}}], Code.UNSUPPORTED_VALUE,
     "/0/custom/format/type"),
]  # fmt: skip


@pytest.mark.parametrize(("reason", "one", "other"), SAME)
def test_one_contract(reason: str, one: Any, other: Any) -> None:
    assert read(ContractKind.TOOL_SET, one).text == read(ContractKind.TOOL_SET, other).text


@pytest.mark.parametrize(("reason", "one", "other"), DIFFERENT)
def test_two_contracts(reason: str, one: Any, other: Any) -> None:
    assert read(ContractKind.TOOL_SET, one).digest != read(ContractKind.TOOL_SET, other).digest


@pytest.mark.parametrize("value", [value for _, *both in (*SAME, *DIFFERENT) for value in both])
def test_a_canonical_form_is_its_own(value: Any) -> None:
    contract = read(ContractKind.TOOL_SET, value)
    assert read(ContractKind.TOOL_SET, contract.schema).text == contract.text


@pytest.mark.parametrize(("value", "code", "pointer"), REFUSED)
def test_it_is_refused_by_name_and_place(value: Any, code: Code, pointer: str) -> None:
    found = refusal(ContractKind.TOOL_SET, value)
    assert (found.code, found.pointer) == (code, pointer)


def test_descriptions_are_annotations_with_a_digest_of_their_own() -> None:
    one, other = (read(ContractKind.TOOL_SET, [function(description=text)]) for text in ("x", "y"))
    assert one.digest == other.digest
    assert one.annotation_digest != other.annotation_digest
    assert [(entry.pointer, entry.keyword) for entry in one.annotations] == [("/0/function/description", "description")]


def test_sorted_tools_lead_back_to_where_they_were_sent() -> None:
    contract = read(ContractKind.TOOL_SET, [function("b", parameters=OBJECT), function("a")])
    assert contract.source_pointer("/1/parameters/properties/q") == "/0/function/parameters/properties/q"
    assert contract.source_pointer("/0/name") == "/1/name"
