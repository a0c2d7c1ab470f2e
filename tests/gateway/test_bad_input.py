"""What strangers send: each its status, code and place, in bounded time, whole or streamed."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.gateway.twins import chat, gateway_with, strict, within

CHAT = "/v1/chat/completions"
JSON = {"content-type": "application/json"}


@pytest.mark.parametrize(
    ("content", "status", "code"),
    [
        (b"{", 400, "invalid_json"),
        (b"", 400, "invalid_json"),
        (b"\xff\xfe", 400, "invalid_encoding"),
        (b'{"model": "a", "model": "b"}', 400, "duplicate_name"),
        (b'{"model": NaN}', 400, "non_finite_number"),
        (b'{"model": "\\ud800"}', 400, "lone_surrogate"),
        (b"[" * 100_000, 400, "limit_exceeded"),
        (b'{"messages":' + b"[" * 100_000 + b"]" * 100_000 + b"}", 400, "limit_exceeded"),
        (b"[]", 400, "invalid_type"),
        (b" " * 10_000_000, 413, "body_too_large"),
        (b'{"model":"x","messages":[' + b"0," * 400_000 + b"0]}", 400, "invalid_type"),
    ],
    ids=["truncated", "empty", "encoding", "twice", "nan", "surrogate", "deep", "closed", "list", "large", "wide"],
)
async def test_a_broken_body_is_refused_by_name(tmp_path: Path, content: bytes, status: int, code: str) -> None:
    async with gateway_with(tmp_path) as world:
        with within(5):
            response = await world.client.post(CHAT, content=content, headers=JSON)
    error = response.json()["error"]
    assert (response.status_code, error["code"]) == (status, code)
    assert error["request_id"] == response.headers["x-request-id"]


async def test_a_large_body_without_a_length_is_cut_off_where_the_limit_is(tmp_path: Path) -> None:
    num_sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal num_sent
        while True:
            num_sent += 1
            yield b" " * 65536

    async with gateway_with(tmp_path, max_body_bytes=200_000) as world:
        with within(5):
            response = await world.client.post(CHAT, content=endless(), headers=JSON)
    error = response.json()["error"]
    assert (response.status_code, error["code"], error["limit"]) == (413, "body_too_large", 200_000)
    assert num_sent <= 5


async def test_a_body_that_never_ends_is_408(tmp_path: Path) -> None:
    async def stalls() -> AsyncIterator[bytes]:
        yield b"{"
        await asyncio.Event().wait()

    async with gateway_with(tmp_path, body_seconds=0.05) as world:
        response = await world.client.post(CHAT, content=stalls(), headers=JSON)
    assert (response.status_code, response.json()["error"]["code"]) == (408, "body_timeout")


async def test_a_body_of_another_type_is_415(tmp_path: Path) -> None:
    async with gateway_with(tmp_path) as world:
        response = await world.client.post(CHAT, content=b"a=b", headers={"content-type": "text/plain"})
    assert (response.status_code, response.json()["error"]["code"]) == (415, "unsupported_media_type")


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("schema", "code", "pointer"),
    [
        ({"$ref": "https://example.com/schema.json"}, "remote_reference", "/$ref"),
        ({"type": "string", "x-guidance": {"lenient": True}}, "reserved_keyword", "/x-guidance"),
        ({"type": "string", "maxLenght": 3}, "unknown_keyword", "/maxLenght"),
        ({"type": "strnig"}, "invalid_schema", "/type"),
        ({"$ref": "#/$defs/nothing"}, "unresolved_reference", "/$ref"),
        ({"$ref": "#"}, "unguarded_ref_cycle", "/$ref"),
        ({"type": "string", "pattern": "(?=a)b"}, "unsupported_regex", "/pattern"),
        ({"type": "string", "enum": ["x" * 70_000]}, "limit_exceeded", None),
    ],
)
async def test_a_contract_that_cannot_be_enforced_is_refused_by_place_before_any_stream(
    tmp_path: Path, *, schema: Any, code: str, pointer: str | None, stream: bool
) -> None:
    async with gateway_with(tmp_path) as world:
        with within(5):
            response = await world.client.post(CHAT, json=strict(schema, stream=stream))
    error = response.json()["error"]
    assert (response.status_code, error["code"]) == (400, code), error
    if pointer is not None:
        assert error["pointer"] == pointer
        assert error["param"] == "response_format.json_schema.schema" + pointer.replace("/", ".")


async def test_a_misspelt_keyword_is_refused_with_what_was_meant(tmp_path: Path) -> None:
    async with gateway_with(tmp_path) as world:
        response = await world.client.post(CHAT, json=strict({"type": "string", "maxLenght": 3}))
    assert response.json()["error"]["suggestion"] == "maxLength"


async def test_a_schema_nested_deeper_than_a_contract_may_be_is_refused_as_such(tmp_path: Path) -> None:
    schema: Any = {"type": "string"}
    for _ in range(40):
        schema = {"type": "array", "items": schema}
    async with gateway_with(tmp_path) as world:
        response = await world.client.post(CHAT, json=strict(schema))
    error = response.json()["error"]
    assert (response.status_code, error["code"]) == (400, "limit_exceeded")
    assert error["observed"] > error["limit"]


async def test_a_name_twice_inside_the_schema_is_placed_within_the_schema(tmp_path: Path) -> None:
    body = json.dumps(strict({"properties": {"a": True}})).replace('"a": true', '"a": true, "a": false')
    async with gateway_with(tmp_path) as world:
        response = await world.client.post(CHAT, content=body.encode(), headers=JSON)
    error = response.json()["error"]
    assert (error["code"], error["pointer"]) == ("duplicate_name", "/properties/a")


@pytest.mark.parametrize(
    "fields",
    [
        {"guided_json": {"properties": {"a": True}}},
        {"json_schema": {"properties": {"a": True}}},
        {"structured_outputs": {"json": {"properties": {"a": True}}}},
        {"contract": {"kind": "json_schema", "definition": {"properties": {"a": True}}}},
        {"response_format": {"type": "json_object", "schema": {"properties": {"a": True}}}},
    ],
)
async def test_a_name_twice_is_placed_within_the_schema_in_whatever_words_it_was_sent(
    tmp_path: Path, fields: Any
) -> None:
    body = json.dumps(chat(**fields)).replace('"a": true', '"a": true, "a": false')
    async with gateway_with(tmp_path) as world:
        response = await world.client.post(CHAT, content=body.encode(), headers=JSON)
    error = response.json()["error"]
    assert (error["code"], error["pointer"]) == ("duplicate_name", "/properties/a")


@pytest.mark.parametrize("field", ["gbnf", "lark", "schema", "guided_schema", "grammar_lazy", "output_format"])
async def test_a_constraint_in_no_known_dialect_is_never_ignored(tmp_path: Path, field: str) -> None:
    async with gateway_with(tmp_path) as world:
        response = await world.client.post(CHAT, json=chat(**{field: "x"}))
    error = response.json()["error"]
    assert (response.status_code, error["code"], error["param"]) == (400, "unknown_constraint", field)


async def test_what_no_route_takes_has_a_body_and_an_id(tmp_path: Path) -> None:
    async with gateway_with(tmp_path) as world:
        nowhere = await world.client.get("/v2/nothing")
        wrong = await world.client.get(CHAT)
    assert (nowhere.status_code, nowhere.json()["error"]["code"]) == (404, "unknown_url")
    assert (wrong.status_code, wrong.json()["error"]["code"]) == (405, "method_not_allowed")
    assert nowhere.headers["x-request-id"] == nowhere.json()["error"]["request_id"]


@pytest.mark.parametrize(
    "authorization",
    ["", "Bearer", "Bearer x", "Basic abc", "Bearer sg_nobody_secret", f"Bearer sg_{'0' * 16}_{'x' * 43}"],
)
@pytest.mark.parametrize("path", [CHAT, "/v1/contracts/explain"])
async def test_without_a_good_key_the_body_is_not_even_read(tmp_path: Path, authorization: str, path: str) -> None:
    async with gateway_with(tmp_path) as world:
        response = await world.client.post(path, content=b"{", headers=JSON | {"authorization": authorization})
        models = await world.client.get("/v1/models", headers={"authorization": authorization})
    assert (response.status_code, response.json()["error"]["code"]) == (401, "invalid_api_key")
    assert models.status_code == 401
    assert response.headers["www-authenticate"] == "Bearer"
