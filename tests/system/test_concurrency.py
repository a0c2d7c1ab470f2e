"""Eight callers at once, each with a contract of their own."""

import asyncio
import json
from typing import Any

import jsonschema
import openai
import pytest

from tests.system.product import Product

pytestmark = pytest.mark.system


def closed(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


EIGHT_SCHEMAS: list[dict[str, Any]] = [
    closed({"name": {"type": "string", "maxLength": 20}}),
    closed({"age": {"type": "integer", "minimum": 0, "maximum": 120}, "alive": {"type": "boolean"}}),
    closed({"colours": {"type": "array", "items": {"enum": ["red", "green", "blue"]}, "minItems": 1, "maxItems": 3}}),
    closed({"when": {"format": "date", "type": "string"}, "where": {"type": "string", "pattern": "^[A-Z]{2}[0-9]$"}}),
    closed({"value": {"anyOf": [{"type": "null"}, {"type": "number", "minimum": 0, "maximum": 1}]}}),
    closed({"point": closed({"x": {"type": "integer", "maximum": 9}, "y": {"type": "integer", "minimum": -9}})}),
    closed({"id": {"type": "string", "format": "uuid"}, "kind": {"const": "order"}}),
    {"type": "array", "items": {"$ref": "#/$defs/pair"}, "minItems": 2, "maxItems": 2,
     "$defs": {"pair": closed({"k": {"enum": ["a", "b"]}, "v": {"type": "boolean"}})}},
]  # fmt: skip


async def ask(api: openai.AsyncOpenAI, model: str, schema: dict[str, Any], *, seed: int) -> tuple[str, int, str]:
    answer = await api.chat.completions.create(
        model=model,
        messages=[{"role": "user", "content": "Invent an example record."}],
        response_format={"type": "json_schema", "json_schema": {"name": "record", "strict": True, "schema": schema}},
        max_tokens=160,
        temperature=1.0,
        seed=seed,
    )
    assert answer.usage is not None
    assert answer.model_extra is not None
    return (
        answer.choices[0].message.content or "",
        answer.usage.completion_tokens,
        answer.model_extra["schemagate"]["completion"],
    )


async def test_eight_schemas_at_once_complete_and_equal_their_solo_runs(product: Product) -> None:
    async with openai.AsyncOpenAI(base_url=f"{product.gateway_url}/v1", api_key=product.api_key) as api:
        model = (await api.models.list()).data[0].id
        alone = [await ask(api, model, schema, seed=seed) for seed, schema in enumerate(EIGHT_SCHEMAS)]
        together = await asyncio.gather(
            *(ask(api, model, schema, seed=seed) for seed, schema in enumerate(EIGHT_SCHEMAS))
        )
    assert [completion for _, _, completion in together] == ["complete"] * len(EIGHT_SCHEMAS)
    for (text, _, _), schema in zip(together, EIGHT_SCHEMAS, strict=True):
        jsonschema.validate(json.loads(text), schema, format_checker=jsonschema.FormatChecker())
    assert together == alone
