"""`POST /v1/responses` over a pool and a node in memory."""

import json
from pathlib import Path
from typing import Any

import pytest
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import TypeAdapter

from compiler_pool.protocol import CompileRequest
from inference_node.protocol import GenerateRequest, NodeFault, StopCause, TokenEvent, TokenLogprob, TopLogprob
from inference_node.tool_markup import call_text
from tests.gateway.responses.events import names, read_events
from tests.gateway.twins import MODEL, Broken, Event, NodeTwin, PoolTwin, World, compiled, gateway_with, says

URL = "/v1/responses"
EVENT: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent)
FORMAT = {"format": {"type": "json_object"}}
FUNCTION = {"type": "function", "name": "weather", "parameters": {"type": "object"}}
CUSTOM = {"type": "custom", "name": "run"}
TERMINAL = {"completed", "incomplete", "failed", "error"}
VOLATILE = {"id", "created_at", "completed_at", "call_id", "timings", "item_id"}


def body(**fields: Any) -> dict[str, Any]:
    return {"model": MODEL, "input": "hi", "seed": 1} | fields


def steady(value: Any) -> Any:
    """`value` without what differs from one answer to the next."""
    if isinstance(value, dict):
        return {name: steady(member) for name, member in value.items() if name not in VOLATILE}
    return [steady(item) for item in value] if isinstance(value, list) else value


async def streamed(world: World, **fields: Any) -> list[dict[str, Any]]:
    """The events of an answer: well formed, as the stock client has them, and only the last is terminal."""
    answer = await world.client.post(URL, json=body(stream=True, **fields))
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
    events = read_events(answer.text)
    for event in events:
        EVENT.validate_python(event)
    assert names(events)[:2] == ["created", "in_progress"]
    assert [name for name in names(events) if name in TERMINAL] == [names(events)[-1]]
    return events


async def test_an_answer_has_every_member_that_the_client_reads(tmp_path: Path) -> None:
    node = NodeTwin(script=lambda _: says("Hello", " you", end="end_of_sequence", accepting=None))
    async with gateway_with(tmp_path, node=node) as world:
        answer = await world.client.post(URL, json=body(instructions="be brief", metadata={"a": "b"}, store=True))
    assert answer.status_code == 200, answer.text
    assert answer.headers["x-schemagate-completion"] == "complete"
    sent = answer.json()
    assert {name for name, member in Response.model_fields.items() if member.is_required()} <= set(sent)
    read = Response.model_validate(sent)
    assert read.output_text == "Hello you"
    assert read.id.startswith("resp_")
    assert read.model == MODEL
    assert (read.status, read.error, read.incomplete_details) == ("completed", None, None)
    assert (read.instructions, read.metadata) == ("be brief", {"a": "b"})
    assert (sent["store"], sent["background"], sent["truncation"], sent["service_tier"]) == (
        False,
        False,
        "disabled",
        "default",
    )
    assert (sent["previous_response_id"], sent["user"], sent["max_output_tokens"]) == (None, None, None)
    assert (sent["tools"], sent["tool_choice"], sent["parallel_tool_calls"]) == ([], "auto", True)
    assert (sent["temperature"], sent["top_p"], sent["top_logprobs"]) == (1.0, 1.0, 0)
    assert sent["text"] == {"format": {"type": "text"}, "verbosity": "medium"}
    assert sent["reasoning"] == {"effort": None, "summary": None}
    assert isinstance(sent["created_at"], int)
    assert sent["completed_at"] >= sent["created_at"]
    assert read.usage is not None
    assert read.usage.model_dump(exclude_unset=True) == {
        "input_tokens": 5,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": 2,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 7,
    }
    assert sent["schemagate"]["completion"] == "complete"
    assert sent["schemagate"]["ignored"] == {"store": "nothing is stored"}
    assert [message.role for message in node.requests[0].messages] == ["system", "user"]


async def test_a_format_is_enforced_and_repeated_with_its_exact_numbers(tmp_path: Path) -> None:
    huge = '{"type":"json_schema","name":"x","strict":true,"schema":{"type":"integer","maximum":9007199254740993.5}}'
    sent = json.dumps(body()).removesuffix("}") + f',"text":{{"format":{huge}}}}}'
    pool, node = PoolTwin(), NodeTwin(script=lambda _: says("7"))
    async with gateway_with(tmp_path, pool=pool, node=node) as world:
        answer = await world.client.post(URL, content=sent, headers={"content-type": "application/json"})
    assert answer.status_code == 200, answer.text
    assert f'"text":{{"format":{huge},"verbosity":"medium"}}' in answer.text
    assert answer.json()["output"][0]["content"][0]["text"] == "7"
    assert answer.json()["schemagate"]["validation"]["verdict"] == "valid"
    assert node.requests[0].artifact_key is not None


async def test_a_stream_tells_of_words_in_the_order_of_the_protocol(tmp_path: Path) -> None:
    node = NodeTwin(script=lambda _: says('{"a"', ":1}"))
    async with gateway_with(tmp_path, node=node) as world:
        events = await streamed(world, text=FORMAT)
        whole = (await world.client.post(URL, json=body(text=FORMAT))).json()
    assert names(events) == [
        "created",
        "in_progress",
        "output_item.added",
        "content_part.added",
        "output_text.delta",
        "output_text.delta",
        "output_text.done",
        "content_part.done",
        "output_item.done",
        "completed",
    ]
    assert [event["delta"] for event in events if "delta" in event] == ['{"a"', ":1}"]
    first, last = events[0]["response"], events[-1]["response"]
    assert (first["status"], first["output"], first["usage"], first["completed_at"]) == ("in_progress", [], None, None)
    assert first["id"] == last["id"]
    assert steady(last) == steady(whole) | {"schemagate": steady(last)["schemagate"]}
    assert last["schemagate"]["completion"] == "complete"


@pytest.mark.parametrize(
    ("end", "completion", "details"),
    [
        ("max_tokens", "truncated", {"reason": "max_output_tokens"}),
        ("context_full", "truncated", {"reason": "max_output_tokens"}),
        ("stop_string", "stopped", None),
    ],
)
async def test_an_answer_that_is_not_whole_is_incomplete_with_its_item(
    tmp_path: Path, end: StopCause, completion: str, details: Any
) -> None:
    node = NodeTwin(script=lambda _: says('{"a"', end=end, accepting=False))
    async with gateway_with(tmp_path, node=node) as world:
        events = await streamed(world, text=FORMAT, max_output_tokens=1)
        answer = await world.client.post(URL, json=body(text=FORMAT, max_output_tokens=1))
    whole = answer.json()
    assert answer.status_code == 200
    assert names(events)[-2:] == ["output_item.done", "incomplete"]
    assert events[-2]["item"]["status"] == "incomplete"
    for response in (whole, events[-1]["response"]):
        assert (response["status"], response["incomplete_details"]) == ("incomplete", details)
        assert response["output"][0]["status"] == "incomplete"
        assert response["output"][0]["content"][0]["text"] == '{"a"'
        assert response["completed_at"] is None
        assert response["error"] is None
        assert response["schemagate"]["completion"] == completion


async def test_a_function_is_called(tmp_path: Path) -> None:
    text = call_text("weather", '{"city":"Oslo"}', is_custom=False)
    node = NodeTwin(script=lambda _: says(text[:20], text[20:48], text[48:]))
    async with gateway_with(tmp_path, node=node) as world:
        events = await streamed(world, tools=[FUNCTION], tool_choice="required")
        whole = (await world.client.post(URL, json=body(tools=[FUNCTION], tool_choice="required"))).json()
    assert [name for name in names(events) if not name.endswith(".delta")] == [
        "created",
        "in_progress",
        "output_item.added",
        "function_call_arguments.done",
        "output_item.done",
        "completed",
    ]
    item = events[2]["item"]
    assert (item["type"], item["name"], item["arguments"], item["status"]) == (
        "function_call",
        "weather",
        "",
        "in_progress",
    )
    deltas = [event["delta"] for event in events if event["type"] == "response.function_call_arguments.delta"]
    assert "".join(deltas) == '{"city":"Oslo"}'
    for response in (whole, events[-1]["response"]):
        (call,) = response["output"]
        assert call["id"].startswith("fc_")
        assert call["call_id"].startswith("call_")
        assert (call["name"], call["arguments"], call["status"]) == ("weather", '{"city":"Oslo"}', "completed")
        assert response["status"] == "completed"
        assert response["tools"][0]["name"] == "weather"
    assert steady(events[-1]["response"]["output"]) == steady(whole["output"])
    assert [tool.name for tool in node.requests[0].tools] == ["weather"]


async def test_a_custom_tool_is_called_after_free_words(tmp_path: Path) -> None:
    text = "Let me see. " + call_text("run", "ls -l", is_custom=True)
    node = NodeTwin(script=lambda _: says(text, end="end_of_sequence"))
    async with gateway_with(tmp_path, node=node) as world:
        events = await streamed(world, tools=[FUNCTION, CUSTOM])
        whole = (await world.client.post(URL, json=body(tools=[FUNCTION, CUSTOM]))).json()
    assert [item["type"] for item in whole["output"]] == ["message", "custom_tool_call"]
    assert whole["output"][0]["content"][0]["text"].strip() == "Let me see."
    assert whole["output"][1]["input"] == "ls -l"
    assert steady(events[-1]["response"]["output"]) == steady(whole["output"])
    assert "custom_tool_call_input.done" in names(events)


async def test_several_calls_are_items_of_their_own(tmp_path: Path) -> None:
    text = "\n".join(call_text("weather", f'{{"n":{number}}}', is_custom=False) for number in (1, 2))
    node = NodeTwin(script=lambda _: says(text, end="end_of_sequence"))
    async with gateway_with(tmp_path, node=node) as world:
        events = await streamed(world, tools=[FUNCTION], tool_choice="required")
    output = events[-1]["response"]["output"]
    assert [call["arguments"] for call in output] == ['{"n":1}', '{"n":2}']
    assert len({call["id"] for call in output} | {call["call_id"] for call in output}) == 4
    done = [event["item"] for event in events if event["type"] == "response.output_item.done"]
    assert done == output


async def test_log_probabilities_come_where_they_are_included(tmp_path: Path) -> None:
    top = TopLogprob(text="7", token_bytes=[55], logprob=-0.5)
    token = TokenLogprob(text="7", token_bytes=[55], logprob=-0.5, top=[top])

    def script(request: GenerateRequest) -> list[Event]:
        started, said, finish = says("7")
        assert isinstance(said, TokenEvent)
        told = [token] if request.top_logprobs is not None else None
        return [started, said.model_copy(update={"logprobs": told}), finish]

    node = NodeTwin(script=script)
    include = ["message.output_text.logprobs"]
    form = {"format": {"type": "json_schema", "name": "x", "schema": {"type": "integer"}}}
    async with gateway_with(tmp_path, node=node) as world:
        events = await streamed(world, include=include, top_logprobs=1, text=form)
        without = (await world.client.post(URL, json=body(text=form))).json()
    expected = [
        {
            "token": "7",
            "bytes": [55],
            "logprob": -0.5,
            "top_logprobs": [{"token": "7", "bytes": [55], "logprob": -0.5}],
        }
    ]
    assert [request.top_logprobs for request in node.requests] == [1, None]
    deltas = [event for event in events if event["type"] == "response.output_text.delta"]
    assert [logprob for event in deltas for logprob in event["logprobs"]] == expected
    assert events[-1]["response"]["output"][0]["content"][0]["logprobs"] == expected
    assert without["output"][0]["content"][0]["logprobs"] == []


@pytest.mark.parametrize(
    ("text", "end", "status", "code"),
    [
        ("[]", "grammar_end", 422, "output_failed_validation"),
        ("{", "dead_end", 422, "impossible_continuation"),
        ("{", "engine_failed", 502, "backend_failed"),
    ],
)
async def test_what_is_no_answer_is_an_http_error_or_the_failed_event(
    tmp_path: Path, text: str, end: StopCause, status: int, code: str
) -> None:
    node = NodeTwin(script=lambda _: says(text, end=end, accepting=end == "grammar_end"))
    async with gateway_with(tmp_path, node=node) as world:
        events = await streamed(world, text=FORMAT)
        answer = await world.client.post(URL, json=body(text=FORMAT))
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
    assert names(events)[-1] == "failed"
    assert "output_text.done" not in names(events)
    response = events[-1]["response"]
    assert (response["status"], response["error"]["code"]) == ("failed", "server_error")
    assert response["error"]["message"] == answer.json()["error"]["message"]
    assert [item["status"] for item in response["output"]] == ["incomplete"]
    assert response["usage"]["input_tokens"] == 5
    told = response["schemagate"]["error"]
    assert told["code"] == code
    assert told | {"request_id": ""} == answer.json()["error"] | {"request_id": ""}
    assert response["schemagate"]["completion"] == answer.json()["schemagate"]["completion"]


async def test_a_node_that_is_lost_in_a_stream_fails_it_once(tmp_path: Path) -> None:
    node = NodeTwin(script=lambda _: [*says('{"a"')[:2], Broken])
    async with gateway_with(tmp_path, node=node) as world:
        events = await streamed(world, text=FORMAT)
    assert names(events)[-1] == "failed"
    assert events[-1]["response"]["schemagate"]["completion"] == "backend_failed"


class Mischief:
    """A judge that has a fault of its own."""

    num_ready = 1

    async def validate(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError("a fault of ours")


async def test_a_failure_of_the_gateway_itself_ends_a_stream_with_an_error_event(tmp_path: Path) -> None:
    async with gateway_with(tmp_path, node=NodeTwin(script=lambda _: says("{}")), validator=Mischief()) as world:
        events = await streamed(world, text=FORMAT)
    last = events[-1]
    assert (last["type"], last["code"], last["param"]) == ("error", "internal_error", None)


async def test_what_is_refused_before_a_node_begins_is_a_plain_error_also_of_a_stream(tmp_path: Path) -> None:
    bad = {"format": {"type": "json_schema", "name": "x", "schema": {"properties": {"a": {"maxLenght": 1}}}}}
    async with gateway_with(tmp_path) as world:
        for is_streamed in (False, True):
            answer = await world.client.post(URL, json=body(text=bad, stream=is_streamed))
            assert answer.status_code == 400
            error = answer.json()["error"]
            assert (error["code"], error["param"], error["pointer"]) == (
                "unknown_keyword",
                "text.format.schema.properties.a.maxLenght",
                "/properties/a/maxLenght",
            )
            missing = await world.client.post(URL, json=body(model="nobody", stream=is_streamed))
            assert (missing.status_code, missing.json()["error"]["code"]) == (404, "model_not_found")


async def test_an_input_that_is_too_long_is_refused_as_input(tmp_path: Path) -> None:
    fault = NodeFault(code="context_length_exceeded", message="it is too long", limit=10, observed=20)
    async with gateway_with(tmp_path, node=NodeTwin(fault=fault)) as world:
        for is_streamed in (False, True):
            answer = await world.client.post(URL, json=body(stream=is_streamed))
            assert answer.status_code == 400
            assert (answer.json()["error"]["code"], answer.json()["error"]["param"]) == (
                "context_length_exceeded",
                "input",
            )


async def test_a_tools_schema_is_refused_where_it_stands(tmp_path: Path) -> None:
    bad = FUNCTION | {"parameters": {"type": "object", "properties": {"a": {"maxLenght": 1}}}}
    async with gateway_with(tmp_path) as world:
        answer = await world.client.post(URL, json=body(tools=[CUSTOM, bad]))
    assert answer.status_code == 400, answer.text
    assert answer.json()["error"]["param"] == "tools[1].parameters.properties.a.maxLenght"


async def test_hosted_tools_are_refused_by_default(tmp_path: Path) -> None:
    async with gateway_with(tmp_path) as world:
        answer = await world.client.post(URL, json=body(tools=[{"type": "web_search"}]))
    assert answer.status_code == 400
    assert (answer.json()["error"]["code"], answer.json()["error"]["param"]) == (
        "unsupported_parameter",
        "tools[0].type",
    )


async def test_hosted_tools_are_left_out_and_reported_where_the_policy_says_so(tmp_path: Path) -> None:
    node = NodeTwin(script=lambda _: says("ok", end="end_of_sequence", accepting=None))
    async with gateway_with(tmp_path, node=node, serving_policy={"hosted_tools": "ignore"}) as world:
        answer = await world.client.post(URL, json=body(tools=[{"type": "web_search"}]))
    assert answer.status_code == 200, answer.text
    assert answer.json()["tools"] == []
    assert answer.json()["schemagate"]["ignored"] == {"tools[0]": "the hosted tool `web_search` is left out"}


async def test_obfuscated_deltas_have_even_sizes_and_others_have_no_padding(tmp_path: Path) -> None:
    node = NodeTwin(script=lambda _: says('{"a":"', "b", 'üüü"}'))
    sent = body(stream=True, text=FORMAT, stream_options={"include_obfuscation": True})
    async with gateway_with(tmp_path, node=node) as world:
        padded = await world.client.post(URL, json=sent)
        plain = await streamed(world, text=FORMAT, stream_options={"include_obfuscation": False})
    data = [block.split("\n")[1].removeprefix("data: ") for block in padded.text.split("\n\n")[:-1]]
    deltas = [line for line in data if "obfuscation" in json.loads(line)]
    assert len(deltas) == 3
    assert all(len(line.encode()) % 64 == 0 for line in deltas)
    assert not any("obfuscation" in event for event in plain)


async def test_a_refusal_is_a_part_of_its_own_and_the_response_is_completed(tmp_path: Path) -> None:
    node = NodeTwin(script=lambda _: says("<refusal>I am ", "sorry.</ref", "usal>"))
    async with gateway_with(tmp_path, node=node, serving_policy={"allow_refusal": True}) as world:
        events = await streamed(world, text=FORMAT)
        whole = (await world.client.post(URL, json=body(text=FORMAT))).json()
    assert [name for name in names(events) if "refusal" in name][-1] == "refusal.done"
    for response in (whole, events[-1]["response"]):
        assert response["status"] == "completed"
        assert response["schemagate"]["completion"] == "refused"
        assert response["output"][0]["content"] == [{"type": "refusal", "refusal": "I am sorry."}]
    deltas = [event["delta"] for event in events if event["type"] == "response.refusal.delta"]
    assert "".join(deltas) == "I am sorry."


async def test_a_thought_is_an_item_of_its_own_and_counted(tmp_path: Path) -> None:
    node = NodeTwin(script=lambda _: says("<think>", "hm", "</think>", '{"a":1}'))
    async with gateway_with(tmp_path, node=node) as world:
        events = await streamed(world, text=FORMAT, reasoning={"effort": "low"})
        whole = (await world.client.post(URL, json=body(text=FORMAT, reasoning={"effort": "low"}))).json()
    assert "reasoning_text.done" in names(events)
    for response in (whole, events[-1]["response"]):
        thought, message = response["output"]
        assert (thought["type"], thought["content"]) == ("reasoning", [{"type": "reasoning_text", "text": "hm"}])
        assert message["content"][0]["text"] == '{"a":1}'
        assert response["usage"]["output_tokens_details"]["reasoning_tokens"] > 0
        assert response["reasoning"] == {"effort": "low", "summary": None}


async def test_what_is_held_back_is_sent_when_it_has_been_judged_and_never_if_it_fails(tmp_path: Path) -> None:
    texts = ['{"a"', ":1}"]
    node = NodeTwin(script=lambda _: says(*texts))
    async with gateway_with(tmp_path, node=node, serving_policy={"stream_mode": "hold_back"}) as world:
        events = await streamed(world, text=FORMAT)
        assert names(events)[-1] == "completed"
        assert "".join(event["delta"] for event in events if "delta" in event) == '{"a":1}'
        texts[:] = ["[", "]"]
        events = await streamed(world, text=FORMAT)
    assert names(events) == ["created", "in_progress", "failed"]
    assert events[-1]["response"]["output"] == []


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/responses/resp_1"),
        ("DELETE", "/v1/responses/resp_1"),
        ("POST", "/v1/responses/resp_1/cancel"),
        ("GET", "/v1/responses/resp_1/input_items"),
    ],
)
async def test_no_response_is_found_again(tmp_path: Path, method: str, path: str) -> None:
    async with gateway_with(tmp_path) as world:
        answer = await world.client.request(method, path)
        unknown = await world.client.request(method, path, headers={"Authorization": ""})
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "response_not_found")
    assert unknown.status_code == 401


@pytest.mark.parametrize("sent", [b"", b"[]", b"null", b"{", b'{"model":', b"\xff", b'{"input":1e999}'])
async def test_a_body_that_cannot_be_read_is_a_typed_error(tmp_path: Path, sent: bytes) -> None:
    async with gateway_with(tmp_path) as world:
        answer = await world.client.post(URL, content=sent, headers={"content-type": "application/json"})
    assert answer.status_code == 400
    assert answer.json()["error"]["code"]


async def test_strict_says_what_may_be_left_to_the_validator(tmp_path: Path) -> None:
    requests: list[CompileRequest] = []

    def answer(request: CompileRequest) -> Any:
        requests.append(request)
        return compiled(request)

    form = {"type": "json_schema", "name": "x", "schema": {"type": "object"}}
    pool, node = PoolTwin(answer=answer), NodeTwin(script=lambda _: says("{}"))
    async with gateway_with(tmp_path, pool=pool, node=node) as world:
        for strict in (True, False):
            sent = body(text={"format": form | {"strict": strict}})
            assert (await world.client.post(URL, json=sent)).status_code == 200
    assert [request.policy.allow_checked_after for request in requests] == [False, True]
