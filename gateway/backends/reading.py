"""From the chunks of one answer to its events: the first contradiction ends it as a failure."""

from collections.abc import AsyncIterator, Iterator
from typing import Final

import structlog

from gateway.backends.event_lines import BrokenStreamError
from gateway.backends.events import RefusalText, UpstreamEnd, UpstreamEvent, UpstreamFinish
from gateway.backends.faults import SaidFault, fault_in
from gateway.backends.protocol import Chunk, ChunkChoice
from gateway.backends.tally import Tally
from inference_node.errors import NodeUnavailableError
from inference_node.protocol import TokenEvent
from inference_node.streaming_http import StreamBrokenError

_log = structlog.get_logger(__name__)

MAX_ANSWER_CHARACTERS: Final = 8 * 1024 * 1024
"""What the judge reads at most."""

_ENDS: Final[dict[str, UpstreamEnd]] = {
    "stop": "end_of_sequence",
    "length": "max_tokens",
    "content_filter": "content_filter",
}
"""Every other reason is a failure: `abort`, calls of tools that nobody offered, and whatever is not in the API."""


class _BrokenAnswerError(Exception):
    """The answer contradicts itself or the API."""


async def read_answer(
    stream: AsyncIterator[Chunk], tally: Tally, name: str, *, is_hinted: bool = False
) -> AsyncIterator[UpstreamEvent]:
    """The events of an answer of the backend `name`. After the reason of its end only the usage is waited for.

    `is_hinted` says that the backend was told of the contract, and took it.

    Raises:
        NodeUnavailableError: the stream broke off before that.
    """
    reading = _Reading()
    message = None
    try:
        async for chunk in stream:
            if chunk.usage is not None:
                tally.usage = chunk.usage
            for event in reading.events(chunk):
                tally.num_pieces += 1
                yield event
    except _BrokenAnswerError as error:
        reading.end, message = "engine_failed", str(error)
        _log.warning("a backend's answer failed", backend=name, why=message)
    except (StreamBrokenError, BrokenStreamError) as error:
        if reading.end is None:
            raise NodeUnavailableError(base_url=name, reason=f"the stream broke off: {error.reason}") from error
    if reading.end is None:
        raise NodeUnavailableError(base_url=name, reason="the stream ended without a finish reason")
    yield UpstreamFinish(end=reading.end, usage=tally.close(), is_hinted=is_hinted, message=message)


class _Reading:
    """How far an answer has come."""

    def __init__(self) -> None:
        self.end: UpstreamEnd | None = None
        self._has_refused = False
        self._num_characters = 0

    def events(self, chunk: Chunk) -> Iterator[TokenEvent | RefusalText]:
        """The new text.

        Raises:
            _BrokenAnswerError: the chunk says that the server failed, or makes no sense after what came before.
        """
        said = error_in(chunk)
        if said is not None:
            raise _BrokenAnswerError(f"an error event ({said.code or said.type})")
        for choice in chunk.choices:
            if choice.index != 0:
                raise _BrokenAnswerError("a second choice, which nobody asked for")
            for event in _texts(choice):
                if self.end is not None:
                    raise _BrokenAnswerError("text after the end")
                if self._has_refused and isinstance(event, TokenEvent):
                    raise _BrokenAnswerError("words after a refusal")
                self._num_characters += len(event.text)
                self._has_refused = self._has_refused or isinstance(event, RefusalText)
                yield event
            if self._num_characters > MAX_ANSWER_CHARACTERS:
                raise _BrokenAnswerError("the answer is longer than any that is judged")
            self._close(choice)

    def _close(self, choice: ChunkChoice) -> None:
        if choice.delta is not None and (choice.delta.tool_calls or choice.delta.function_call is not None):
            raise _BrokenAnswerError("a call of a tool that nobody offered")
        if choice.finish_reason is None:
            return
        end = _ENDS.get(choice.finish_reason)
        if end is None:
            raise _BrokenAnswerError(f"the finish reason {choice.finish_reason[:64]!r}")
        if end == "end_of_sequence" and self._has_refused:
            end = "model_refused"
        elif end == "end_of_sequence" and isinstance(choice.stop_reason, str):
            end = "stop_string"
        if self.end not in {None, end}:
            raise _BrokenAnswerError("two reasons of the end")
        self.end = end


def _texts(choice: ChunkChoice) -> Iterator[TokenEvent | RefusalText]:
    delta = choice.delta
    if delta is None:
        return
    if delta.content:
        yield TokenEvent(text=delta.content, token_ids=[], num_forced_tokens=0, accepting=None)
    if delta.refusal:
        yield RefusalText(text=delta.refusal)


def error_in(chunk: Chunk) -> SaidFault | None:
    """What a chunk that is an error says."""
    if chunk.error is not None:
        return fault_in({"error": chunk.error}) or SaidFault()
    return SaidFault(type="error") if chunk.object == "error" else None
