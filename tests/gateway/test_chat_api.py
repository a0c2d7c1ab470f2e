"""`POST /v1/chat/completions`, whole and streamed, over the real protocols of pool and node."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from compiler_pool.protocol import CompileRequest, ReportEntryWire
from gateway.validation.verdict import Unjudged, UnjudgedReason, Verdict
from inference_node.protocol import NodeFault, StopCause
from registry.contract import ContractKind
from tests.gateway.twins import (
    MODEL,
    TOKENIZER,
    Broken,
    JudgeHere,
    NodeTwin,
    PoolTwin,
    chat,
    compiled,
    gateway_with,
    says,
    strict,
    until,
)

CHAT = "/v1/chat/completions"
OBJECT = {
    "type": "object",
    "properties": {"a": {"type": "integer"}},
    "required": ["a"],
    "additionalProperties": False,
}


def events(response: httpx.Response) -> list[Any]:
    """The `data:` values of a stream, `[DONE]` included."""
    blocks = response.text.split("\n\n")
    assert blocks[-1] == ""
    values = [block.removeprefix("data: ") for block in blocks[:-1]]
    return [value if value == "[DONE]" else json.loads(value) for value in values]


async def test_a_contract_is_answered_with_the_object_and_everything_about_it(tmp_path: Path) -> None:
    node = NodeTwin(script=lambda _: says('{"a":', "1", "}"))
    async with gateway_with(tmp_path, node=node) as world:
        response = await world.client.post(CHAT, json=strict(OBJECT, max_tokens=20, temperature=0.5, stop=["END"]))
    assert response.status_code == 200, response.text
    body = response.json()
    assert body["object"] == "chat.completion"
    assert body["model"] == MODEL
    assert body["choices"] == [
        {
            "index": 0,
            "message": {"role": "assistant", "content": '{"a":1}', "refusal": None, "annotations": []},
            "finish_reason": "stop",
            "logprobs": None,
        }
    ]
    assert body["usage"] == {
        "prompt_tokens": 5,
        "completion_tokens": 3,
        "total_tokens": 8,
        "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
        "completion_tokens_details": {
            "reasoning_tokens": 0,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    }
    member = body["schemagate"]
    assert member["completion"] == "complete"
    assert member["contract"]["digest"].startswith("sha256:")
    assert member["contract"]["enforcement"] == {"enforced": 1, "checked_after": 0, "annotation": 0}
    assert member["tokenizer_digest"] == TOKENIZER
    assert member["cache"] == "compiled"
    assert member["validation"]["verdict"] == "valid"
    assert member["node"]["engine"] == "torch"
    assert member["seed"] == 1
    assert set(member["timings"]) == {
        "authenticate", "parse", "resolve", "canonicalise", "negotiate", "reserve", "compile", "route", "decode",
        "classify", "validate", "settle", "total",
    }  # fmt: skip
    assert response.headers["x-schemagate-completion"] == "complete"
    assert response.headers["x-request-id"].startswith("req_")
    assert float(response.headers["x-schemagate-overhead-ms"]) > 0
    assert "decode;dur=" in response.headers["server-timing"]
    assert int(response.headers["x-ratelimit-remaining-requests"]) >= 0
    sent = node.requests[0]
    assert sent.artifact_key == member["artifact_key"]
    assert (sent.sampling.temperature, sent.sampling.seed, sent.max_tokens, sent.stop) == (0.5, 1, 20, ["END"])
    assert sent.request_id == response.headers["x-request-id"]


async def test_a_stream_ends_with_one_terminal_chunk_that_carries_the_class(tmp_path: Path) -> None:
    node = NodeTwin(script=lambda _: says('{"a":', "1", "}"))
    async with gateway_with(tmp_path, node=node) as world:
        whole = (await world.client.post(CHAT, json=strict(OBJECT))).json()
        response = await world.client.post(
            CHAT, json=strict(OBJECT, stream=True, stream_options={"include_usage": True})
        )
    assert response.status_code == 200
    assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
    *chunks, usage, done = events(response)
    assert done == "[DONE]"
    assert chunks[0]["choices"][0]["delta"]["role"] == "assistant"
    assert len({(chunk["id"], chunk["created"]) for chunk in [*chunks, usage]}) == 1
    text = "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in chunks)
    assert text == whole["choices"][0]["message"]["content"]
    assert [chunk["choices"][0]["finish_reason"] for chunk in chunks if chunk["choices"][0]["finish_reason"]] == [
        "stop"
    ]
    assert all(chunk["usage"] is None for chunk in chunks)
    assert usage["choices"] == []
    assert usage["usage"] == whole["usage"]
    assert ["schemagate" in chunk for chunk in chunks] == [False] * (len(chunks) - 1) + [True]
    assert chunks[-1]["schemagate"]["completion"] == "complete"
    assert chunks[-1]["schemagate"]["contract"] == whole["schemagate"]["contract"]


async def test_without_include_usage_no_chunk_speaks_of_usage(tmp_path: Path) -> None:
    async with gateway_with(tmp_path) as world:
        *chunks, done = events(await world.client.post(CHAT, json=strict({"type": "string"}, stream=True)))
    assert done == "[DONE]"
    assert not [chunk for chunk in chunks if "usage" in chunk]


async def test_text_without_a_contract_needs_no_pool_and_no_verdict(tmp_path: Path) -> None:
    pool, judge = PoolTwin(is_down=True), JudgeHere()
    node = NodeTwin(script=lambda _: says("héllo ", "wörld", end="end_of_sequence", accepting=None))
    async with gateway_with(tmp_path, pool=pool, node=node, validator=judge) as world:
        body = (await world.client.post(CHAT, json=chat())).json()
        streamed = await world.client.post(CHAT, json=chat(stream=True))
    assert body["choices"][0]["message"]["content"] == "héllo wörld"
    assert body["schemagate"]["completion"] == "complete"
    assert body["schemagate"]["contract"] is None
    assert body["schemagate"]["validation"]["verdict"] == "not_applicable"
    assert judge.num_asked == 0
    assert "wörld" in streamed.text


@pytest.mark.parametrize(
    ("end", "accepting", "completion", "finish_reason"),
    [
        ("max_tokens", False, "truncated", "length"),
        ("context_full", False, "truncated", "length"),
        ("stop_string", False, "stopped", "stop"),
    ],
)
async def test_a_prefix_is_given_as_text_with_its_class(
    tmp_path: Path, *, end: StopCause, accepting: bool, completion: str, finish_reason: str
) -> None:
    judge = JudgeHere()
    node = NodeTwin(script=lambda _: says('{"a":', end=end, accepting=accepting))
    async with gateway_with(tmp_path, node=node, validator=judge) as world:
        response = await world.client.post(CHAT, json=strict(OBJECT))
        *_, last, _ = events(await world.client.post(CHAT, json=strict(OBJECT, stream=True)))
    body = response.json()
    assert response.status_code == 200
    assert body["choices"][0]["finish_reason"] == finish_reason
    assert body["choices"][0]["message"]["content"] == '{"a":'
    assert "parsed" not in body["choices"][0]["message"]
    assert body["schemagate"]["completion"] == completion
    assert response.headers["x-schemagate-completion"] == completion
    assert (last["choices"][0]["finish_reason"], last["schemagate"]["completion"]) == (finish_reason, completion)
    assert judge.num_asked == 0


@pytest.mark.parametrize(
    ("end", "status", "code", "completion"),
    [
        ("dead_end", 422, "impossible_continuation", "impossible"),
        ("grammar_failed", 502, "backend_failed", "backend_failed"),
        ("engine_failed", 502, "backend_failed", "backend_failed"),
        ("cancelled", 503, "backend_failed", "backend_failed"),
        ("end_of_sequence", 502, "backend_failed", "backend_failed"),  # although the grammar does not accept
        ("grammar_end", 502, "backend_failed", "backend_failed"),
    ],
)
async def test_an_end_that_is_no_answer_is_a_typed_error_whole_and_streamed(
    tmp_path: Path, *, end: StopCause, status: int, code: str, completion: str
) -> None:
    node = NodeTwin(script=lambda _: says('{"a":', end=end, accepting=False))
    async with gateway_with(tmp_path, node=node) as world:
        response = await world.client.post(CHAT, json=strict(OBJECT))
        streamed = await world.client.post(CHAT, json=strict(OBJECT, stream=True))
    error = response.json()["error"]
    assert (response.status_code, error["code"]) == (status, code)
    assert response.json()["schemagate"]["completion"] == completion
    assert response.headers["x-schemagate-completion"] == completion
    assert error["request_id"] == response.headers["x-request-id"]
    *chunks, last, done = events(streamed)
    assert streamed.status_code == 200
    assert done == "[DONE]"
    assert (last["error"]["code"], last["schemagate"]["completion"]) == (code, completion)
    assert not [chunk for chunk in chunks if chunk["choices"][0]["finish_reason"] or "schemagate" in chunk]


async def test_an_object_that_breaks_what_was_left_to_the_validator_is_invalid(tmp_path: Path) -> None:
    def leaves_the_minimum(request: CompileRequest) -> Any:
        return compiled(request, [ReportEntryWire(pointer="/minimum", keyword="minimum", status="checked_after")])

    node = NodeTwin(script=lambda _: says("3"))
    async with gateway_with(tmp_path, pool=PoolTwin(answer=leaves_the_minimum), node=node) as world:
        schema = {"type": "integer", "minimum": 5}
        sent = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
        response = await world.client.post(CHAT, json=chat(response_format=sent))
        *_, last, _ = events(await world.client.post(CHAT, json=chat(response_format=sent, stream=True)))
    assert response.status_code == 422
    error = response.json()["error"]
    assert (error["code"], error["pointer"]) == ("output_failed_validation", "")
    member = response.json()["schemagate"]
    assert member["completion"] == "invalid"
    assert member["contract"]["enforcement"]["checked_after"] == 1
    assert (member["validation"]["verdict"], member["validation"]["keyword"]) == ("invalid", "minimum")
    assert "3" not in [choice.get("message") for choice in response.json().get("choices", [])]
    assert last["error"]["code"] == "output_failed_validation"


async def test_an_object_that_nobody_could_judge_is_never_complete(tmp_path: Path) -> None:
    class Silent(JudgeHere):
        async def validate(
            self, canonical_text: str, contract_digest: str, document: bytes, *, seconds: float, kind: ContractKind
        ) -> Verdict:
            return Unjudged(reason=UnjudgedReason.TIME, message="too slow")

    node = NodeTwin(script=lambda _: says('"x"'))
    async with gateway_with(tmp_path, node=node, validator=Silent()) as world:
        response = await world.client.post(CHAT, json=strict({"type": "string"}))
    assert (response.status_code, response.json()["error"]["code"]) == (503, "backend_failed")
    assert response.json()["schemagate"]["completion"] == "backend_failed"
    assert response.headers["retry-after"] == "1"


async def test_json_object_runs_through_the_same_stages(tmp_path: Path) -> None:
    node = NodeTwin(script=lambda _: says('{"any":', "[]}"))
    async with gateway_with(tmp_path, node=node) as world:
        body = (await world.client.post(CHAT, json=chat(response_format={"type": "json_object"}))).json()
        node.script = lambda _: says("[]")
        lying = await world.client.post(CHAT, json=chat(response_format={"type": "json_object"}))
    assert body["schemagate"]["completion"] == "complete"
    assert body["schemagate"]["contract"]["kind"] == "json_schema"
    assert lying.status_code == 422


async def test_strict_decides_whether_anything_may_be_left_to_the_validator(tmp_path: Path) -> None:
    pool = PoolTwin()
    async with gateway_with(tmp_path, pool=pool) as world:
        await world.client.post(CHAT, json=strict({"type": "string"}))
        sent = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "string"}}}
        await world.client.post(CHAT, json=chat(response_format=sent))
    assert [request.policy.allow_checked_after for request in pool.requests] == [False, True]
    assert all(request.policy.unknown_keyword == "reject" for request in pool.requests)
    assert all(request.limits == "tenant" for request in pool.requests)


@pytest.mark.parametrize("stream", [False, True])
async def test_a_node_that_dies_while_decoding_is_a_typed_failure(tmp_path: Path, *, stream: bool) -> None:
    node = NodeTwin(script=lambda _: [*says('{"a":')[:2], Broken])
    async with gateway_with(tmp_path, node=node) as world:
        response = await world.client.post(CHAT, json=strict(OBJECT, stream=stream))
    body = events(response)[-2] if stream else response.json()
    assert response.status_code == (200 if stream else 502)
    assert (body["error"]["code"], body["error"]["reason"]) == ("backend_failed", "node_lost")
    assert body["schemagate"]["completion"] == "backend_failed"


async def test_a_stream_without_its_finish_event_is_a_typed_failure(tmp_path: Path) -> None:
    node = NodeTwin(script=lambda _: says('{"a":1}')[:2])
    async with gateway_with(tmp_path, node=node) as world:
        response = await world.client.post(CHAT, json=strict(OBJECT))
    assert (response.status_code, response.json()["error"]["reason"]) == (502, "node_lost")


async def test_a_second_start_is_not_a_stream_of_this_protocol(tmp_path: Path) -> None:
    node = NodeTwin(script=lambda _: [says()[0], *says('{"a":1}')])
    async with gateway_with(tmp_path, node=node) as world:
        response = await world.client.post(CHAT, json=strict(OBJECT))
    assert (response.status_code, response.json()["error"]["code"]) == (502, "backend_failed")


async def test_a_node_that_is_down_is_503_and_used_again_when_it_is_back(tmp_path: Path) -> None:
    node = NodeTwin()
    async with gateway_with(tmp_path, node=node) as world:
        node.is_down = True
        response = await world.client.post(CHAT, json=strict({"type": "string"}))
        assert (response.status_code, response.json()["error"]["code"]) == (503, "backend_failed")
        assert response.headers["retry-after"] == "1"
        again = await world.client.post(CHAT, json=strict({"type": "string"}, stream=True))
        assert again.status_code == 503
        node.is_down = False

        async def is_served() -> bool:
            return (await world.client.post(CHAT, json=strict({"type": "string"}))).status_code == 200

        await until(is_served)


async def test_another_node_is_tried_before_anything_was_decoded(tmp_path: Path) -> None:
    nodes = {"one": NodeTwin(fault=NodeFault(code="overloaded", message="full")), "two": NodeTwin()}
    async with gateway_with(tmp_path, nodes=nodes, node_urls="http://one,http://two") as world:
        for _ in range(2):
            assert (await world.client.post(CHAT, json=strict({"type": "string"}))).status_code == 200
    assert len(nodes["two"].requests) == 2


async def test_full_nodes_are_503_with_a_time_to_come_back(tmp_path: Path) -> None:
    node = NodeTwin(fault=NodeFault(code="overloaded", message="full of secrets"))
    async with gateway_with(tmp_path, node=node) as world:
        response = await world.client.post(CHAT, json=chat())
    assert (response.status_code, response.json()["error"]["reason"]) == (503, "overloaded")
    assert response.headers["retry-after"] == "1"
    assert "secrets" not in response.text


async def test_a_prompt_that_is_too_long_is_the_callers(tmp_path: Path) -> None:
    fault = NodeFault(code="context_length_exceeded", message="the prompt has 9 tokens", limit=8, observed=9)
    async with gateway_with(tmp_path, node=NodeTwin(fault=fault)) as world:
        response = await world.client.post(CHAT, json=chat())
    error = response.json()["error"]
    assert (response.status_code, error["code"], error["param"]) == (400, "context_length_exceeded", "messages")
    assert (error["limit"], error["observed"]) == (8, 9)


async def test_an_artifact_is_sent_to_a_node_once(tmp_path: Path) -> None:
    node = NodeTwin()
    async with gateway_with(tmp_path, node=node) as world:
        for _ in range(3):
            await world.client.post(CHAT, json=strict({"type": "string"}))
    assert node.num_put == 1
    key = node.requests[0].artifact_key
    assert key is not None
    assert node.artifacts[key] == b"frame of " + key.encode()


async def test_an_unknown_model_is_404_with_what_there_is(tmp_path: Path) -> None:
    async with gateway_with(tmp_path) as world:
        response = await world.client.post(CHAT, json=chat(model="nobody"))
    error = response.json()["error"]
    assert (response.status_code, error["code"], error["param"]) == (404, "model_not_found", "model")
    assert MODEL in error["message"]


async def test_a_named_contract_is_not_found_yet(tmp_path: Path) -> None:
    async with gateway_with(tmp_path) as world:
        response = await world.client.post(CHAT, json=chat(contract="invoice@prod"))
    assert (response.status_code, response.json()["error"]["code"]) == (404, "contract_not_found")
