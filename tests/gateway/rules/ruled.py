"""A gateway under rules that are set through its API, and what is asked of it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx

from tests.gateway.twins import NodeTwin, World, gateway_with, says, strict

CHAT = "/v1/chat/completions"
RULES = "/v1/admin/tenants/local/rules"
INVOICE = {
    "type": "object",
    "properties": {"net": {"type": "integer"}, "vat": {"type": "integer"}, "total": {"type": "integer"}},
    "required": ["net", "vat", "total"],
    "additionalProperties": False,
}
RIGHT, WRONG = '{"net":10,"vat":2,"total":12}', '{"net":10,"vat":2,"total":13}'
ADDS_UP = {"name": "adds-up", "cel": "object.total == object.net + object.vat", "message": "net and vat are not total"}


@asynccontextmanager
async def under(tmp_path: Path, rules: dict[str, Any], text: str = RIGHT, **settings: Any) -> AsyncIterator[World]:
    """A gateway whose model says `text`, and whose tenant has these rules."""
    node = settings.pop("node", None) or NodeTwin(script=lambda _: says(text))
    async with gateway_with(tmp_path, node=node, rule_seconds=1.0, **settings) as world:
        answered = await world.client.put(RULES, json=rules)
        assert answered.status_code == 200, answered.text
        yield world


async def ask(world: World, **fields: Any) -> httpx.Response:
    return await world.client.post(CHAT, json=strict(INVOICE, **fields))


def results(member: Any) -> list[tuple[str, str, str]]:
    return [(rule["name"], rule["kind"], rule["verdict"]) for rule in member["validation"]["rules"]]
