"""A node says how its model spells calls; callers of either API see calls, refusals and words, never a spelling."""

import json
from pathlib import Path
from typing import Any

import pytest

from inference_node.protocol import GenerateRequest, StopCause
from inference_node.tool_dialects.choosing import TOOL_DIALECTS
from tests.gateway.chat.views import CHAT, LOOKUP, VERDICT, both
from tests.gateway.twins import MODEL, NODE, Event, NodeTwin, chat, gateway_with, says, strict

NAMES = ["dsml", "hermes", "llama_json"]
"""One of each form; the others differ from these by a word."""
BESIDE_ANSWERS = [name for name in NAMES if TOOL_DIALECTS[name].follows_words]
REFUSING = '{"allow_refusal": true}'
every_dialect = pytest.mark.parametrize("name", NAMES)


def node_of(name: str, text: str, *, end: StopCause = "grammar_end", accepting: bool | None = True) -> NodeTwin:
    def script(_: GenerateRequest) -> list[Event]:
        return says(*(text[at : at + 3] for at in range(0, len(text), 3)), end=end, accepting=accepting)

    return NodeTwin(identity=NODE.model_copy(update={"tool_dialect": name}), script=script)


def call(name: str) -> str:
    dialect = TOOL_DIALECTS[name]
    arguments = '{"id":7}'
    if dialect.parameters is not None:
        arguments = f"{dialect.parameters.begin('id', is_text=False)}7{dialect.parameters.end}"
    return dialect.call_text("lookup", arguments, is_custom=False)


@every_dialect
@pytest.mark.parametrize(
    "choice", ["auto", {"type": "function", "function": {"name": "lookup"}}], ids=["auto", "named"]
)
async def test_a_call_is_read_from_the_models_own_spelling(tmp_path: Path, name: str, choice: Any) -> None:
    node = node_of(name, call(name))
    answer, said, _ = await both(tmp_path, node, chat(tools=[LOOKUP], tool_choice=choice))
    (called,) = said["message"]["tool_calls"]
    assert (called["function"]["name"], json.loads(called["function"]["arguments"])) == ("lookup", {"id": 7})
    assert (said["finish_reason"], said["message"]["content"]) == ("tool_calls", None)
    assert (answer["schemagate"]["completion"], answer["schemagate"]["branch"]) == ("complete", "calls")


@every_dialect
async def test_without_a_choice_of_tools_words_are_words(tmp_path: Path, name: str) -> None:
    text = f"I would say {call(name)}"
    node = node_of(name, text, end="end_of_sequence", accepting=None)
    answer, said, _ = await both(tmp_path, node, chat(tools=[LOOKUP], tool_choice="none"))
    assert said["message"]["content"] == text
    assert answer["schemagate"]["branch"] == "text"


@every_dialect
async def test_a_refusal_is_told_as_one_by_both_apis(tmp_path: Path, name: str) -> None:
    """Never an answer, never a call, and nothing is tried again."""
    node = node_of(name, "<refusal>I can't.</refusal>")
    body = chat(tools=[LOOKUP], tool_choice="required")
    answer, said, _ = await both(tmp_path, node, body, serving_policy=REFUSING)
    assert (said["message"]["refusal"], said["message"]["content"], said["finish_reason"]) == ("I can't.", None, "stop")
    assert "tool_calls" not in said["message"] or not said["message"]["tool_calls"]
    assert (answer["schemagate"]["completion"], answer["schemagate"]["branch"]) == ("refused", "refusal")
    assert len(node.requests) == 2  # one for each view
    flat = {"type": "function", **LOOKUP["function"]}  # type: ignore[dict-item]
    fields = {"model": MODEL, "input": "hi", "tools": [flat], "tool_choice": "required"}
    async with gateway_with(tmp_path, node=node, serving_policy=REFUSING) as world:
        response = (await world.client.post("/v1/responses", json=fields)).json()
    (message,) = response["output"]
    assert message["content"] == [{"type": "refusal", "refusal": "I can't."}]
    assert (response["schemagate"]["completion"], response["schemagate"]["branch"]) == ("refused", "refusal")


@pytest.mark.parametrize("name", BESIDE_ANSWERS)
async def test_an_answer_under_a_contract_is_no_call(tmp_path: Path, name: str) -> None:
    text = json.dumps({"verdict": call(name)}, ensure_ascii=False, separators=(",", ":"))
    answer, said, _ = await both(tmp_path, node_of(name, text), strict(VERDICT, tools=[LOOKUP]))
    assert (said["message"]["content"], answer["schemagate"]["branch"]) == (text, "answer")


async def test_an_answer_beside_calls_that_nothing_would_tell_apart_is_refused(tmp_path: Path) -> None:
    async with gateway_with(tmp_path, node=node_of("llama_json", "")) as world:
        response = await world.client.post(CHAT, json=strict(VERDICT, tools=[LOOKUP]))
    assert response.status_code == 400
    assert "llama_json" in response.json()["error"]["message"]


async def test_a_node_whose_spelling_is_not_known_here_gets_no_requests(tmp_path: Path) -> None:
    async with gateway_with(tmp_path, node=node_of("klingon", "")) as world:
        response = await world.client.post(CHAT, json=chat())
    assert response.status_code == 503
