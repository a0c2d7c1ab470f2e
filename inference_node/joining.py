"""Several token events as one: what a reader gets that was behind, on either side of the connection."""

from collections.abc import Sequence
from itertools import groupby

from inference_node.protocol import TokenEvent


def joined(tokens: Sequence[TokenEvent]) -> list[TokenEvent]:
    """As few events as there can be, in their order: thought and answer stay apart."""
    return [_one(list(run)) for _, run in groupby(tokens, key=lambda event: event.is_thought)]


def _one(tokens: Sequence[TokenEvent]) -> TokenEvent:
    """The matcher's state is that after the last."""
    last = tokens[-1]
    if len(tokens) == 1:
        return last
    return TokenEvent(
        text="".join(event.text for event in tokens),
        token_ids=[token_id for event in tokens for token_id in event.token_ids],
        num_forced_tokens=sum(event.num_forced_tokens for event in tokens),
        accepting=last.accepting,
        logprobs=None if last.logprobs is None else [logprob for event in tokens for logprob in event.logprobs or []],
        is_thought=last.is_thought,
    )
