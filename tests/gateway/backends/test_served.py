"""Backends without a grammar behind the whole gateway: what is asked, answered and refused as of any model."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.gateway.backends.seen import events_of, metric
from tests.gateway.backends.world import SECRET, UPSTREAM, asked, contracted, gateway_before, sent
from tests.gateway.openai_stub import CUT, DONE, OpenAIStub, Refuses, Reply, Streams, chunk, says
from tests.gateway.twins import MODEL, NodeTwin, chat, until


async def test_text_without_a_contract_is_served_as_it_comes(tmp_path: Path) -> None:
    stub = OpenAIStub(script=lambda _: says("Hel", "lo", counted=(9, 2)))
    async with gateway_before(tmp_path, stub) as world:
        answer = await sent(world, asked(max_tokens=20, stop=["x"]))
    body = answer.json()
    assert answer.status_code == 200
    assert body["model"] == UPSTREAM
    assert body["choices"][0]["message"]["content"] == "Hello"
    assert body["choices"][0]["finish_reason"] == "stop"
    assert (body["usage"]["prompt_tokens"], body["usage"]["completion_tokens"]) == (9, 2)
    member = body["schemagate"]
    assert (member["completion"], member["downgrade"], member["contract"]) == ("complete", None, None)
    assert member["node"] == {"model": UPSTREAM, "engine": "openai-compatible", "engine_version": "cloud"}
    assert "x-schemagate-downgrade" not in answer.headers
    assert (stub.requests[0]["model"], stub.requests[0]["max_tokens"]) == ("vendor/large-1", 20)


async def test_its_stream_is_the_same_answer_in_pieces(tmp_path: Path) -> None:
    stub = OpenAIStub(script=lambda _: says("Hel", "lo", counted=(9, 2)))
    async with gateway_before(tmp_path, stub) as world:
        answer = await sent(world, asked(stream=True, stream_options={"include_usage": True}))
    events = events_of(answer.text)
    texts = [each["choices"][0]["delta"].get("content") or "" for each in events if each["choices"]]
    assert "".join(texts) == "Hello"
    assert events[-1]["usage"]["completion_tokens"] == 2


@pytest.mark.parametrize(
    "reply",
    [Streams(steps=[chunk(finish="stop"), DONE]), says('{"title":'), says('{"title":1}')],
    ids=["null content", "a broken prefix", "another object"],
)
async def test_a_backend_that_claims_to_enforce_and_does_not_has_failed(tmp_path: Path, reply: Reply) -> None:
    """The field case null-content-with-stop."""
    backend = {"capability": "json_schema"}
    stub = OpenAIStub(script=lambda _: reply)
    async with gateway_before(tmp_path, stub, policy={"downgrade": "validate"}, backend=backend) as world:
        answer = await sent(world, contracted())
        error = answer.json()["error"]
        assert (answer.status_code, error["code"], error["reason"]) == (502, "backend_failed", "claim_broken")


async def test_a_filtered_answer_says_so_in_the_clients_word(tmp_path: Path) -> None:
    stub = OpenAIStub(script=lambda _: says("Some", finish="content_filter"))
    async with gateway_before(tmp_path, stub) as world:
        body = (await sent(world, asked())).json()
        assert body["choices"][0]["finish_reason"] == "content_filter"
        assert (body["schemagate"]["completion"], body["schemagate"]["stop_cause"]) == ("refused", "content_filter")
        streamed = events_of((await sent(world, asked(stream=True))).text)
        assert [e["choices"][0]["finish_reason"] for e in streamed if e["choices"]][-1] == "content_filter"


async def test_a_filtered_response_is_incomplete_for_that_reason(tmp_path: Path) -> None:
    stub = OpenAIStub(script=lambda _: says("Some", finish="content_filter"))
    async with gateway_before(tmp_path, stub) as world:
        answer = (await world.client.post("/v1/responses", json={"model": UPSTREAM, "input": "hi"})).json()
        assert (answer["status"], answer["incomplete_details"]) == ("incomplete", {"reason": "content_filter"})
        body = {"model": UPSTREAM, "input": "hi", "stream": True}
        streamed = (await world.client.post("/v1/responses", json=body)).text
        assert streamed.rstrip().rpartition("event: ")[2].startswith("response.incomplete")


@pytest.mark.parametrize("body", [asked(), contracted()])
async def test_a_refusal_of_the_model_is_a_refusal_here(tmp_path: Path, body: dict[str, Any]) -> None:
    """The field case refusal-validated-as-data."""
    steps = [chunk(refusal="I can't "), chunk(refusal="help."), chunk(finish="stop"), DONE]
    stub = OpenAIStub(script=lambda _: Streams(steps=steps))
    async with gateway_before(tmp_path, stub, policy={"downgrade": "repair"}) as world:
        answer = (await sent(world, body)).json()
        message = answer["choices"][0]["message"]
        assert (message["refusal"], message["content"] or None) == ("I can't help.", None)
        assert answer["choices"][0]["finish_reason"] == "stop"
        assert answer["schemagate"]["completion"] == "refused"
    assert len(stub.requests) == 1


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"tools": [{"type": "function", "function": {"name": "f"}}]}, "tools"),
        ({"logprobs": True}, "logprobs"),
        ({"reasoning_effort": "high"}, "reasoning"),
    ],
)
async def test_what_it_cannot_do_is_refused_by_name(tmp_path: Path, fields: dict[str, Any], param: str) -> None:
    stub = OpenAIStub()
    async with gateway_before(tmp_path, stub, policy={"downgrade": "repair"}) as world:
        answer = await sent(world, asked(**fields))
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "capability_unavailable")
        assert answer.json()["error"]["param"] == param
    assert stub.requests == []


@pytest.mark.parametrize(
    ("reply", "status", "code"),
    [
        (Refuses(status=401, body={"error": {"message": f"bad key {SECRET}"}}), 502, "backend_failed"),
        (Refuses(status=404, body={"error": {"message": "vendor/large-1 is not here"}}), 502, "backend_failed"),
        (Refuses(status=500, body=b"<html>/opt/x.py trace</html>"), 502, "backend_failed"),
        (
            Refuses(status=400, body={"error": {"message": "x", "code": "context_length_exceeded"}}),
            400,
            "context_length_exceeded",
        ),
        (Refuses(status=400, body={"error": {"code": "content_filter"}}), 400, "content_filter"),
    ],
)
async def test_a_backends_words_go_no_further(tmp_path: Path, reply: Reply, status: int, code: str) -> None:
    async with gateway_before(tmp_path, OpenAIStub(script=lambda _: reply)) as world:
        for stream in (False, True):
            answer = await sent(world, asked(stream=stream))
            assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
            for word in (SECRET, "vendor", "127.0.0.1", "trace", "html"):
                assert word not in answer.text


async def test_a_full_backend_is_503_with_its_own_patience(tmp_path: Path) -> None:
    reply = Refuses(status=429, body={"object": "error", "message": "x", "code": 429}, headers={"retry-after": "17"})
    async with gateway_before(tmp_path, OpenAIStub(script=lambda _: reply)) as world:
        answer = await sent(world, asked())
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "17")
        assert answer.headers["x-schemagate-completion"] == "backend_failed"


@pytest.mark.parametrize(
    "steps", [[chunk("a"), CUT], [chunk("a"), {"error": {"message": "boom"}}], says("a", finish="abort").steps]
)
async def test_what_fails_in_the_middle_ends_with_an_error_event(tmp_path: Path, steps: list[Any]) -> None:
    async with gateway_before(tmp_path, OpenAIStub(script=lambda _: Streams(steps=steps))) as world:
        events = events_of((await sent(world, asked(stream=True))).text)
        assert events[-1]["error"]["code"] == "backend_failed"
        assert (await sent(world, asked())).status_code == 502


async def test_a_model_of_a_node_stays_the_nodes(tmp_path: Path) -> None:
    stub, node = OpenAIStub(), NodeTwin()
    backend = {"models": {MODEL: "vendor/large-1", UPSTREAM: "vendor/large-1"}}
    async with gateway_before(tmp_path, stub, backend=backend, node=node, policy={"downgrade": "repair"}) as world:
        assert (await sent(world, chat())).json()["schemagate"]["node"]["engine"] == "torch"
        node.is_down = True
        await until(lambda: not world.app.state.schemagate_services.nodes.offers())
        answer = await sent(world, chat())
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "backend_failed")
    assert stub.requests == []


async def test_models_say_what_their_backends_can_do(tmp_path: Path) -> None:
    async with gateway_before(tmp_path, OpenAIStub(), backend={"capability": "json_object"}) as world:
        cards = {card["id"]: card for card in (await world.client.get("/v1/models")).json()["data"]}
        assert cards[MODEL]["schemagate"]["capability"] == "grammar"
        member = cards[UPSTREAM]["schemagate"]
        assert (member["capability"], member["contract_kinds"]) == ("json_object", [])
        assert (await world.client.get(f"/v1/models/{UPSTREAM}")).status_code == 200
        missing = (await sent(world, chat(model="nobody"))).json()["error"]
        assert UPSTREAM in missing["message"]
        assert "vendor" not in json.dumps(cards)


async def test_there_is_nothing_to_explain_of_a_backend_without_a_grammar(tmp_path: Path) -> None:
    async with gateway_before(tmp_path, OpenAIStub()) as world:
        body = {"model": UPSTREAM, "response_format": contracted()["response_format"]}
        answer = await world.client.post("/v1/contracts/explain", json=body)
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "capability_unavailable")


async def test_several_choices_are_several_answers(tmp_path: Path) -> None:
    replies = [says("one", counted=(5, 1)), says("two", counted=(5, 2))]
    stub = OpenAIStub(script=lambda _: replies.pop(0))
    async with gateway_before(tmp_path, stub) as world:
        body = (await sent(world, asked(n=2))).json()
        assert sorted(choice["message"]["content"] for choice in body["choices"]) == ["one", "two"]
        assert metric(world, "schemagate_gateway_tokens_total", kind="prompt") == 10
        assert body["usage"]["prompt_tokens"] == 10
    assert {request["seed"] for request in stub.requests} == {1, 2}


async def test_a_caller_who_leaves_ends_the_answer_there(tmp_path: Path) -> None:
    never = asyncio.Event()
    stub = OpenAIStub(script=lambda _: Streams(steps=[chunk("a"), never]))
    async with gateway_before(tmp_path, stub) as world:
        task = asyncio.get_running_loop().create_task(sent(world, asked()))
        await until(lambda: stub.num_open == 1)
        task.cancel()
        await until(lambda: stub.num_open == 0)


async def test_the_requests_time_ends_an_answer_that_does_not(tmp_path: Path) -> None:
    never = asyncio.Event()
    stub = OpenAIStub(script=lambda _: Streams(steps=[chunk("a"), never]))
    async with gateway_before(tmp_path, stub, request_seconds=0.3) as world:
        answer = await sent(world, asked())
        assert (answer.status_code, answer.json()["error"]["reason"]) == (504, "deadline_passed")
        await until(lambda: stub.num_open == 0)


async def test_a_request_that_is_refused_without_a_hint_is_refused(tmp_path: Path) -> None:
    stub = OpenAIStub(script=lambda _: Refuses(status=400, body={"error": {"message": "no"}}))
    backend = {"capability": "json_schema"}
    async with gateway_before(tmp_path, stub, policy={"downgrade": "validate"}, backend=backend) as world:
        answer = await sent(world, contracted())
        assert (answer.status_code, answer.json()["error"]["reason"]) == (502, "backend_refused")
    assert len(stub.requests) == 2
