"""What the running product says of itself holds for its own answers."""

from typing import Any

import httpx
import pytest
from jsonschema import Draft202012Validator

from tests.system.product import Product

pytestmark = pytest.mark.system

CITY = {"type": "object", "properties": {"city": {"enum": ["Rom", "Ulm"]}}, "required": ["city"]}


def api(product: Product) -> httpx.Client:
    return httpx.Client(base_url=product.gateway_url, headers=product.headers, timeout=120)


def described(document: dict[str, Any], path: str, method: str) -> Draft202012Validator:
    operation = document["paths"][path][method]
    schema = operation["responses"]["200"]["content"]["application/json"]["schema"]
    return Draft202012Validator({**schema, "components": document["components"]})


def test_answers_of_the_real_model_are_as_they_are_described(product: Product) -> None:
    with api(product) as client:
        document = client.get("/openapi.json").json()
        model = client.get("/v1/models").json()["data"][0]["id"]
        asked: list[tuple[str, str, str, Any]] = [
            ("get", "/v1/models", "/v1/models", None),
            ("get", "/v1/models/{model}", f"/v1/models/{model}", None),
            ("get", "/v1/capabilities", "/v1/capabilities", None),
            ("post", "/v1/contracts/explain", "/v1/contracts/explain", {"guided_json": CITY}),
            (
                "post",
                "/v1/chat/completions",
                "/v1/chat/completions",
                {
                    "model": model,
                    "messages": [{"role": "user", "content": "Ulm?"}],
                    "guided_json": CITY,
                    "n": 2,
                    "logprobs": True,
                    "top_logprobs": 2,
                    "max_tokens": 60,
                    "user": "u",
                },
            ),
            ("post", "/v1/responses", "/v1/responses", {"model": model, "input": "Ulm?", "guided_json": CITY}),
        ]
        for method, path, url, body in asked:
            response = client.request(method, url, json=body)
            assert response.status_code == httpx.codes.OK, response.text
            described(document, path, method).validate(response.json())


def test_every_kind_that_is_stated_is_compiled_and_every_limit_that_is_stated_holds(product: Product) -> None:
    contracts: dict[str, Any] = {
        "json_schema": CITY,
        "regex": "a+",
        "lark": 'start: "a"',
        "gbnf": 'root ::= "a"',
        "choice": ["a", "b"],
        "structural_tag": {"type": "structural_tag", "format": {"type": "const_string", "value": "x"}},
        "tool_set": [{"type": "function", "function": {"name": "f", "parameters": CITY}}],
    }
    with api(product) as client:
        stated = client.get("/v1/capabilities").json()
        [model] = stated["models"]
        assert set(model["schemagate"]["contract_kinds"]) == set(contracts)
        for kind in model["schemagate"]["contract_kinds"]:
            sent = {"contract": {"kind": kind, "definition": contracts[kind]}}
            explained = client.post("/v1/contracts/explain", json=sent)
            assert explained.status_code == httpx.codes.OK, explained.text
        limits = model["schemagate"]["limits"]
        over = {"n": limits["max_choices"] + 1, "top_logprobs": limits["max_top_logprobs"] + 1}
        for field, value in over.items():
            body = {
                "model": model["id"],
                "messages": [{"role": "user", "content": "x"}],
                "logprobs": True,
                field: value,
            }
            refused = client.post("/v1/chat/completions", json=body)
            assert (refused.status_code, refused.json()["error"]["param"]) == (httpx.codes.BAD_REQUEST, field)
