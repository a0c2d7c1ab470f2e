"""The whole product over a Redis: stopped and started again, it compiles nothing that it had compiled before."""

from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.redis_server import RedisServer
from tests.system.product import Product, running_product

pytestmark = pytest.mark.system

SCHEMAS: tuple[Any, ...] = ({"enum": ["yes", "no"]}, {"type": "object", "properties": {"a": {"type": "boolean"}}})


def _caches(product: Product) -> list[str]:
    """Ask under each schema; where its artifact came from."""
    model = httpx.get(f"{product.gateway_url}/v1/models", headers=product.headers, timeout=10).json()["data"][0]["id"]
    caches = []
    for schema in SCHEMAS:
        sent = {"name": "x", "strict": True, "schema": schema}
        answer = httpx.post(
            f"{product.gateway_url}/v1/chat/completions",
            headers=product.headers,
            json={
                "model": model,
                "messages": [{"role": "user", "content": "hi"}],
                "response_format": {"type": "json_schema", "json_schema": sent},
                "max_tokens": 16,
            },
            timeout=120,
        )
        assert answer.status_code == httpx.codes.OK, answer.text
        caches.append(answer.json()["schemagate"]["cache"])
    return caches


def _num_compiles(product: Product) -> float:
    text = httpx.get(f"{product.pool_url}/metrics", timeout=10).text
    lines = (line.split(" ") for line in text.splitlines())
    return next(float(parts[1]) for parts in lines if parts[0] == "schemagate_compile_queue_seconds_count")


def test_a_restart_over_a_warm_redis_compiles_nothing(
    tmp_path: Path, redis: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCHEMAGATE_REDIS_URL", redis.url)
    monkeypatch.setenv("SCHEMAGATE_POOL_REDIS_TIMEOUT_SECONDS", "5")
    with running_product(tmp_path) as first:
        assert _caches(first) == ["compiled"] * 2
        assert _num_compiles(first) == 2
    with running_product(tmp_path) as second:
        assert _caches(second) == ["pool"] * 2
        assert _num_compiles(second) == 0
