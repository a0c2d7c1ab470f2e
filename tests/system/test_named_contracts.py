"""A registered contract, from its registration to an answer of the real model under it."""

import json
from typing import Any

import httpx
import jsonschema
import openai
import pytest

from tests.system.product import Product

pytestmark = pytest.mark.system

MESSAGES: list[openai.types.chat.ChatCompletionMessageParam] = [
    {"role": "user", "content": "Describe a small ticket about a broken login page."}
]
FIRST: dict[str, Any] = {
    "type": "object",
    "properties": {"severity": {"enum": ["low", "medium", "high"]}, "title": {"type": "string", "maxLength": 30}},
    "required": ["severity", "title"],
    "additionalProperties": False,
}
SECOND: dict[str, Any] = {
    "type": "object",
    "properties": {"urgent": {"type": "boolean"}},
    "required": ["urgent"],
    "additionalProperties": False,
}


def done(response: httpx.Response) -> Any:
    assert response.status_code in {200, 201}, response.text
    return response.json()


def test_a_named_contract_is_decoded_under_and_an_alias_that_moves_meanwhile_changes_nothing(product: Product) -> None:
    with (
        httpx.Client(base_url=product.gateway_url, headers=product.headers, timeout=60) as registry,
        openai.OpenAI(base_url=f"{product.gateway_url}/v1", api_key=product.api_key, max_retries=0) as api,
    ):
        model = api.models.list().data[0].id
        first = done(registry.post("/v1/contracts", json={"name": "ticket", "schema": FIRST}))["revision"]
        second = done(registry.post("/v1/contracts", json={"name": "ticket", "schema": SECOND}))["revision"]
        done(registry.put("/v1/contracts/ticket/aliases/prod", json={"revision": 1}))

        whole = api.chat.completions.with_raw_response.create(
            model=model, messages=MESSAGES, max_tokens=120, seed=3, extra_body={"contract": "ticket@prod"}
        )
        stream = api.chat.completions.create(
            model=model, messages=MESSAGES, max_tokens=120, seed=3, stream=True, extra_body={"contract": "ticket"}
        )
        chunks = [next(stream)]
        done(registry.put("/v1/contracts/ticket/aliases/prod", json={"revision": 2}))
        chunks += list(stream)
        after = api.chat.completions.create(
            model=model, messages=MESSAGES, max_tokens=120, seed=3, extra_body={"contract": "ticket@prod"}
        )

    answer = whole.parse()
    assert whole.headers["x-schemagate-revision"] == first["id"]
    assert whole.headers["x-schemagate-contract"] == first["digest"]
    jsonschema.validate(json.loads(answer.choices[0].message.content or ""), FIRST)
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert text == answer.choices[0].message.content
    members = [(chunk.model_extra or {}).get("schemagate") for chunk in chunks]
    (terminal,) = [member for member in members if member]
    assert (terminal["completion"], terminal["contract"]["revision_id"]) == ("complete", first["id"])
    jsonschema.validate(json.loads(after.choices[0].message.content or ""), SECOND)
    assert after.model_extra is not None
    assert after.model_extra["schemagate"]["contract"]["revision_id"] == second["id"]


def test_explaining_a_named_contract_reports_every_keyword_of_the_registered_text(product: Product) -> None:
    with httpx.Client(base_url=product.gateway_url, headers=product.headers, timeout=60) as registry:
        revision = done(registry.post("/v1/contracts", json={"name": "explained", "schema": FIRST, "state": "draft"}))
        answer = done(registry.post("/v1/contracts/explain", json={"contract": "explained@1"}))
    assert answer["digest"] == revision["digest"]
    assert answer["contract"]["state"] == "draft"
    assert "/properties/title/maxLength" in {entry["pointer"] for entry in answer["report"]}
    assert answer["summary"]["checked_after"] == 0


def test_a_contract_that_is_not_there_is_the_clients_own_not_found(product: Product) -> None:
    api = openai.OpenAI(base_url=f"{product.gateway_url}/v1", api_key=product.api_key)
    with api:
        model = api.models.list().data[0].id
        with pytest.raises(openai.NotFoundError) as caught:
            api.chat.completions.create(model=model, messages=MESSAGES, extra_body={"contract": "absent@prod"})
    assert (caught.value.code, caught.value.param) == ("contract_not_found", "contract")
