"""A gateway before another server of OpenAI's API, which here is the real product with the real model; and a strict
floor over its real compiler."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.system.gateways import make_key, running_gateway
from tests.system.product import Product

pytestmark = pytest.mark.system

CHAT = "/v1/chat/completions"
PLACE: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"enum": ["Bern", "Oslo"]}, "n": {"type": "integer", "minimum": 1, "maximum": 9}},
    "required": ["city", "n"],
    "additionalProperties": False,
}
FORMAT = {"type": "json_schema", "json_schema": {"name": "place", "strict": True, "schema": PLACE}}


@pytest.fixture
def front(product: Product, tmp_path: Path) -> Iterator[httpx.Client]:
    """A gateway of its own database before the product, under three names and one that is wrong."""
    (served,) = (
        card["id"] for card in httpx.get(f"{product.gateway_url}/v1/models", headers=product.headers).json()["data"]
    )
    at = {"base_url": f"{product.gateway_url}/v1", "max_attempts": 1, "context_tokens": 2048}
    backends = [
        at | {"name": "claims", "api_key": product.api_key, "models": {"claims": served}, "capability": "json_schema"},
        at | {"name": "plain", "api_key": product.api_key, "models": {"plain": served, "missing": "no-such-model"}},
        at | {"name": "locked", "api_key": "sg_wrong", "models": {"locked": served}},
    ]
    settings = {"OPENAI_BACKENDS": json.dumps(backends), "NODE_URLS": ""}
    url = f"sqlite+aiosqlite:///{tmp_path / 'front.db'}"
    with running_gateway(url, tmp_path, settings) as gateway:
        headers = {"Authorization": f"Bearer {make_key(url)}"}
        with httpx.Client(base_url=gateway.url, headers=headers, timeout=120) as client:
            yield client


def allow(client: httpx.Client, document: dict[str, Any]) -> None:
    answer = client.put("/v1/admin/tenants/acme/serving-policy", json=document)
    assert answer.status_code == 200, answer.text


def ask(client: httpx.Client, model: str, **fields: Any) -> httpx.Response:
    messages = [{"role": "user", "content": "Where do you live? Answer briefly."}]
    return client.post(CHAT, json={"model": model, "messages": messages, "seed": 3, "max_tokens": 40} | fields)


def test_an_answer_passes_through_both_with_its_counts(front: httpx.Client) -> None:
    whole = ask(front, "plain", temperature=0).json()
    assert whole["choices"][0]["message"]["content"]
    assert whole["usage"]["prompt_tokens"] > 5
    assert whole["schemagate"]["node"]["engine_version"] == "plain"
    streamed = ask(front, "plain", temperature=0, stream=True).text
    events = [
        json.loads(line.removeprefix("data: ")) for line in streamed.split("\n\n") if line and "[DONE]" not in line
    ]
    texts = [event["choices"][0]["delta"].get("content") or "" for event in events if event["choices"]]
    assert "".join(texts) == whole["choices"][0]["message"]["content"]


def test_a_contract_is_refused_until_it_is_allowed_and_then_labelled(front: httpx.Client) -> None:
    refused = ask(front, "claims", response_format=FORMAT)
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "capability_unavailable")
    allow(front, {"downgrade": "validate"})
    answer = ask(front, "claims", response_format=FORMAT)
    body = answer.json()
    assert (answer.status_code, answer.headers["x-schemagate-downgrade"]) == (200, "validated_after")
    place = json.loads(body["choices"][0]["message"]["content"])
    assert place["city"] in PLACE["properties"]["city"]["enum"]
    assert (body["schemagate"]["completion"], body["schemagate"]["artifact_key"]) == ("complete", None)
    cut = ask(front, "claims", response_format=FORMAT, max_tokens=2).json()
    assert (cut["choices"][0]["finish_reason"], cut["schemagate"]["completion"]) == ("length", "truncated")


def test_a_model_that_knows_of_no_contract_is_asked_again_and_then_invalid(front: httpx.Client) -> None:
    allow(front, {"downgrade": "repair", "max_repairs": 2})
    answer = ask(front, "plain", response_format=FORMAT, stop=["."], max_tokens=400)
    member = answer.json()["schemagate"]
    assert member["completion"] in {"invalid", "truncated", "stopped"}
    assert member["downgrade"] == ("repaired" if member["repairs"] else "validated_after")


@pytest.mark.parametrize("model", ["locked", "missing"])
def test_what_is_the_operators_to_mend_is_told_without_a_word_of_it(front: httpx.Client, model: str) -> None:
    answer = ask(front, model)
    assert (answer.status_code, answer.json()["error"]["code"]) == (502, "backend_failed")
    assert answer.headers["x-should-retry"] == "false"
    for word in ("sg_wrong", "no-such-model", "127.0.0.1"):
        assert word not in answer.text


def test_a_prompt_that_is_too_long_is_the_callers_to_mend(front: httpx.Client) -> None:
    answer = ask(front, "plain", messages=[{"role": "user", "content": "and so on " * 4_000}])
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "context_length_exceeded")


def test_a_strict_floor_refuses_what_an_author_left_to_the_validator(product: Product) -> None:
    name, policy = "floors.names", "/v1/admin/tenants/local/serving-policy/floors.*"
    schema = {"type": "array", "items": {"type": "string"}, "uniqueItems": True, "maxItems": 2}
    with httpx.Client(base_url=product.gateway_url, headers=product.headers, timeout=120) as client:
        sent = {"name": name, "schema": schema, "policy": {"allow_checked_after": True}}
        assert client.post("/v1/contracts", json=sent).status_code in {200, 201}
        (model,) = (card["id"] for card in client.get("/v1/models").json()["data"])
        assert ask(client, model, contract=f"{name}@1").status_code in {200, 422}
        assert client.put(policy, json={"floor": "strict"}).status_code == 200
        error = ask(client, model, contract=f"{name}@1").json()["error"]
        assert (error["code"], error["pointer"]) == ("unsupported_keyword", "/uniqueItems")
        assert error["param"].startswith("contract")
        assert client.delete(policy).status_code == 200
        assert ask(client, model, contract=f"{name}@1").status_code in {200, 422}
