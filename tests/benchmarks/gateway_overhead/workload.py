"""What is asked and what is answered: one contract, one prompt, one valid object, cut into tokens."""

import json
from itertools import pairwise
from typing import Any, Final

MODEL: Final = "stub-model"
OPENAI_MODEL: Final = "stub-over-openai"
"""What the gateway calls the same backend where it asks it as an OpenAI server."""
PROMPT_TOKENS: Final = 57
CONTRACT: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "invoice": {"type": "string", "pattern": "^INV-[0-9]{6}$"},
        "issued": {"type": "string", "format": "date"},
        "currency": {"enum": ["EUR", "USD", "GBP"]},
        "lines": {
            "type": "array",
            "minItems": 1,
            "maxItems": 8,
            "items": {
                "type": "object",
                "properties": {
                    "article": {"type": "string", "maxLength": 40},
                    "quantity": {"type": "integer", "minimum": 1, "maximum": 999},
                    "price_cents": {"type": "integer", "minimum": 0},
                },
                "required": ["article", "quantity", "price_cents"],
                "additionalProperties": False,
            },
        },
        "paid": {"type": "boolean"},
    },
    "required": ["invoice", "issued", "currency", "lines", "paid"],
    "additionalProperties": False,
}
ANSWER: Final = json.dumps(
    {
        "invoice": "INV-204817",
        "issued": "2026-11-30",
        "currency": "EUR",
        "lines": [{"article": "drill bit", "quantity": 4, "price_cents": 299}],
        "paid": False,
    },
    separators=(",", ":"),
)


def pieces(num_tokens: int) -> list[str]:
    """The answer in so many tokens."""
    bounds = [len(ANSWER) * at // num_tokens for at in range(num_tokens + 1)]
    return [ANSWER[begin:end] for begin, end in pairwise(bounds)]


def request_body(*, model: str, stream: bool) -> bytes:
    """The same bytes for whoever is asked, but for the model's name."""
    response_format = {"type": "json_schema", "json_schema": {"name": "invoice", "strict": True, "schema": CONTRACT}}
    body: dict[str, Any] = {
        "model": model,
        "messages": [
            {"role": "system", "content": "You read invoices and answer with one object."},
            {"role": "user", "content": "Invoice INV-204817 of 30 November 2026: four drill bits at 2.99 EUR, open."},
        ],
        "response_format": response_format,
        "max_tokens": 128,
        "temperature": 0.0,
        "seed": 7,
        "stream": stream,
    }
    return json.dumps(body).encode()
