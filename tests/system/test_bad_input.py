"""Hostile and broken requests against the running product: each has its status, code and pointer."""

import json
from typing import Any

import httpx
import psutil
import pytest

from tests.system.product import Product

pytestmark = pytest.mark.system

MESSAGES = [{"role": "user", "content": "hi"}]


def send(product: Product, content: bytes) -> httpx.Response:
    return httpx.post(
        f"{product.gateway_url}/v1/chat/completions",
        headers={**product.headers, "Content-Type": "application/json"},
        content=content,
        timeout=60,
    )


def with_schema(product: Product, schema: Any, **fields: Any) -> httpx.Response:
    model = httpx.get(f"{product.gateway_url}/v1/models", headers=product.headers, timeout=10).json()["data"][0]["id"]
    body = {
        "model": model,
        "messages": MESSAGES,
        "max_tokens": 16,
        "response_format": {"type": "json_schema", "json_schema": {"name": "x", "strict": True, "schema": schema}},
    }
    return send(product, json.dumps(body | fields).encode())


def fault(response: httpx.Response) -> tuple[int, str, str | None]:
    error = response.json()["error"]
    assert error["message"]
    assert error["request_id"] == response.headers["x-request-id"]
    return response.status_code, error["code"], error.get("pointer")


@pytest.mark.parametrize(
    ("schema", "code", "pointer"),
    [
        ({"$ref": "https://example.com/schema.json"}, "remote_reference", "/$ref"),
        ({"type": "string", "x-guidance": {"lenient": True}}, "reserved_keyword", "/x-guidance"),
        ({"type": "string", "maxLenght": 3}, "unknown_keyword", "/maxLenght"),
        (
            {"type": "object", "properties": {"a": {"type": "array", "uniqueItems": True}}},
            "unsupported_keyword",
            "/properties/a/uniqueItems",
        ),
        ({"type": "strnig"}, "invalid_schema", "/type"),
        ({"$ref": "#/$defs/nothing"}, "unresolved_reference", "/$ref"),
        ({"$ref": "#"}, "unguarded_ref_cycle", "/$ref"),
        ({"type": "string", "pattern": "(?=a)b"}, "unsupported_regex", "/pattern"),
    ],
)
def test_a_contract_that_cannot_be_enforced_is_refused_by_name(
    product: Product, schema: Any, code: str, pointer: str
) -> None:
    assert fault(with_schema(product, schema)) == (400, code, pointer)


@pytest.mark.parametrize(
    ("field", "code"),
    [
        ("guided_json", "invalid_json"),
        ("structured_outputs", "invalid_type"),
        *((field, "conflicting_contracts") for field in ("guided_regex", "grammar", "regex", "ebnf")),
        *((field, "unknown_constraint") for field in ("guided_jsn", "output_schema", "constraints")),
    ],
)
def test_a_constraint_in_another_dialect_is_never_ignored(product: Product, field: str, code: str) -> None:
    assert fault(with_schema(product, {"type": "string"}, **{field: "x"}))[:2] == (400, code)


@pytest.mark.parametrize(
    ("content", "status", "code"),
    [
        (b"{", 400, "invalid_json"),
        (b"\xff\xfe", 400, "invalid_encoding"),
        (b'{"model": "a", "model": "b"}', 400, "duplicate_name"),
        (b"[" * 100_000, 400, "limit_exceeded"),
        (b'{"model": NaN}', 400, "non_finite_number"),
        (b"[]", 400, "invalid_type"),
        (b" " * 10_000_000, 413, "body_too_large"),
    ],
    ids=["truncated", "encoding", "duplicate", "deep", "nan", "list", "large"],
)
def test_a_broken_body_is_refused_by_name(product: Product, content: bytes, status: int, code: str) -> None:
    response = send(product, content)
    assert (response.status_code, response.json()["error"]["code"]) == (status, code)


@pytest.mark.parametrize(
    "pattern",
    ["^((a{1,30}){1,30}){1,30}$", "^(" + "|".join(f"x{n}y{n * 7}" for n in range(40)) + "){1,200}$", "(x+x+)+y"],
    ids=["nested repeats", "large alternation", "ambiguous"],
)
def test_a_contract_that_would_eat_the_compiler_costs_one_refusal(product: Product, pattern: str) -> None:
    """RE-shaped bombs end as a verdict; what is refused is refused with a 4xx or 503, and others are served."""
    response = with_schema(product, {"type": "string", "pattern": pattern, "maxLength": 5000})
    assert response.status_code in {200, 400, 422, 503}, response.text
    beside = with_schema(product, {"enum": ["fine"]})
    assert beside.status_code == 200
    assert beside.json()["schemagate"]["completion"] == "complete"


def test_the_gateway_does_not_grow_under_refused_bodies(product: Product) -> None:
    gateway: psutil.Process = product.service("gateway")
    deep = b'{"model":"x","messages":' + b"[" * 100_000
    large = b'{"messages":"' + b"x" * 900_000 + b'"}'
    for _ in range(10):
        send(product, deep)
        send(product, large)
    before = gateway.memory_info().rss
    for _ in range(60):
        send(product, deep)
        send(product, large)
    # 60 bodies of 0.9 MB are 54 MB: keeping even a third of them would show.
    assert gateway.memory_info().rss - before < 18_000_000
