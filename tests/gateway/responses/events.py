"""Reading a stream of events as they are on the wire."""

import json
from typing import Any


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
