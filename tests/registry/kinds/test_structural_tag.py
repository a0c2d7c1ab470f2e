"""Structural tags: two wire formats, one meaning."""

from typing import Any

import pytest

from policy.rejection import RejectionCode as Code
from registry.contract import ContractKind
from tests.registry.kinds.contracts import read, refusal

OBJECT = {"type": "object", "required": ["b", "a"], "title": "t"}


def tagged(tree: Any) -> dict[str, Any]:
    return {"type": "structural_tag", "format": tree}


def legacy(*structures: dict[str, Any], triggers: list[str], **more: Any) -> dict[str, Any]:
    return {"type": "structural_tag", "structures": list(structures), "triggers": triggers, **more}


def tag(begin: str, content: Any, end: Any = "</f>") -> dict[str, Any]:
    return {"type": "tag", "begin": begin, "content": content, "end": end}


SCHEMA = {"type": "json_schema", "json_schema": OBJECT}
TEXT = {"type": "any_text"}
TAG = tag("<f=a>", SCHEMA)
ONE = {"begin": "<f=a>", "schema": OBJECT, "end": "</f>"}
TRIGGERED = {"type": "triggered_tags", "triggers": ["<f="], "tags": [TAG]}

SAME: list[tuple[str, Any, Any]] = [
    ("the older wire format", legacy(ONE, triggers=["<f="]), tagged(TRIGGERED)),
    ("its flag", legacy(ONE, triggers=["<f="], at_least_one=True), tagged({**TRIGGERED, "at_least_one": True})),
    ("defaults", tagged(TRIGGERED), tagged({**TRIGGERED, "stop_after_first": False, "excludes": []})),
    ("nulls", tagged(TEXT), tagged({**TEXT, "max_chars": None, "max_tokens": None})),
    ("triggers are a set", tagged({**TRIGGERED, "triggers": ["<f=", "<g="], "tags": [TAG, tag("<g=>", TEXT)]}),
     tagged({**TRIGGERED, "triggers": ["<g=", "<f=", "<g="], "tags": [TAG, tag("<g=>", TEXT)]})),
    ("excluded texts are a set", tagged({**TEXT, "excludes": ["a", "b"]}),
     tagged({**TEXT, "excludes": ["b", "a", "a"]})),
    ("ends are a set", tagged(tag("<", TEXT, ["x", "y"])), tagged(tag("<", TEXT, ["y", "x"]))),
    ("one end", tagged(tag("<", TEXT, "x")), tagged(tag("<", TEXT, ["x"]))),
    ("optional", tagged({"type": "optional", "content": TEXT}),
     tagged({"type": "repeat", "min": 0, "max": 1, "content": TEXT})),
    ("star", tagged({"type": "star", "content": TEXT}),
     tagged({"type": "repeat", "min": 0, "max": -1, "content": TEXT})),
    ("plus", tagged({"type": "plus", "content": TEXT}),
     tagged({"type": "repeat", "min": 1, "max": -1, "content": TEXT})),
    ("a list of one", tagged(TEXT), tagged({"type": "sequence", "elements": [{"type": "or", "elements": [TEXT]}]})),
    ("schemas in any spelling", tagged(SCHEMA),
     tagged({"type": "json_schema", "style": "json", "any_order": False,
             "json_schema": {"required": ["a", "b"], "type": ["object"]}})),
    ("expressions in any spelling", tagged({"type": "regex", "pattern": r"^\d$"}),
     tagged({"type": "regex", "pattern": "[0-9]"})),
]  # fmt: skip
DIFFERENT: list[tuple[str, Any, Any]] = [
    ("at least one", tagged(TRIGGERED), tagged({**TRIGGERED, "at_least_one": True})),
    ("one at most", tagged(TRIGGERED), tagged({**TRIGGERED, "stop_after_first": True})),
    ("a tag alone", tagged(TRIGGERED), tagged(TAG)),
    ("what begins", tagged(TAG), tagged(tag("<f=b>", SCHEMA))),
    ("what ends", tagged(TAG), tagged(tag("<f=a>", SCHEMA, "</g>"))),
    ("what is excluded", tagged(TEXT), tagged({**TEXT, "excludes": ["a"]})),
    ("how long a text is", tagged(TEXT), tagged({**TEXT, "max_chars": 5})),
    ("order of a sequence", tagged({"type": "sequence", "elements": [TEXT, TAG]}),
     tagged({"type": "sequence", "elements": [TAG, TEXT]})),
    ("one or the other", tagged({"type": "sequence", "elements": [TEXT, TAG]}),
     tagged({"type": "or", "elements": [TEXT, TAG]})),
]  # fmt: skip

REFUSED: list[tuple[Any, Code, str]] = [
    ([], Code.INVALID_SCHEMA, ""),
    ({"format": TEXT}, Code.INVALID_SCHEMA, ""),
    ({"type": "json_schema", "format": TEXT}, Code.INVALID_SCHEMA, "/type"),
    ({"type": "structural_tag"}, Code.INVALID_SCHEMA, ""),
    ({**tagged(TEXT), "tags": []}, Code.UNKNOWN_KEYWORD, "/tags"),
    ({**tagged(TEXT), **legacy(ONE, triggers=["<f="])}, Code.UNKNOWN_KEYWORD, "/format"),
    *(
        (tagged({"type": "sequence", "elements": [TEXT, {"type": kind}]}), Code.UNSUPPORTED_KEYWORD,
         "/format/elements/1/type")
        for kind in ("grammar", "tags_with_separator", "dispatch", "token", "exclude_token", "any_tokens",
                     "token_triggered_tags", "token_dispatch", "qwen_xml_parameter", "no such")
    ),
    (tagged({**SCHEMA, "style": "qwen_xml"}), Code.UNSUPPORTED_VALUE, "/format/style"),
    (tagged({**SCHEMA, "any_order": True}), Code.UNSUPPORTED_VALUE, "/format/any_order"),
    (tagged({**TEXT, "max_tokens": 5}), Code.UNSUPPORTED_VALUE, "/format/max_tokens"),
    (tagged({**TEXT, "max_chars": -1}), Code.INVALID_SCHEMA, "/format/max_chars"),
    (tagged({**TEXT, "max_chars": True}), Code.INVALID_SCHEMA, "/format/max_chars"),
    (tagged({**TEXT, "max_chars": 10_001}), Code.LIMIT_EXCEEDED, "/format/max_chars"),
    (tagged({**TEXT, "excludes": [""]}), Code.INVALID_SCHEMA, "/format/excludes/0"),
    (tagged({**TEXT, "exclude": ["a"]}), Code.UNKNOWN_KEYWORD, "/format/exclude"),
    (tagged({"type": "sequence", "elements": []}), Code.INVALID_SCHEMA, "/format/elements"),
    (tagged({"type": "repeat", "min": 2, "max": 1, "content": TEXT}), Code.INVALID_SCHEMA, "/format"),
    (tagged({"type": "repeat", "min": 0, "max": 101, "content": TEXT}), Code.LIMIT_EXCEEDED, "/format"),
    (tagged({"type": "repeat", "min": 0, "max": 20, "content": {"type": "repeat", "min": 0, "max": 6, "content": 1}}),
     Code.LIMIT_EXCEEDED, "/format/content"),
    (tagged({"type": "regex", "pattern": "(?=a)"}), Code.UNSUPPORTED_REGEX, "/format/pattern"),
    (tagged(tag("<", {"type": "json_schema", "json_schema": {"type": "nul"}})), Code.INVALID_SCHEMA,
     "/format/content/json_schema/type"),
    (tagged({"type": "json_schema", "json_schema": False}), Code.UNSATISFIABLE, "/format/json_schema"),
    (tagged({"type": "json_schema", "json_schema": {"x-guidance": {}}}), Code.RESERVED_KEYWORD,
     "/format/json_schema/x-guidance"),
    (tagged({**TAG, "begin": {"type": "token", "token": 5}}), Code.UNSUPPORTED_KEYWORD, "/format/begin"),
    (tagged(tag("<", TEXT, [])), Code.UNSATISFIABLE, "/format/end"),
    (tagged({**TRIGGERED, "triggers": []}), Code.INVALID_SCHEMA, "/format/triggers"),
    (tagged({**TRIGGERED, "triggers": [""]}), Code.INVALID_SCHEMA, "/format/triggers/0"),
    (tagged({**TRIGGERED, "triggers": ["<g="]}), Code.UNSATISFIABLE, "/format/tags/0/begin"),
    (tagged({**TRIGGERED, "triggers": ["<f=", "<h"]}), Code.UNSATISFIABLE, "/format/triggers"),
    (tagged({**TRIGGERED, "triggers": ["<f", "<f="]}), Code.INVALID_SCHEMA, "/format/triggers"),
    (tagged({**TRIGGERED, "triggers": ["<f=", "f="]}), Code.INVALID_SCHEMA, "/format/triggers"),
    (tagged({**TRIGGERED, "tags": [TEXT]}), Code.INVALID_SCHEMA, "/format/tags/0/type"),
    (tagged({**TRIGGERED, "tags": []}), Code.INVALID_SCHEMA, "/format/tags"),
    (legacy({**ONE, "schema": {"type": "nul"}}, triggers=["<f="]), Code.INVALID_SCHEMA, "/structures/0/schema/type"),
    (legacy({"begin": "<f=", "end": ""}, triggers=["<f="]), Code.INVALID_SCHEMA, "/structures/0"),
    (legacy(ONE, triggers=["<f="], stop_after_first=True), Code.UNKNOWN_KEYWORD, "/stop_after_first"),
    (legacy({**ONE, "grammar": ""}, triggers=["<f="]), Code.UNKNOWN_KEYWORD, "/structures/0/grammar"),
]  # fmt: skip


@pytest.mark.parametrize(("reason", "one", "other"), SAME)
def test_one_contract(reason: str, one: Any, other: Any) -> None:
    assert read(ContractKind.STRUCTURAL_TAG, one).text == read(ContractKind.STRUCTURAL_TAG, other).text


@pytest.mark.parametrize(("reason", "one", "other"), DIFFERENT)
def test_two_contracts(reason: str, one: Any, other: Any) -> None:
    assert read(ContractKind.STRUCTURAL_TAG, one).digest != read(ContractKind.STRUCTURAL_TAG, other).digest


@pytest.mark.parametrize("value", [value for _, *both in (*SAME, *DIFFERENT) for value in both])
def test_a_canonical_form_is_its_own(value: Any) -> None:
    contract = read(ContractKind.STRUCTURAL_TAG, value)
    assert read(ContractKind.STRUCTURAL_TAG, contract.schema).text == contract.text


@pytest.mark.parametrize(("value", "code", "pointer"), REFUSED)
def test_it_is_refused_by_name_and_place(value: Any, code: Code, pointer: str) -> None:
    found = refusal(ContractKind.STRUCTURAL_TAG, value)
    assert (found.code, found.pointer) == (code, pointer)


def test_a_format_is_refused_by_its_own_name() -> None:
    found = refusal(ContractKind.STRUCTURAL_TAG, tagged({"type": "token_dispatch", "rules": []}))
    assert found.keyword == "token_dispatch"
    assert "'token_dispatch'" in found.message


def test_parts_lead_back_to_the_caller_s_spelling_and_annotations_are_kept_apart() -> None:
    contract = read(ContractKind.STRUCTURAL_TAG, legacy(ONE, triggers=["<f="]))
    inner = "/format/tags/0/content/json_schema"
    assert contract.source_pointer(f"{inner}/required") == "/structures/0/schema/required"
    assert [(entry.pointer, entry.keyword) for entry in contract.annotations] == [
        ("/structures/0/schema/title", "title")
    ]
    bare = read(
        ContractKind.STRUCTURAL_TAG,
        legacy({**ONE, "schema": {"type": "object", "required": ["a", "b"]}}, triggers=["<f="]),
    )
    assert bare.digest == contract.digest
    assert bare.annotation_digest != contract.annotation_digest
