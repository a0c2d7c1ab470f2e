"""What answers of the Responses API may hold: calls, refusals, thoughts, log probabilities."""

from pathlib import Path

from inference_node.protocol import GenerateRequest, TokenEvent, TokenLogprob, TopLogprob
from inference_node.tool_dialects.hermes import HERMES
from tests.gateway.responses.asking import CUSTOM, FORMAT, FUNCTION, URL, body, names, steady, streamed
from tests.gateway.twins import Event, NodeTwin, gateway_with, says


async def test_a_function_is_called(tmp_path: Path) -> None:
    text = HERMES.call_text("weather", '{"city":"Oslo"}', is_custom=False)
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
    text = "Let me see. " + HERMES.call_text("run", "ls -l", is_custom=True)
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
    text = "\n".join(HERMES.call_text("weather", f'{{"n":{number}}}', is_custom=False) for number in (1, 2))
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


async def test_what_was_said_is_taken_back_as_input_as_it_came(tmp_path: Path) -> None:
    words = "<think>hm</think>Let me see. "
    calls = [
        HERMES.call_text("weather", '{"n":1}', is_custom=False),
        HERMES.call_text("run", "ls", is_custom=True),
    ]
    text = words + "".join(calls)
    node = NodeTwin(script=lambda _: says(text, end="end_of_sequence"))
    asked = {"tools": [FUNCTION, CUSTOM], "reasoning": {"effort": "low"}}
    async with gateway_with(tmp_path, node=node) as world:
        output = (await world.client.post(URL, json=body(**asked))).json()["output"]
        assert [item["type"] for item in output] == ["reasoning", "message", "function_call", "custom_tool_call"]
        results = [
            {"type": f"{call['type']}_output", "call_id": call["call_id"], "output": "done"} for call in output[2:]
        ]
        told = [{"role": "user", "content": "hi"}, *output, *results]
        answer = await world.client.post(URL, json=body(input=told, **asked))
    assert answer.status_code == 200, answer.text
    assert [message.role for message in node.requests[1].messages] == ["user", "assistant", "tool", "tool"]
    assert [call.text for call in node.requests[1].messages[1].tool_calls] == ['{"n":1}', "ls"]
    assert answer.json()["schemagate"]["ignored"]["input.reasoning"] == "earlier thoughts are not given to the model"
