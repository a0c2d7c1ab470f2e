"""The two views of an answer, whole and streamed, which have to say the same."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx

from inference_node.protocol import StopCause
from tests.gateway.twins import NodeTwin, gateway_with, says

CHAT = "/v1/chat/completions"
VERDICT = {
    "type": "object",
    "properties": {"verdict": {"type": "string"}},
    "required": ["verdict"],
    "additionalProperties": False,
}
ID = {
    "type": "object",
    "properties": {"id": {"type": "integer"}},
    "required": ["id"],
    "additionalProperties": False,
}
LOOKUP = {"type": "function", "function": {"name": "lookup", "parameters": ID}}


def node_says(text: str, *, end: StopCause = "grammar_end", accepting: bool | None = True, size: int = 3) -> NodeTwin:
    """A node that says `text` in small pieces."""
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    return NodeTwin(script=lambda _: says(*pieces, end=end, accepting=accepting))


def events(response: httpx.Response) -> list[Any]:
    assert response.status_code == 200, response.text
    values = [block.removeprefix("data: ") for block in response.text.split("\n\n")[:-1]]
    assert values[-1] == "[DONE]"
    return [json.loads(value) for value in values[:-1]]


def put_together(chunks: Sequence[Any]) -> dict[int, dict[str, Any]]:
    """What a client makes of a stream: a message and a finish reason for each choice."""
    found: dict[int, dict[str, Any]] = {}
    for chunk in chunks:
        for choice in chunk["choices"]:
            into = found.setdefault(choice["index"], {"tool_calls": [], "finish_reasons": []})
            delta = choice["delta"]
            for name in ("content", "refusal", "reasoning", "reasoning_content"):
                if delta.get(name) is not None:
                    into[name] = into.get(name, "") + delta[name]
            for call in delta.get("tool_calls", ()):
                if "id" in call:
                    assert call["index"] == len(into["tool_calls"])
                    into["tool_calls"].append({"type": call["type"], "said": ""})
                target = into["tool_calls"][call["index"]]
                kind = target["type"]
                target["said"] += call[kind].get("arguments", "") + call[kind].get("input", "")
                target["name"] = call[kind].get("name", target.get("name"))
            if choice["finish_reason"] is not None:
                into["finish_reasons"].append(choice["finish_reason"])
    return found


async def both(tmp_path: Path, node: NodeTwin, body: dict[str, Any], **settings: Any) -> tuple[Any, Any, list[Any]]:
    """The whole answer and the stream's, which have to say the same; and the chunks."""
    async with gateway_with(tmp_path, node=node, **settings) as world:
        whole = await world.client.post(CHAT, json=body)
        chunks = events(await world.client.post(CHAT, json={**body, "stream": True}))
    assert whole.status_code == 200, whole.text
    answer = whole.json()
    streamed = put_together(chunks)
    for choice in answer["choices"]:
        message, other = choice["message"], streamed[choice["index"]]
        for name in ("content", "refusal", "reasoning", "reasoning_content"):
            assert message.get(name) == other.get(name), name
        assert [_said(call) for call in message.get("tool_calls", ())] == other["tool_calls"]
        assert other["finish_reasons"] == [choice["finish_reason"]]
    assert sum("schemagate" in chunk for chunk in chunks) == 1
    assert chunks[-1]["schemagate"]["completion"] == answer["schemagate"]["completion"]
    assert whole.headers["x-schemagate-completion"] == answer["schemagate"]["completion"]
    return answer, answer["choices"][0], chunks


def _said(call: Any) -> dict[str, Any]:
    kind = call["type"]
    return {"type": kind, "name": call[kind]["name"], "said": call[kind].get("arguments", call[kind].get("input"))}
