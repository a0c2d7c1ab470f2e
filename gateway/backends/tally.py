"""What one answer of a backend took: its own count, or ours where it gave none."""

from collections.abc import Sequence
from typing import Final

from gateway.backends.protocol import ChunkUsage
from gateway.budgets.meter import Meter
from inference_node.protocol import ChatMessage, Usage

_BYTES_PER_TOKEN: Final = 4
_TOKENS_PER_MESSAGE: Final = 4
"""Of text in most languages and of most chat templates: for prompts whose tokens nobody has counted."""


class Tally:
    """Put on the meter once, by the first `close`."""

    def __init__(self, meter: Meter, messages: Sequence[ChatMessage], *, is_retry: bool) -> None:
        self.usage: ChunkUsage | None = None
        self.num_pieces = 0
        """Pieces of text; most servers send one a token."""
        self._meter = meter
        self._messages = messages
        self._is_retry = is_retry
        self._closed: Usage | None = None

    def close(self) -> Usage:
        """What it came to."""
        if self._closed is not None:
            return self._closed
        counted = self.usage
        prompt = _estimate(self._messages) if counted is None else counted.prompt_tokens
        completion = self.num_pieces if counted is None else counted.completion_tokens
        details = None if counted is None else counted.prompt_tokens_details
        meter = self._meter
        meter.prompt_tokens += prompt
        meter.completion_tokens += completion
        if details is not None and details.cached_tokens is not None:
            meter.cached_prompt_tokens += min(details.cached_tokens, prompt)
        if self._is_retry:
            meter.retry_prompt_tokens += prompt
            meter.retry_completion_tokens += completion
        self._closed = Usage(prompt_tokens=prompt, completion_tokens=completion, forced_tokens=0)
        return self._closed


def _estimate(messages: Sequence[ChatMessage]) -> int:
    return sum(len(message.content.encode()) // _BYTES_PER_TOKEN + _TOKENS_PER_MESSAGE for message in messages)
