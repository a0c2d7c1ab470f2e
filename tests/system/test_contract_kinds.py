"""Contracts of every kind but JSON Schema, from registration to an answer of the real model under them."""

import json
import re
from typing import Any

import httpx
import pytest

from tests.system.product import Product

pytestmark = pytest.mark.system

CITY = {
    "type": "object",
    "properties": {"city": {"enum": ["Rom", "Ulm", "Bonn"]}},
    "required": ["city"],
    "additionalProperties": False,
}
CALL = {"type": "function", "function": {"name": "weather", "description": "the weather", "parameters": CITY}}
TAG = {
    "type": "structural_tag",
    "format": {
        "type": "sequence",
        "elements": [
            {"type": "tag", "begin": "<think>", "content": {"type": "any_text", "max_chars": 40}, "end": "</think>"},
            {"type": "json_schema", "json_schema": CITY},
        ],
    },
}
KINDS: dict[str, tuple[Any, str]] = {
    "regex": (r"[A-Z][a-z]{2,8}, \d{4}", r"[A-Z][a-z]{2,8}, [0-9]{4}"),
    "choice": (["severe", "moderate", "mild"], r"severe|moderate|mild"),
    "lark": ('start: "answer: " (YES | NO)\nYES: "yes"\nNO: "no" | "never"\n', r"answer: (?:yes|no|never)"),
    "gbnf": ('root ::= "(" root ")" | word\nword ::= [a-z]{1,6}\n', r"(?P<open>\(*)[a-z]{1,6}\)*"),
    "structural_tag": (TAG, r'<think>[^\0]{0,40}</think>\{"city":"(?:Rom|Ulm|Bonn)"\}'),
    "tool_set": ([CALL], r'\[?\{"name":"weather","arguments":\{"city":"(?:Rom|Ulm|Bonn)"\}\}.*'),
}


@pytest.mark.parametrize("kind", [*KINDS])
def test_the_model_answers_under_a_named_contract_of_the_kind(product: Product, kind: str) -> None:
    definition, expected = KINDS[kind]
    name = f"kind-{kind.replace('_', '-')}"
    with httpx.Client(base_url=product.gateway_url, headers=product.headers, timeout=120) as api:
        registered = api.post("/v1/contracts", json={"name": name, "kind": kind, "definition": definition})
        assert registered.status_code == httpx.codes.CREATED, registered.text
        moved = api.put(f"/v1/contracts/{name}/aliases/prod", json={"revision": 1})
        assert moved.is_success, moved.text
        explained = api.post("/v1/contracts/explain", json={"contract": f"{name}@prod"})
        assert explained.status_code == httpx.codes.OK, explained.text
        assert explained.json()["summary"]["checked_after"] == 0
        model = api.get("/v1/models").json()["data"][0]["id"]
        answer = api.post(
            "/v1/chat/completions",
            json={
                "model": model,
                "messages": [{"role": "user", "content": "Say what the weather in Ulm is like."}],
                "contract": f"{name}@prod",
                "max_tokens": 200,
                "seed": 5,
            },
        )
    assert answer.status_code == httpx.codes.OK, answer.text
    body = answer.json()
    text = body["choices"][0]["message"]["content"]
    member = body["schemagate"]
    assert (member["completion"], member["validation"]["verdict"]) == ("complete", "valid"), text
    assert (member["contract"]["kind"], member["contract"]["digest"]) == (kind, registered.json()["revision"]["digest"])
    assert member["contract"]["enforcement"]["enforced"] > 0
    assert re.fullmatch(expected, text, re.DOTALL), text
    if kind == "tool_set":
        calls = json.loads(text)
        assert {call["name"] for call in (calls if isinstance(calls, list) else [calls])} == {"weather"}
