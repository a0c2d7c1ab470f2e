"""What is seen of an answer: the events of its stream, and the metrics."""

import json
from typing import Any

from gateway.services import SERVICES
from tests.gateway.twins import World

VALID = '{"title":"A"}'
PROSE = "Sure! Here is a title."


def events_of(text: str) -> list[dict[str, Any]]:
    lines = [line.removeprefix("data: ") for line in text.split("\n\n") if line]
    assert lines[-1] == "[DONE]"
    return [json.loads(line) for line in lines[:-1]]


def metric(world: World, name: str, **labels: str) -> float:
    value = getattr(world.app.state, SERVICES).metrics.registry.get_sample_value(name, labels)
    return 0.0 if value is None else float(value)
