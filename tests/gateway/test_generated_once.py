"""`Idempotency-Key` on generation: one generation for a key, one answer for all who ask the same."""

import asyncio
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from gateway import kept_answers
from inference_node.protocol import NodeFault
from tests.gateway.keyed import CHAT, RESPONSES, ask, code_of
from tests.gateway.twins import Broken, NodeTwin, World, chat, gateway_with, says, strict, until

OBJECT = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False}


def responses_body(**fields: Any) -> dict[str, Any]:
    """A body for `POST /v1/responses`."""
    sent = chat()
    return {"model": sent["model"], "input": "hi"} | fields


async def metric(world: World, name: str) -> str:
    text = (await world.client.get("/metrics")).text
    return next(line.rpartition(" ")[2] for line in text.splitlines() if line.startswith(name))


@pytest.mark.parametrize(
    ("path", "body"),
    [(CHAT, strict(OBJECT)), (CHAT, chat()), (RESPONSES, responses_body())],
    ids=["a contract", "free words", "the other API"],
)
async def test_the_first_answer_is_given_again_and_costs_no_token(tmp_path: Path, path: str, body: Any) -> None:
    has_contract = "response_format" in body
    script = says('{"a":', "1}") if has_contract else says("hel", "lo", end="end_of_sequence", accepting=None)
    node = NodeTwin(script=lambda _: script)
    async with gateway_with(tmp_path, node=node) as world:
        first = await ask(world, body, path=path)
        again = await ask(world, body, path=path)
        tokens = await metric(world, 'schemagate_gateway_tokens_total{kind="completion"}')
        replayed = await metric(world, 'schemagate_gateway_idempotent_replays_total{result="replayed"}')
    assert first.status_code == 200, first.text
    assert (again.status_code, again.content) == (200, first.content)
    assert again.headers["idempotent-replayed"] == "true"
    assert "idempotent-replayed" not in first.headers
    assert again.headers["content-type"] == first.headers["content-type"]
    assert again.headers["x-schemagate-completion"] == "complete"
    assert again.headers["x-request-id"] != first.headers["x-request-id"]
    left = [int(each.headers["x-ratelimit-remaining-requests"]) for each in (first, again)]
    assert left[1] == left[0] - 1  # it counts as one request
    if has_contract:
        assert again.headers["x-schemagate-contract"] == first.headers["x-schemagate-contract"]
    assert len(node.requests) == 1
    assert (tokens, replayed) == ("2.0", "1.0")


@pytest.mark.parametrize(("path", "body"), [(CHAT, chat(stream=True)), (RESPONSES, responses_body(stream=True))])
async def test_a_stream_is_given_again_as_the_same_stream(tmp_path: Path, path: str, body: Any) -> None:
    node = NodeTwin(script=lambda _: says("hel", "lo", end="end_of_sequence", accepting=None))
    async with gateway_with(tmp_path, node=node) as world:
        first = await ask(world, body, path=path)
        again = await ask(world, body, path=path)
    assert first.status_code == 200
    assert first.headers["content-type"].startswith("text/event-stream")
    assert again.headers["content-type"] == first.headers["content-type"]
    assert again.content == first.content
    assert b"hel" in again.content
    assert again.headers["idempotent-replayed"] == "true"
    assert len(node.requests) == 1


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (CHAT, chat(temperature=0.5)),
        (CHAT, chat(stream=True)),
        (CHAT, {"seed": 1, **chat()} | {"user": "ada"}),
        (RESPONSES, chat()),
    ],
    ids=["another field", "streamed", "a user", "another path"],
)
async def test_another_request_under_the_same_key_is_refused_and_not_sent_again(
    tmp_path: Path, path: str, body: Any
) -> None:
    node = NodeTwin(script=lambda _: says("a", end="end_of_sequence", accepting=None))
    async with gateway_with(tmp_path, node=node) as world:
        await ask(world, chat())
        other = await ask(world, body, path=path)
    assert code_of(other) == (409, "idempotency_conflict")
    assert other.headers["x-should-retry"] == "false"
    assert len(node.requests) == 1


async def test_the_same_meaning_in_other_bytes_is_another_request(tmp_path: Path) -> None:
    node = NodeTwin(script=lambda _: says("a", end="end_of_sequence", accepting=None))
    async with gateway_with(tmp_path, node=node) as world:
        await ask(world, chat())
        raw = httpx.Request("POST", "http://gateway", json=chat()).content
        headers = {"Idempotency-Key": "one", "content-type": "application/json"}
        other = await world.client.post(CHAT, content=raw + b" ", headers=headers)
    assert code_of(other) == (409, "idempotency_conflict")


@pytest.mark.parametrize("key", ["", "a b", "ä", "x" * 256])
async def test_what_is_no_key_is_refused(tmp_path: Path, key: str) -> None:
    async with gateway_with(tmp_path) as world:
        sent = httpx.Headers([("Idempotency-Key", key)], encoding="utf-8")
        refused = await world.client.post(CHAT, json=chat(), headers=sent)
        two = await world.client.post(CHAT, json=chat(), headers=[("Idempotency-Key", "a"), ("Idempotency-Key", "b")])
    assert code_of(refused) == (400, "invalid_value")
    assert code_of(two) == (400, "invalid_value")


@pytest.mark.parametrize(
    ("body", "status"),
    [(chat(temperature="hot"), 400), (chat(nothing=1), 400), (strict({"type": "nothing"}), 400)],
)
async def test_a_refusal_because_of_the_request_is_kept(tmp_path: Path, body: Any, status: int) -> None:
    async with gateway_with(tmp_path) as world:
        first = await ask(world, body)
        again = await ask(world, body)
    assert first.status_code == again.status_code == status
    assert again.content == first.content
    assert again.headers["idempotent-replayed"] == "true"


@pytest.mark.parametrize(("end", "completion"), [("max_tokens", "truncated"), ("dead_end", "impossible")])
@pytest.mark.parametrize("stream", [False, True])
async def test_what_was_decoded_is_kept_whatever_it_is(
    tmp_path: Path,
    end: Any,
    completion: str,
    stream: bool,  # noqa: FBT001 - a test's own table
) -> None:
    node = NodeTwin(script=lambda _: says('{"a"', end=end, accepting=False))
    async with gateway_with(tmp_path, node=node) as world:
        first = await ask(world, strict(OBJECT, stream=stream))
        again = await ask(world, strict(OBJECT, stream=stream))
    assert again.content == first.content
    assert again.status_code == first.status_code
    assert again.headers["x-schemagate-completion"] == completion
    assert again.headers["idempotent-replayed"] == "true"
    assert len(node.requests) == 1


@pytest.mark.parametrize("stream", [False, True])
async def test_what_failed_because_of_the_moment_runs_again(tmp_path: Path, stream: bool) -> None:  # noqa: FBT001
    good = says("hello", end="end_of_sequence", accepting=None)
    scripts: Iterator[list[Any]] = iter([[*good[:2], Broken], good])
    node = NodeTwin(script=lambda _: next(scripts))
    async with gateway_with(tmp_path, node=node) as world:
        node.fault = NodeFault(code="overloaded", message="full")
        busy = await ask(world, chat(stream=stream))
        node.fault = None
        broken = await ask(world, chat(stream=stream))
        nodes = world.app.state.schemagate_services.nodes
        await until(lambda: all(each.is_live for each in nodes.nodes))
        whole = await ask(world, chat(stream=stream))
        again = await ask(world, chat(stream=stream))
    assert busy.status_code == 503
    assert b"backend_failed" in broken.content
    assert b"hello" in whole.content
    assert again.content == whole.content
    assert [each.headers.get("idempotent-replayed") for each in (busy, broken, whole)] == [None] * 3
    assert again.headers["idempotent-replayed"] == "true"


async def test_a_key_belongs_to_a_principal(tmp_path: Path) -> None:
    node = NodeTwin(script=lambda _: says("a", end="end_of_sequence", accepting=None))
    async with gateway_with(tmp_path, node=node) as world:
        await ask(world, chat())
        with sqlite3.connect(tmp_path / "gateway.db") as connection:
            connection.execute("UPDATE api_keys SET principal = 'somebody-else'")
        connection.close()
        await asyncio.sleep(1.1)  # what a key says is remembered for a second
        other = await ask(world, chat())
    assert other.status_code == 200
    assert "idempotent-replayed" not in other.headers
    assert len(node.requests) == 2


async def test_neither_key_nor_body_stands_in_the_database(tmp_path: Path) -> None:
    stored = [tmp_path / "gateway.db"]
    node = NodeTwin(script=lambda _: says("a", end="end_of_sequence", accepting=None))
    async with gateway_with(tmp_path, node=node) as world:
        await ask(world, chat(messages=[{"role": "user", "content": "a very private question"}]), key="my-own-key")
    files = b"".join(file.read_bytes() for file in stored)
    assert b"my-own-key" not in files
    assert b"a very private question" not in files


async def test_an_answer_too_large_to_keep_is_given_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_answers, "MAX_KEPT_BYTES", 300)
    node = NodeTwin(script=lambda _: says(*["word "] * 50, end="end_of_sequence", accepting=None))
    async with gateway_with(tmp_path, node=node) as world:
        whole = await ask(world, chat(), key="whole")
        again = await ask(world, chat(), key="whole")
        stream = await ask(world, chat(stream=True), key="stream")
        streamed = await ask(world, chat(stream=True), key="stream")
    assert whole.headers["x-schemagate-idempotency"] == "not_kept"
    assert "idempotent-replayed" not in again.headers
    assert stream.text.count(": not kept for its Idempotency-Key\n\n") == 1
    assert stream.text.endswith("data: [DONE]\n\n")
    assert "idempotent-replayed" not in streamed.headers
    assert len(node.requests) == 4


async def test_without_the_database_a_keyed_request_is_not_run(tmp_path: Path) -> None:
    node = NodeTwin(script=lambda _: says("a", end="end_of_sequence", accepting=None))
    async with gateway_with(tmp_path, node=node) as world:
        assert (await world.client.post(CHAT, json=chat())).status_code == 200
        with sqlite3.connect(tmp_path / "gateway.db") as connection:
            connection.execute("DROP TABLE idempotency_records")
        connection.close()
        keyed = await ask(world, chat())
        keyless = await world.client.post(CHAT, json=chat())
    assert keyed.status_code == 503
    assert keyless.status_code == 200
    assert len(node.requests) == 2
