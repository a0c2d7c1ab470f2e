"""A contract that is wrong is refused by its path, in whichever words it was sent."""

from typing import Any

import pytest

from gateway.errors import ContractRefusedError
from tests.gateway.dialects.contracts import LARK, SCHEMA, SCHEMA_TEXT, chat, fault

WHITE, CLOSED = "structured_outputs.whitespace_pattern", "structured_outputs.disable_additional_properties"
FORMAT = "response_format"


@pytest.mark.parametrize(
    ("fields", "code", "param"),
    [
        ({"structured_outputs": {}}, "missing_parameter", "structured_outputs"),
        ({"structured_outputs": {"json": None}}, "missing_parameter", "structured_outputs"),
        ({"structured_outputs": {"json_object": False}}, "missing_parameter", "structured_outputs"),
        ({"structured_outputs": {"json": SCHEMA, "regex": "a"}}, "conflicting_contracts", "structured_outputs.json"),
        ({"structured_outputs": {"choices": ["a"]}}, "unknown_constraint", "structured_outputs.choices"),
        ({"structured_outputs": {"regex": "a", "_backend": "x"}}, "unknown_constraint", "structured_outputs._backend"),
        ({"structured_outputs": "x"}, "invalid_type", "structured_outputs"),
        ({"structured_outputs": {"regex": ""}}, "invalid_value", "structured_outputs.regex"),
        ({"structured_outputs": {"regex": 5}}, "invalid_type", "structured_outputs.regex"),
        ({"structured_outputs": {"json": [1]}}, "invalid_type", "structured_outputs.json"),
        ({"structured_outputs": {"json": True}}, "invalid_type", "structured_outputs.json"),
        ({"structured_outputs": {"json": "true"}}, "invalid_type", "structured_outputs.json"),
        ({"structured_outputs": {"json_object": "yes"}}, "invalid_type", "structured_outputs.json_object"),
        ({"structured_outputs": {"choice": "a"}}, "invalid_type", "structured_outputs.choice"),
        ({"structured_outputs": {"grammar": "x ::= y"}}, "invalid_value", "structured_outputs.grammar"),
        (
            {"structured_outputs": {"json": SCHEMA, "disable_additional_properties": True}},
            "unsupported_parameter",
            "structured_outputs.disable_additional_properties",
        ),
        (
            {"structured_outputs": {"json": SCHEMA, "whitespace_pattern": "[ ]+"}},
            "unsupported_parameter",
            "structured_outputs.whitespace_pattern",
        ),
        (
            {"structured_outputs": {"json": SCHEMA, "whitespace_pattern": 5}},
            "invalid_type",
            "structured_outputs.whitespace_pattern",
        ),
        ({"guided_json": [1]}, "invalid_type", "guided_json"),
        ({"guided_regex": " "}, "invalid_value", "guided_regex"),
        ({"guided_choice": {}}, "invalid_type", "guided_choice"),
        ({"guided_decoding_backend": "outlines"}, "unsupported_parameter", "guided_decoding_backend"),
        ({"guided_decoding_backend": "xgrammar:no-fallback"}, "unsupported_parameter", "guided_decoding_backend"),
        ({"guided_decoding_backend": "guidance:lenient"}, "unsupported_parameter", "guided_decoding_backend"),
        ({"guided_decoding_backend": 5}, "invalid_type", "guided_decoding_backend"),
        ({"guided_whitespace_pattern": r"\n"}, "unsupported_parameter", "guided_whitespace_pattern"),
        ({"guided_schema": SCHEMA}, "unknown_constraint", "guided_schema"),
        ({"json_schema": 5}, "invalid_type", "json_schema"),
        ({"regex": ""}, "invalid_value", "regex"),
        ({"ebnf": ""}, "invalid_value", "ebnf"),
        ({"grammar": ""}, "invalid_value", "grammar"),
        ({"grammar": 5}, "invalid_type", "grammar"),
        ({"grammar": {"type": "lark", "value": LARK}}, "invalid_value", "grammar.type"),
        ({"grammar": {"type": "regex"}}, "missing_parameter", "grammar.value"),
        ({"grammar": {"type": "regex", "value": "a", "x": 1}}, "unknown_constraint", "grammar.x"),
        ({"grammar": {"type": "json_schema", "value": SCHEMA_TEXT}}, "invalid_type", "grammar.value"),
        ({"parameters": {"temperature": 1}}, "unknown_constraint", "parameters.temperature"),
        ({"parameters": 5}, "invalid_type", "parameters"),
        ({"response_format": 5}, "invalid_type", "response_format"),
        ({"response_format": {}}, "missing_parameter", "response_format.type"),
        ({"response_format": {"type": 5}}, "invalid_type", "response_format.type"),
        ({"response_format": {"type": "grammar"}}, "missing_parameter", "response_format.grammar"),
        ({"response_format": {"type": "grammar", "grammar": "x"}}, "invalid_value", "response_format.grammar"),
        ({"response_format": {"type": "ebnf"}}, "missing_parameter", "response_format.ebnf"),
        ({"response_format": {"type": "choice"}}, "unsupported_kind", "response_format.type"),
        (
            {"response_format": {"type": "regex", "regex": "a", "value": "b"}},
            "conflicting_contracts",
            "response_format.regex",
        ),
        (
            {"response_format": {"type": "json_object", "schema": SCHEMA, "value": SCHEMA}},
            "conflicting_contracts",
            "response_format.schema",
        ),
        (
            {
                "response_format": {
                    "type": "json_schema",
                    "schema": SCHEMA,
                    "json_schema": {"name": "a", "schema": SCHEMA},
                }
            },
            "conflicting_contracts",
            "response_format.schema",
        ),
        ({"response_format": {"type": "text", "schema": SCHEMA}}, "conflicting_parameters", "response_format.schema"),
        (
            {"response_format": {"type": "json_object", "grammar": "x"}},
            "conflicting_parameters",
            "response_format.grammar",
        ),
        ({"contract": ""}, "invalid_value", "contract"),
        ({"contract": "x" * 400}, "invalid_value", "contract"),
        ({"contract": {}}, "missing_parameter", "contract.kind"),
        ({"contract": {"kind": "regex", "pattern": "a"}}, "unknown_constraint", "contract.pattern"),
        ({"contract": {"kind": "regex", "definition": "a", "policy": {}}}, "unknown_constraint", "contract.policy"),
        (
            {"contract": {"kind": "json_schema", "schema": {}, "definition": {}}},
            "conflicting_contracts",
            "contract.definition",
        ),
    ],
)
def test_what_is_wrong_is_refused_by_its_path(fields: dict[str, Any], code: str, param: str) -> None:
    assert fault(fields) == (code, param)


@pytest.mark.parametrize(
    ("fields", "code", "param", "pointer"),
    [
        ({"guided_json": "{"}, "invalid_json", "guided_json", ""),
        ({"guided_json": '{"a": 1, "a": 2}'}, "duplicate_name", "guided_json", "/a"),
        ({"json_schema": '{"a": ' + "[" * 200 + "]" * 200 + "}"}, "limit_exceeded", "json_schema", ""),
        ({"json_schema": '{"a": "' + "x" * 70_000 + '"}'}, "limit_exceeded", "json_schema", ""),
        ({"structured_outputs": {"structural_tag": "nope"}}, "invalid_json", "structured_outputs.structural_tag", ""),
    ],
)
def test_a_fault_of_json_text_points_into_that_text(
    fields: dict[str, Any], code: str, param: str, pointer: str
) -> None:
    with pytest.raises(ContractRefusedError) as caught:
        chat(**fields)
    rejection = caught.value.rejections[0]
    assert (str(rejection.code), caught.value.param, rejection.pointer) == (code, param, pointer)
