"""Every server's way to send a contract becomes the same contract here, with nothing of it left to the validator."""

from typing import Any

import pytest

from gateway.intent import InlineContract
from registry.contract import ContractKind
from tests.gateway.dialects.contracts import GBNF, LARK, LEGACY_TAG, SCHEMA, SCHEMA_TEXT, TAG, TAG_TEXT, chat


def structured(**members: Any) -> dict[str, Any]:
    return {"structured_outputs": members}


def shaped(kind: str, **members: Any) -> dict[str, Any]:
    return {"response_format": {"type": kind} | members}


def typed(kind: str, value: Any) -> dict[str, Any]:
    return {"grammar": {"type": kind, "value": value}}


JSON, REGEX, CHOICE, TAGS = "json_schema", "regex", "choice", "structural_tag"
ANY = {"type": "object"}
NAMED = {"name": "n", "schema": SCHEMA}


@pytest.mark.parametrize(
    ("fields", "kind", "value", "sent_as"),
    [
        (structured(json=SCHEMA), JSON, SCHEMA, "vllm.structured_outputs.json"),
        (structured(json=SCHEMA_TEXT), JSON, SCHEMA, "vllm.structured_outputs.json"),
        (structured(regex="a+"), REGEX, "a+", "vllm.structured_outputs.regex"),
        (structured(choice=["a", "b"]), CHOICE, ["a", "b"], "vllm.structured_outputs.choice"),
        (structured(grammar=GBNF), "gbnf", GBNF, "vllm.structured_outputs.grammar"),
        (structured(grammar=LARK), "lark", LARK, "vllm.structured_outputs.grammar"),
        (structured(json_object=True), JSON, ANY, "vllm.structured_outputs.json_object"),
        (structured(structural_tag=TAG_TEXT), TAGS, TAG, "vllm.structured_outputs.structural_tag"),
        ({"guided_json": SCHEMA}, JSON, SCHEMA, "vllm.guided_json"),
        ({"guided_json": SCHEMA_TEXT}, JSON, SCHEMA, "vllm.guided_json"),
        ({"guided_regex": "a+"}, REGEX, "a+", "vllm.guided_regex"),
        ({"guided_choice": ["a"]}, CHOICE, ["a"], "vllm.guided_choice"),
        ({"guided_grammar": GBNF}, "gbnf", GBNF, "vllm.guided_grammar"),
        ({"json_schema": SCHEMA_TEXT}, JSON, SCHEMA, "sglang.json_schema"),
        ({"json_schema": SCHEMA}, JSON, SCHEMA, "llama_cpp.json_schema"),
        ({"regex": "a+"}, REGEX, "a+", "sglang.regex"),
        ({"ebnf": GBNF}, "gbnf", GBNF, "sglang.ebnf"),
        ({"structural_tag": LEGACY_TAG}, TAGS, LEGACY_TAG, "sglang.structural_tag"),
        ({"structural_tag": TAG_TEXT}, TAGS, TAG, "sglang.structural_tag"),
        ({"grammar": GBNF}, "gbnf", GBNF, "llama_cpp.grammar"),
        (shaped("json_object", schema=SCHEMA), JSON, SCHEMA, "llama_cpp.response_format.schema"),
        (shaped("json_schema", schema=SCHEMA), JSON, SCHEMA, "llama_cpp.response_format.schema"),
        (shaped("json_object", value=SCHEMA), JSON, SCHEMA, "tgi.response_format.value"),
        (shaped("json", value=SCHEMA), JSON, SCHEMA, "tgi.response_format.value"),
        (shaped("json", schema=SCHEMA), JSON, SCHEMA, "tensorrt_llm.response_format.schema"),
        (shaped("regex", regex="a+"), REGEX, "a+", "tensorrt_llm.response_format.regex"),
        (shaped("ebnf", ebnf=GBNF), "gbnf", GBNF, "tensorrt_llm.response_format.ebnf"),
        (shaped("grammar", grammar=LARK), "lark", LARK, "openai.response_format.grammar"),
    ],
)
def test_a_field_of_another_server_is_a_strict_contract(
    fields: dict[str, Any], kind: str, value: Any, sent_as: str
) -> None:
    sent = chat(**fields)
    param = sent_as.partition(".")[2]
    contract = InlineContract(kind=ContractKind(kind), schema=value, strict=True, param=param, dialect=sent_as)
    assert (sent.contract, dict(sent.fields), dict(sent.ignored)) == (contract, {}, {})


def test_null_beside_a_structural_tag_says_nothing() -> None:
    padded = {**LEGACY_TAG, "format": None, "at_least_one": None, "json_schema": None}
    assert chat(response_format=padded).contract == chat(response_format=LEGACY_TAG).contract


@pytest.mark.parametrize(
    ("fields", "kind", "value", "param", "sent_as"),
    [
        (typed("json", SCHEMA), JSON, SCHEMA, "grammar.value", "tgi.grammar.json"),
        (typed("json", SCHEMA_TEXT), JSON, SCHEMA, "grammar.value", "tgi.grammar.json"),
        (typed("json_object", SCHEMA), JSON, SCHEMA, "grammar.value", "tgi.grammar.json_object"),
        (typed("regex", "a+"), REGEX, "a+", "grammar.value", "tgi.grammar.regex"),
        (typed("json_schema", NAMED), JSON, SCHEMA, "grammar.value.schema", "tgi.grammar.json_schema"),
        (
            {"parameters": typed("regex", "a+")},
            REGEX,
            "a+",
            "parameters.grammar.value",
            "tgi.parameters.grammar.regex",
        ),
        (shaped("regex", value="a+"), REGEX, "a+", "response_format.value", "tgi.response_format.regex"),
        (
            shaped("json_schema", value=NAMED),
            JSON,
            SCHEMA,
            "response_format.value.schema",
            "tgi.response_format.json_schema",
        ),
        (shaped("json"), JSON, ANY, "response_format", "tensorrt_llm.response_format.json"),
        ({"response_format": LEGACY_TAG}, TAGS, LEGACY_TAG, "response_format", "vllm.response_format.structural_tag"),
        ({"response_format": TAG}, TAGS, TAG, "response_format", "vllm.response_format.structural_tag"),
    ],
)
def test_a_fault_is_placed_where_the_contract_stands(
    fields: dict[str, Any], kind: str, value: Any, param: str, sent_as: str
) -> None:
    contract = InlineContract(kind=ContractKind(kind), schema=value, strict=True, param=param, dialect=sent_as)
    assert chat(**fields).contract == contract
