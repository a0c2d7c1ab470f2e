"""Operators' rules and keyed generations over the real product and its real model."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import openai
import pytest

from tests.system.product import Product

pytestmark = pytest.mark.system

RULES = "/v1/admin/tenants/local/rules"
INVOICE: dict[str, Any] = {
    "type": "object",
    "properties": {"total": {"type": "integer", "minimum": 0, "maximum": 99}, "paid": {"type": "boolean"}},
    "required": ["total", "paid"],
    "additionalProperties": False,
}
MESSAGES: Any = [{"role": "user", "content": "An invoice of 42, paid."}]


@contextmanager
def raw(product: Product) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=product.gateway_url, headers=product.headers, timeout=120) as client:
        yield client


@contextmanager
def rules_of_family(http: httpx.Client, name: str, document: Any) -> Iterator[None]:
    """Rules for one contract of this test, so that other tests of the product know nothing of them."""
    answered = http.put(f"{RULES}/{name}", json=document)
    assert answered.status_code == 200, answered.text
    try:
        yield
    finally:
        assert http.delete(f"{RULES}/{name}").status_code == 200


def ask(http: httpx.Client, contract: str, **fields: Any) -> httpx.Response:
    model = http.get("/v1/models").json()["data"][0]["id"]
    body = {"model": model, "messages": MESSAGES, "contract": contract, "seed": 3, "max_tokens": 60}
    return http.post("/v1/chat/completions", json=body | fields)


@pytest.mark.parametrize("stream", [False, True])
def test_rules_decide_over_what_the_model_made(product: Product, stream: bool) -> None:  # noqa: FBT001
    name = f"ruled-{stream}".lower()
    with raw(product) as http:
        assert http.post("/v1/contracts", json={"name": name, "schema": INVOICE}).status_code in {200, 201}
        true = {"name": "in-range", "cel": "object.total >= 0 && object.total <= 99", "message": "out of range"}
        false = {"name": "negative", "cel": "object.total < 0", "message": "not negative"}
        mine = {"name": "mine", "cel": f"caller.tenant == 'local' && contract.name == '{name}'", "message": "not yours"}
        with rules_of_family(http, name, {"semantic": [true], "authorisation": [mine]}):
            passed = ask(http, f"{name}@1", stream=stream)
        with rules_of_family(http, name, {"semantic": [true, false]}):
            failed = ask(http, f"{name}@1", stream=stream)
        with rules_of_family(http, name, {"authorisation": [false]}):
            forbidden = ask(http, f"{name}@1", stream=stream)
    assert passed.status_code == 200, passed.text
    assert '"completion":"complete"' in passed.text.replace(" ", "")
    assert '"name":"mine"' in passed.text.replace(" ", "")
    assert '"code":"output_failed_validation"' in failed.text.replace(" ", "")
    assert '"rule":"negative"' in failed.text.replace(" ", "")
    assert '"code":"output_not_authorised"' in forbidden.text.replace(" ", "")
    assert "paid" not in forbidden.text


def test_a_keyed_answer_is_made_once(product: Product) -> None:
    with openai.OpenAI(base_url=f"{product.gateway_url}/v1", api_key=product.api_key, max_retries=0) as api:
        model = api.models.list().data[0].id
        create = api.chat.completions.create
        keyed = {"Idempotency-Key": "a-system-test"}
        # No seed: made twice, the two would differ.
        first, again = (
            create(model=model, messages=MESSAGES, max_tokens=30, temperature=1.5, extra_headers=keyed)
            for _ in range(2)
        )
        other = create(model=model, messages=MESSAGES, max_tokens=30, temperature=1.5)
    assert again == first
    assert other.id != first.id
