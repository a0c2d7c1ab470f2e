"""What a request used, apart from what was there before it: how much of a prompt is cached, others decide."""

from typing import Any

from pydantic import BaseModel


def used(usage: BaseModel | None) -> dict[str, Any]:
    """All counts but those of cached tokens, which are whole blocks of 16 and never all of a prompt."""
    assert usage is not None
    counts = usage.model_dump()
    for name, whole in (("prompt_tokens_details", "prompt_tokens"), ("input_tokens_details", "input_tokens")):
        if counts.get(name):
            cached = counts[name].pop("cached_tokens")
            assert cached % 16 == 0
            assert 0 <= cached < counts[whole]
    return counts
