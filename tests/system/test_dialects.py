"""Contracts in every server's words, sent with the stock OpenAI client, and kept by the real model."""

import json
import re
from typing import Any

import openai
import pytest

from tests.system.product import Product

pytestmark = pytest.mark.system

CITY = {
    "type": "object",
    "properties": {"city": {"enum": ["Rom", "Ulm", "Bonn"]}},
    "required": ["city"],
    "additionalProperties": False,
}
IS_CITY = r'\{"city":"(?:Rom|Ulm|Bonn)"\}'
GBNF = 'root ::= item ("," item)? "."\nitem ::= [a-z]{1,6} | "x:" [0-9]{1,3}\n'
IS_GBNF = r"(?:[a-z]{1,6}|x:[0-9]{1,3})(?:,(?:[a-z]{1,6}|x:[0-9]{1,3}))?\."
LARK = 'start: "answer: " (YES | NO)\nYES: "yes"\nNO: "no" | "never"\n'
IS_LARK = r"answer: (?:yes|no|never)"
TAG = {
    "type": "structural_tag",
    "format": {"type": "tag", "begin": "<c>", "content": {"type": "json_schema", "json_schema": CITY}, "end": "</c>"},
}
WORDS: dict[str, tuple[dict[str, Any], str, str]] = {
    "openai.response_format.json_object": ({"response_format": {"type": "json_object"}}, "json_schema", r"(?s)\{.*"),
    "own.regex": ({"contract": {"kind": "regex", "definition": "[a-c]{3}"}}, "regex", "[a-c]{3}"),
    "vllm.structured_outputs.json": ({"structured_outputs": {"json": CITY}}, "json_schema", IS_CITY),
    "vllm.structured_outputs.regex": ({"structured_outputs": {"regex": "[a-c]{3}"}}, "regex", "[a-c]{3}"),
    "vllm.structured_outputs.choice": ({"structured_outputs": {"choice": ["yes", "no"]}}, "choice", "yes|no"),
    "vllm.structured_outputs.grammar": ({"structured_outputs": {"grammar": LARK}}, "lark", IS_LARK),
    "vllm.structured_outputs.structural_tag": (
        {"structured_outputs": {"structural_tag": json.dumps(TAG)}},
        "structural_tag",
        f"<c>{IS_CITY}</c>",
    ),
    "vllm.guided_json": ({"guided_json": json.dumps(CITY)}, "json_schema", IS_CITY),
    "vllm.guided_choice": ({"guided_choice": ["yes", "no"]}, "choice", "yes|no"),
    "vllm.guided_grammar": ({"guided_grammar": GBNF}, "gbnf", IS_GBNF),
    "vllm.response_format.structural_tag": ({"response_format": TAG}, "structural_tag", f"<c>{IS_CITY}</c>"),
    "sglang.json_schema": ({"json_schema": json.dumps(CITY)}, "json_schema", IS_CITY),
    "sglang.regex": ({"regex": "[a-c]{3}"}, "regex", "[a-c]{3}"),
    "sglang.ebnf": ({"ebnf": f"%llguidance {{}}\n{LARK}"}, "lark", IS_LARK),
    "llama_cpp.grammar": ({"grammar": GBNF}, "gbnf", IS_GBNF),
    "llama_cpp.json_schema": ({"json_schema": CITY}, "json_schema", IS_CITY),
    "llama_cpp.response_format.schema": (
        {"response_format": {"type": "json_object", "schema": CITY}},
        "json_schema",
        IS_CITY,
    ),
    "tgi.grammar.json": ({"grammar": {"type": "json", "value": CITY}}, "json_schema", IS_CITY),
    "tgi.parameters.grammar.regex": (
        {"parameters": {"grammar": {"type": "regex", "value": "[a-c]{3}"}}},
        "regex",
        "[a-c]{3}",
    ),
}


@pytest.mark.parametrize("words", [*WORDS])
def test_the_model_keeps_a_contract_in_these_words(product: Product, words: str) -> None:
    fields, kind, expected = WORDS[words]
    with openai.OpenAI(base_url=f"{product.gateway_url}/v1", api_key=product.api_key, max_retries=0) as client:
        answer = client.chat.completions.create(
            model=client.models.list().data[0].id,
            messages=[{"role": "user", "content": "Answer in one word: is Ulm a city?"}],
            max_tokens=120,
            seed=3,
            extra_body=fields,
        )
    assert answer.model_extra is not None
    told, choice = answer.model_extra["schemagate"], answer.choices[0]
    sent_as = None if words.startswith(("own.", "openai.response_format.json_object")) else words
    assert (told["contract"]["kind"], told["contract"]["sent_as"]) == (kind, sent_as)
    assert told["contract"]["enforcement"]["checked_after"] == 0
    # Free JSON need not end within its tokens; everything else here does.
    if words != "openai.response_format.json_object":
        assert told["completion"] == "complete"
    assert re.fullmatch(expected, choice.message.content or "")


def test_the_responses_api_keeps_a_contract_in_other_words(product: Product) -> None:
    with openai.OpenAI(base_url=f"{product.gateway_url}/v1", api_key=product.api_key, max_retries=0) as client:
        model = client.models.list().data[0].id
        answer = client.responses.create(model=model, input="hi", extra_body={"guided_regex": "[a-c]{3}"})
    assert answer.status == "completed"
    assert re.fullmatch("[a-c]{3}", answer.output_text)


def test_two_contracts_at_once_are_refused_and_both_are_named(product: Product) -> None:
    with openai.OpenAI(base_url=f"{product.gateway_url}/v1", api_key=product.api_key, max_retries=0) as client:
        model = client.models.list().data[0].id
        with pytest.raises(openai.BadRequestError, match="guided_json") as caught:
            client.chat.completions.create(
                model=model,
                messages=[{"role": "user", "content": "hi"}],
                response_format={"type": "json_object"},
                extra_body={"guided_json": CITY},
            )
    assert caught.value.code == "conflicting_contracts"


def test_lark_in_a_gbnf_field_is_refused_with_line_and_column(product: Product) -> None:
    with openai.OpenAI(base_url=f"{product.gateway_url}/v1", api_key=product.api_key, max_retries=0) as client:
        model = client.models.list().data[0].id
        with pytest.raises(openai.BadRequestError, match="line 1, column 6"):
            client.chat.completions.create(
                model=model, messages=[{"role": "user", "content": "hi"}], extra_body={"grammar": LARK}
            )
