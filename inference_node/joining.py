"""Several token events as one: what a reader gets that was behind, on either side of the connection."""

from collections.abc import Sequence

from inference_node.protocol import TokenEvent


def joined(tokens: Sequence[TokenEvent]) -> TokenEvent:
    """At least one event, in their order. The matcher's state is that after the last."""
    last = tokens[-1]
    if len(tokens) == 1:
        return last
    return TokenEvent(
        text="".join(event.text for event in tokens),
        token_ids=[token_id for event in tokens for token_id in event.token_ids],
        num_forced_tokens=sum(event.num_forced_tokens for event in tokens),
        accepting=last.accepting,
        logprobs=None if last.logprobs is None else [logprob for event in tokens for logprob in event.logprobs or []],
    )
