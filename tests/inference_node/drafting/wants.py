"""What tests of sources ask them."""

from collections.abc import Sequence
from typing import Any

from inference_node.drafting.source import DraftWant


def want(token_ids: Sequence[int], **changes: Any) -> DraftWant:
    """A greedy want of the first sequence, its prompt the first token."""
    options: dict[str, Any] = {
        "key": 1,
        "num_prompt_tokens": 1,
        "max_drafts": 8,
        "seed": 0,
        "temperature": 0.0,
        "top_k": 0,
        "top_p": 1.0,
        "place": len(token_ids) - 1,
    }
    return DraftWant(token_ids=token_ids, **(options | changes))
