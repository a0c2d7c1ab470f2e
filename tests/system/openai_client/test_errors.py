"""What the running product refuses, as the stock client that asks again by default meets it: its own exception, the
code and the place, and how many requests the gateway has answered so."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import openai
import pytest

from tests.system.product import Product

pytestmark = pytest.mark.system

MESSAGES: Any = [{"role": "user", "content": "Say hello."}]
KEYS = "/v1/admin/tenants/local/keys"
BUDGETS = "/v1/admin/tenants/local/budgets/key"


@contextmanager
def client(product: Product, api_key: str | None = None) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{product.gateway_url}/v1", api_key=api_key or product.api_key) as api:
        yield api


def num_answered(product: Product, status: int) -> int:
    """How many generations the gateway has answered with `status`."""
    text = httpx.get(f"{product.gateway_url}/metrics").text
    lines = re.findall(r"^schemagate_gateway_requests_total\{(.*)\} ([0-9.]+)$", text, re.MULTILINE)
    wanted = [count for labels, count in lines if f'status="{status}"' in labels and 'route="chat' in labels]
    return sum(int(float(count)) for count in wanted)


def made_key(product: Product, **members: Any) -> tuple[str, str]:
    with httpx.Client(base_url=product.gateway_url, headers=product.headers, timeout=60) as raw:
        answer = raw.post(KEYS, json=members)
        assert answer.status_code == 201, answer.text
        return answer.json()["id"], answer.json()["key"]


def limited(product: Product, **window: Any) -> str:
    """A key with a budget of its own."""
    key_id, key = made_key(product)
    with httpx.Client(base_url=product.gateway_url, headers=product.headers, timeout=60) as raw:
        answer = raw.put(f"{BUDGETS}/{key_id}", json={"windows": [window]})
        assert answer.status_code == 200, answer.text
    return key


def schema_format(schema: Any, **members: Any) -> Any:
    return {"type": "json_schema", "json_schema": {"name": "x", "strict": True, "schema": schema, **members}}


def test_each_fault_of_a_request_has_its_code_and_its_place(product: Product) -> None:
    with client(product) as api:
        fields: dict[str, Any] = {"model": api.models.list().data[0].id, "messages": MESSAGES, "max_tokens": 2}
        faults: list[tuple[dict[str, Any], str, str | None]] = [
            ({"temperature": 9}, "invalid_value", "temperature"),
            ({"n": 99}, "invalid_value", "n"),
            ({"messages": []}, "invalid_value", "messages"),
            ({"response_format": schema_format({"type": "strin"})}, "invalid_schema", "{schema}.type"),
            ({"response_format": schema_format({"maxLenght": 1})}, "unknown_keyword", "{schema}.maxLenght"),
            ({"response_format": schema_format({"x-guidance": {}})}, "reserved_keyword", "{schema}.x-guidance"),
            ({"extra_body": {"guided_jsn": {}}}, "unknown_constraint", "guided_jsn"),
            ({"extra_body": {"guided_regex": "a", "guided_choice": ["a"]}}, "conflicting_contracts", None),
            ({"tools": [{"type": "function", "function": {"name": "a b"}}]}, "invalid_value", "tools[0].function.name"),
        ]
        before = num_answered(product, 400)
        for sent, code, param in faults:
            with pytest.raises(openai.BadRequestError) as caught:
                api.chat.completions.create(**{**fields, **sent})
            assert (caught.value.code, caught.value.type) == (code, "invalid_request_error"), sent
            if param is not None:
                assert caught.value.param == param.replace("{schema}", "response_format.json_schema.schema")
            assert caught.value.request_id
        assert num_answered(product, 400) == before + len(faults)


def test_who_may_not_and_what_is_not_there_is_told_once(product: Product) -> None:
    _, reader = made_key(product, scopes=["contracts:read"])
    with client(product) as api, client(product, reader) as other, client(product, "sg_nobody_secret") as nobody:
        model = api.models.list().data[0].id
        fields: dict[str, Any] = {"model": model, "messages": MESSAGES, "max_tokens": 2}
        before = {status: num_answered(product, status) for status in (401, 403, 404)}
        with pytest.raises(openai.AuthenticationError) as unknown:
            nobody.chat.completions.create(**fields)
        with pytest.raises(openai.PermissionDeniedError) as forbidden:
            other.chat.completions.create(**fields)
        with pytest.raises(openai.NotFoundError) as missing:
            api.chat.completions.create(**fields, extra_body={"contract": "nobody.has@1"})
        after = {status: num_answered(product, status) for status in before}
    assert unknown.value.code == "invalid_api_key"
    assert forbidden.value.code == "insufficient_scope"
    assert (missing.value.code, missing.value.param) == ("contract_not_found", "contract")
    assert after == {status: count + 1 for status, count in before.items()}


def test_a_quota_that_is_used_up_is_told_once_and_a_key_of_ones_own_has_its_own(product: Product) -> None:
    with client(product, limited(product, seconds=86_400, max_tokens=1)) as api:
        model = api.models.list().data[0].id
        before = num_answered(product, 429)
        for ask in (
            lambda: api.chat.completions.create(model=model, messages=MESSAGES, max_tokens=2),
            lambda: api.chat.completions.create(model=model, messages=MESSAGES, max_tokens=2, stream=True),
        ):
            with pytest.raises(openai.RateLimitError) as caught:
                ask()
            assert (caught.value.code, caught.value.type) == ("insufficient_quota", "insufficient_quota")
            assert caught.value.response.headers["x-should-retry"] == "false"
        assert num_answered(product, 429) == before + 2
    with client(product) as api:
        assert api.chat.completions.create(model=model, messages=MESSAGES, max_tokens=2).usage is not None


def test_a_rate_that_is_used_up_says_when_to_come_back(product: Product) -> None:
    with client(product) as api:
        model = api.models.list().data[0].id
    with client(product, limited(product, seconds=60, max_requests=1)) as api:
        quick = api.with_options(max_retries=0)
        fields: dict[str, Any] = {"model": model, "messages": MESSAGES, "max_tokens": 2}
        assert quick.chat.completions.create(**fields).usage is not None
        with pytest.raises(openai.RateLimitError) as caught:
            quick.chat.completions.create(**fields)
    assert (caught.value.code, caught.value.type) == ("rate_limit_exceeded", "rate_limit_error")
    assert 0 < int(caught.value.response.headers["retry-after"]) <= 60
    assert caught.value.response.headers["x-should-retry"] == "true"


def test_another_request_under_an_idempotency_key_is_refused_once(product: Product) -> None:
    keyed = {"Idempotency-Key": "conformance-of-the-stock-client"}
    with client(product) as api:
        fields: dict[str, Any] = {"model": api.models.list().data[0].id, "messages": MESSAGES, "extra_headers": keyed}
        first = api.chat.completions.create(**fields, max_tokens=3)
        again = api.chat.completions.create(**fields, max_tokens=3)
        before = num_answered(product, 409)
        with pytest.raises(openai.ConflictError) as caught:
            api.chat.completions.create(**fields, max_tokens=4)
        assert num_answered(product, 409) == before + 1
    assert again == first
    assert caught.value.code == "idempotency_conflict"
