"""Cases from public reports about what an answer may be called: whatever stands in the case is said by a node, and both
APIs have to call it what the case does."""

import json
from pathlib import Path
from typing import Any, Literal

import pytest

from inference_node.protocol import StopCause
from inference_node.tool_dialects.hermes import HERMES
from tests.gateway.field_cases.cases import field_case
from tests.gateway.twins import MODEL, NodeTwin, World, gateway_with, says

pytestmark = pytest.mark.corpus

Api = Literal["chat", "responses"]
APIS: list[Api] = ["chat", "responses"]
URLS: dict[Api, str] = {"chat": "/v1/chat/completions", "responses": "/v1/responses"}
REASONING: dict[Api, dict[str, Any]] = {
    "chat": {"reasoning_effort": "low"},
    "responses": {"reasoning": {"effort": "low"}},
}


def speaking(text: str, *, end: StopCause = "grammar_end", accepting: bool | None = True) -> NodeTwin:
    return NodeTwin(script=lambda _: says(*text, end=end, accepting=accepting))


async def ask(world: World, api: Api, **fields: Any) -> Any:
    told: dict[str, Any] = {"messages": [{"role": "user", "content": "hi"}]} if api == "chat" else {"input": "hi"}
    return await world.client.post(URLS[api], json={"model": MODEL, "seed": 1, **told, **fields})


def under(api: Api, schema: Any) -> dict[str, Any]:
    """A strict contract in the words of either API."""
    named = {"name": "x", "strict": True, "schema": schema}
    if api == "chat":
        return {"response_format": {"type": "json_schema", "json_schema": named}}
    return {"text": {"format": {"type": "json_schema", **named}}}


def offering(api: Api, tool: dict[str, Any]) -> dict[str, Any]:
    function = {"name": tool["name"], "parameters": tool["parameters"]}
    sent = {"type": "function", "function": function} if api == "chat" else {"type": "function", **function}
    return {"tools": [sent]}


def parts(api: Api, body: Any) -> tuple[str | None, str | None, list[tuple[str, str]]]:
    """The thought, the words and the calls of an answer."""
    if api == "chat":
        message = body["choices"][0]["message"]
        calls = [(call["function"]["name"], call["function"]["arguments"]) for call in message.get("tool_calls", ())]
        return message.get("reasoning"), message["content"], calls
    items = {kind: [item for item in body["output"] if item["type"] == kind] for kind in ("reasoning", "message")}
    thoughts = [part["text"] for item in items["reasoning"] for part in item["content"]]
    words = [part["text"] for item in items["message"] for part in item["content"] if part["type"] == "output_text"]
    calls = [(item["name"], item["arguments"]) for item in body["output"] if item["type"] == "function_call"]
    return "".join(thoughts) or None, "".join(words) if words else None, calls


@pytest.mark.parametrize("thinks", [False, True])
@pytest.mark.parametrize("api", APIS)
async def test_responses_api_reasoning_parser(tmp_path: Path, api: Api, *, thinks: bool) -> None:
    """Both endpoints enforce alike, whether a thought was asked for or not, and contracts of every kind."""
    case = field_case("responses-api-reasoning-parser")
    schema, answer = case["input"]["contract"], case["valid"][0]["answer"]
    asked = REASONING[api] if thinks else {}
    kinds: list[tuple[dict[str, Any], str]] = [
        (under(api, schema), answer),
        ({"contract": {"kind": "json_schema", "schema": schema}}, answer),
        ({"contract": {"kind": "regex", "definition": "[a-z]+"}}, "abc"),
        ({"contract": {"kind": "choice", "definition": ["yes", "no"]}}, "yes"),
        ({"contract": {"kind": "lark", "definition": 'start: "a" | "b"'}}, "a"),
    ]
    if api == "chat":
        kinds.append(({"response_format": {"type": "json_object"}}, answer))
    else:
        kinds.append(({"text": {"format": {"type": "json_object"}}}, answer))
    for number, (fields, text) in enumerate(kinds):
        directory = tmp_path / str(number)
        directory.mkdir()
        node = speaking(text)
        async with gateway_with(directory, node=node) as world:
            response = await ask(world, api, **fields, **asked)
            assert response.status_code == 200, (fields, response.text)
            assert response.headers["x-schemagate-completion"] == "complete"
            assert parts(api, response.json()) == (None, text, [])
            node.script = speaking("sure! " + text).script
            prose = await ask(world, api, **fields, **asked)
            node.script = lambda _: says("", end="end_of_sequence")
            nothing = await ask(world, api, **fields, **asked)
        assert node.requests[0].artifact_key is not None
        assert prose.headers["x-schemagate-completion"] == "invalid"
        assert nothing.headers["x-schemagate-completion"] in {"invalid", "backend_failed"}


async def test_completions_without_messages_are_not_served(tmp_path: Path) -> None:
    """responses-api-reasoning-parser: an endpoint that does not enforce is not there."""
    async with gateway_with(tmp_path) as world:
        answer = await world.client.post("/v1/completions", json={"model": MODEL, "prompt": "hi"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "unknown_url")


@pytest.mark.parametrize("api", APIS)
async def test_json_sent_to_reasoning(tmp_path: Path, api: Api) -> None:
    case = field_case("json-sent-to-reasoning")
    fields = under(api, case["input"]["contract"]) | REASONING[api]
    node = NodeTwin()
    async with gateway_with(tmp_path, node=node) as world:
        for valid in case["valid"]:
            node.script = speaking(valid["raw"]).script
            response = await ask(world, api, **fields)
            assert response.headers["x-schemagate-completion"] == valid["class"]
            assert parts(api, response.json()) == (valid["reasoning"] or None, valid["content"], [])
        endless = case["invalid"][1]["raw"]
        node.script = speaking(endless, end="max_tokens", accepting=False).script
        cut = await ask(world, api, **fields)
        node.script = speaking(endless, end="end_of_sequence").script
        ended = await ask(world, api, **fields)
    assert cut.headers["x-schemagate-completion"] == "truncated"
    assert parts(api, cut.json()) == (endless.removeprefix("<think>"), None, [])
    assert ended.headers["x-schemagate-completion"] == "invalid"


@pytest.mark.parametrize("api", APIS)
async def test_tools_with_response_format(tmp_path: Path, api: Api) -> None:
    case = field_case("tools-with-response-format")
    tool = case["input"]["tools"][0]
    fields = under(api, case["input"]["contract"]) | offering(api, tool)

    async def said(world: World, text: str, **more: Any) -> Any:
        node.script = speaking(text).script
        return await ask(world, api, **fields, **more)

    node = NodeTwin()
    named = (
        {"type": "function", "function": {"name": "lookup"}}
        if api == "chat"
        else {"type": "function", "name": "lookup"}
    )
    async with gateway_with(tmp_path, node=node) as world:
        words, call = case["valid"]
        arguments = call["tool_calls"][0]["arguments"]
        called = HERMES.call_text("lookup", arguments, is_custom=False)
        empty = HERMES.call_text("lookup", case["invalid"][0]["tool_calls"][0]["arguments"], is_custom=False)
        choices: list[dict[str, Any]] = [{}, {"tool_choice": "none"}]
        for more in choices:
            answer = await said(world, words["content"], **more)
            assert answer.headers["x-schemagate-completion"] == "complete"
            assert parts(api, answer.json()) == (None, words["content"], [])
        choices = [{}, {"tool_choice": "required"}, {"tool_choice": named}]
        for more in choices:
            answer = await said(world, called, **more)
            assert answer.headers["x-schemagate-completion"] == "complete", more
            assert parts(api, answer.json()) == (None, None, [("lookup", arguments)])
        wrong = [
            await said(world, empty),
            await said(world, case["invalid"][2]["content"]),
            await said(world, HERMES.call_text("json_tool_call", "{}", is_custom=False)),
            await said(world, called, tool_choice="none"),
            await said(world, words["content"], tool_choice="required"),
            await said(world, words["content"], tool_choice=named),
        ]
    assert [answer.headers["x-schemagate-completion"] for answer in wrong] == ["invalid"] * len(wrong)
    assert [answer.status_code for answer in wrong] == [422] * len(wrong)


@pytest.mark.parametrize("api", APIS)
async def test_truncation_repaired(tmp_path: Path, api: Api) -> None:
    case = field_case("truncation-repaired")
    ends: dict[str, tuple[StopCause, bool]] = {"stop": ("grammar_end", True), "length": ("max_tokens", False)}
    async with gateway_with(tmp_path, node=(node := NodeTwin())) as world:
        for valid in case["valid"]:
            end, accepting = ends[valid["engine_finish"]]
            node.script = speaking(valid["text"], end=end, accepting=accepting).script
            answer = await ask(world, api, **under(api, case["input"]["contract"]))
            assert answer.headers["x-schemagate-completion"] == valid["class"]
            assert parts(api, answer.json())[1] == valid["text"]
        node.script = speaking(case["invalid"][1]["text"], end="max_tokens", accepting=True).script
        whole = await ask(world, api, **under(api, case["input"]["contract"]))
    assert whole.headers["x-schemagate-completion"] == "truncated"


@pytest.mark.parametrize("api", APIS)
async def test_refusal_validated_as_data(tmp_path: Path, api: Api) -> None:
    case = field_case("refusal-validated-as-data")
    declined, data = (valid["message"] for valid in case["valid"])
    fields = under(api, case["input"]["contract"])
    async with gateway_with(tmp_path, node=(node := NodeTwin()), serving_policy={"allow_refusal": True}) as world:
        node.script = speaking(f"<refusal>{declined['refusal']}</refusal>").script
        refused = await ask(world, api, **fields)
        node.script = speaking(data["content"]).script
        complete = await ask(world, api, **fields)
        ready = await world.client.get("/readyz")
    assert (refused.status_code, refused.headers["x-schemagate-completion"]) == (200, "refused")
    assert declined["refusal"] in json.dumps(refused.json(), ensure_ascii=False)
    assert parts(api, refused.json())[1] is None
    assert (complete.headers["x-schemagate-completion"], parts(api, complete.json())[1]) == (
        "complete",
        data["content"],
    )
    assert len(node.requests) == 2
    assert ready.json()["status"] == "ready"


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("stream", [False, True])
async def test_null_content_with_stop(tmp_path: Path, api: Api, *, stream: bool) -> None:
    """A stop before the grammar accepts is the engine's fault, whatever it has said until then."""
    case = field_case("null-content-with-stop")
    for number, valid in enumerate(case["valid"]):
        directory = tmp_path / str(number)
        directory.mkdir()
        node = speaking(valid["content"] or "", end="end_of_sequence", accepting=False)
        async with gateway_with(directory, node=node) as world:
            answer = await ask(world, api, **under(api, case["input"]["contract"]), stream=stream)
        assert '"backend_failed"' in answer.text
        assert '"complete"' not in answer.text
        if not stream:
            assert answer.status_code == 502
            assert answer.json()["error"]["code"] == "backend_failed"


@pytest.mark.parametrize("api", APIS)
async def test_bad_arguments_become_empty(tmp_path: Path, api: Api) -> None:
    case = field_case("bad-arguments-become-empty")
    fields = offering(api, case["input"]["tool"])
    good, cut = (valid["arguments"] for valid in case["valid"])
    async with gateway_with(tmp_path, node=(node := NodeTwin())) as world:
        node.script = speaking(HERMES.call_text("rm", good, is_custom=False)).script
        complete = await ask(world, api, **fields)
        unfinished = HERMES.call_text("rm", good, is_custom=False).partition(good)[0] + cut
        node.script = speaking(unfinished, end="max_tokens", accepting=False).script
        truncated = await ask(world, api, **fields)
        node.script = speaking(unfinished, end="end_of_sequence", accepting=False).script
        failed = await ask(world, api, **fields)
        wrong = []
        for arguments in (case["invalid"][0]["arguments"], case["invalid"][2]["arguments"], cut):
            node.script = speaking(HERMES.call_text("rm", arguments, is_custom=False)).script
            wrong.append(await ask(world, api, **fields))
    assert (complete.headers["x-schemagate-completion"], parts(api, complete.json())[2]) == ("complete", [("rm", good)])
    assert truncated.headers["x-schemagate-completion"] == "truncated"
    assert parts(api, truncated.json())[2] == [("rm", cut)]
    assert failed.headers["x-schemagate-completion"] == "backend_failed"
    assert [answer.headers["x-schemagate-completion"] for answer in wrong] == ["invalid"] * 3


@pytest.mark.parametrize("api", APIS)
async def test_tokens_past_the_end(tmp_path: Path, api: Api) -> None:
    """Whatever a node sends after the end of the value is no part of a complete answer."""
    case = field_case("tokens-past-the-end")
    accepted, discarded = case["valid"][0]["accepted"][0], case["valid"][0]["discarded"]
    fields = under(api, case["input"]["contract"])
    async with gateway_with(tmp_path, node=(node := NodeTwin())) as world:
        node.script = lambda _: says(accepted, "")
        complete = await ask(world, api, **fields)
        node.script = lambda _: says(accepted, *discarded)
        surplus = await ask(world, api, **fields)
        node.script = lambda _: [*says(accepted), *says(accepted, *discarded)[2:]]
        after = await ask(world, api, **fields)
    assert (complete.headers["x-schemagate-completion"], parts(api, complete.json())[1]) == ("complete", accepted)
    assert surplus.headers["x-schemagate-completion"] == "invalid"
    assert (after.headers["x-schemagate-completion"], parts(api, after.json())[1]) == ("complete", accepted)
