"""`POST /v1/responses` over a pool and a node in memory: what is asked, and what a test reads of the answer."""

import json
from typing import Any

from openai.types.responses import ResponseStreamEvent
from pydantic import TypeAdapter

from tests.gateway.twins import MODEL, World

URL = "/v1/responses"
FORMAT = {"format": {"type": "json_object"}}
FUNCTION = {"type": "function", "name": "weather", "parameters": {"type": "object"}}
CUSTOM = {"type": "custom", "name": "run"}
_EVENT: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent)
_TERMINAL = {"completed", "incomplete", "failed", "error"}
_VOLATILE = {"id", "created_at", "completed_at", "call_id", "timings", "item_id"}


def body(**fields: Any) -> dict[str, Any]:
    """A body."""
    return {"model": MODEL, "input": "hi", "seed": 1} | fields


def steady(value: Any) -> Any:
    """`value` without what differs from one answer to the next."""
    if isinstance(value, dict):
        return {name: steady(member) for name, member in value.items() if name not in _VOLATILE}
    return [steady(item) for item in value] if isinstance(value, list) else value


async def streamed(world: World, **fields: Any) -> list[dict[str, Any]]:
    """The events of an answer: well formed, as the stock client has them, and only the last is terminal."""
    answer = await world.client.post(URL, json=body(stream=True, **fields))
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
    events = read_events(answer.text)
    for event in events:
        _EVENT.validate_python(event)
    assert names(events)[:2] == ["created", "in_progress"]
    assert [name for name in names(events) if name in _TERMINAL] == [names(events)[-1]]
    return events


def read_events(body: str) -> list[dict[str, Any]]:
    """The events; each has its name on its own line, and they are numbered without a gap."""
    events = []
    for block in body.split("\n\n")[:-1]:
        name, data = block.split("\n")
        event = json.loads(data.removeprefix("data: "))
        assert name == f"event: {event['type']}"
        events.append(event)
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    return events


def names(events: list[dict[str, Any]]) -> list[str]:
    """Their types, without what all have in common."""
    return [event["type"].removeprefix("response.") for event in events]
