"""From a sequence's tokens to its events: text that may be sent, with the tokens and log probabilities behind it."""

from collections.abc import Sequence
from typing import Final, Protocol

from compiler_pool.tokenizer import BoundTokenizer
from inference_node.protocol import Finish, GenerateEvent, Started, TokenEvent, TokenLogprob
from inference_node.text_stream import TextStream


class EventSink(Protocol):
    """Where a sequence's events go. Called from the step loop's thread: never blocks, never raises."""

    def put(self, event: GenerateEvent) -> None:
        """Take the next event, in order; `Finish` is the last."""


class TokenSender:
    """Tokens whose text is held back wait for it; at the end they are sent without."""

    def __init__(self, stream: TextStream, tokenizer: BoundTokenizer, sink: EventSink, *, has_logprobs: bool) -> None:
        self.stream = stream
        self._tokenizer = tokenizer
        self._sink = sink
        self._has_logprobs = has_logprobs
        self._unsent_ids: list[int] = []
        self._num_unsent_forced = 0
        self._unsent_logprobs: list[tuple[int, TokenLogprob]] = []
        """Each with the byte of the text at which its token begins."""
        self._num_bytes = 0
        self._has_unspoken = False
        """A special token was taken that stands for no text: the matcher knows of it, the text does not."""

    @property
    def is_text_exact(self) -> bool:
        """Whether the sent text is what the tokens say, byte for byte."""
        return self.stream.is_exact and not self._has_unspoken

    @property
    def num_unsent(self) -> int:
        """Tokens that no event carried yet."""
        return len(self._unsent_ids)

    @property
    def unsent_logprobs(self) -> tuple[tuple[int, TokenLogprob], ...]:
        """Of those tokens, each with the byte of the text at which its token begins."""
        return tuple(self._unsent_logprobs)

    def announce(self, *, prompt_tokens: int) -> None:
        """First event."""
        self._sink.put(Started(prompt_tokens=prompt_tokens))

    def add_end(self, token_id: int) -> None:
        """An end token, which is no text: it goes out with the last event."""
        self._unsent_ids.append(token_id)

    def add(self, token_id: int, logprob: TokenLogprob | None, *, is_forced: bool, accepting: bool | None) -> bytes:
        """The next token, and its text as far as it can be sent; its bytes. `accepting` is of the matcher after it."""
        released, data = self._take(token_id, logprob, is_forced=is_forced)
        if released:
            self._send(released, accepting=accepting)
        return data

    def replay(self, token_id: int, *, is_forced: bool, is_sent: bool) -> None:
        """A token of an answer that goes on from elsewhere; what was sent there is not sent again."""
        self._take(token_id, None, is_forced=is_forced)
        if is_sent:
            self._clear()

    def think(
        self, token_ids: Sequence[int], text: str, *, num_forced: int, accepting: bool | None, is_last: bool
    ) -> None:
        """Tokens of the thought before the answer. After the last, what is sent is the answer's."""
        self._unsent_ids.extend(token_ids)
        self._num_unsent_forced += num_forced
        if text or (is_last and self._unsent_ids):
            self._put(text, accepting=accepting, logprobs=None, is_thought=True)

    def replay_thought(self, token_id: int, *, is_forced: bool, is_sent: bool) -> None:
        """A token of the thought of an answer that goes on from elsewhere."""
        self._unsent_ids.append(token_id)
        self._num_unsent_forced += is_forced
        if is_sent:
            self._clear()

    def restore_logprobs(self, logprobs: tuple[tuple[int, TokenLogprob], ...]) -> None:
        """Of the replayed tokens that were not sent."""
        self._unsent_logprobs = list(logprobs)

    def flush(self, *, accepting: bool | None) -> None:
        """Send what was held back."""
        released = self.stream.finish()
        if released or self._unsent_ids:
            self._send(released, accepting=accepting)

    def finish(self, finish: Finish) -> None:
        """Last event."""
        self._sink.put(finish)

    def _take(self, token_id: int, logprob: TokenLogprob | None, *, is_forced: bool) -> tuple[str, bytes]:
        self._unsent_ids.append(token_id)
        self._num_unsent_forced += is_forced
        data = self._tokenizer.text_of(token_id)
        is_text = bool(data)
        self._has_unspoken |= not is_text
        if logprob is not None and is_text:
            self._unsent_logprobs.append((self._num_bytes, logprob))
        self._num_bytes += len(data)
        return self.stream.push(data), data

    def _send(self, text: str, *, accepting: bool | None) -> None:
        self._put(text, accepting=accepting, logprobs=self._spoken_logprobs(), is_thought=False)

    def _put(self, text: str, *, accepting: bool | None, logprobs: list[TokenLogprob] | None, is_thought: bool) -> None:
        self._sink.put(
            _token_event(
                {
                    "event": "token",
                    "text": text,
                    "token_ids": self._unsent_ids,
                    "num_forced_tokens": self._num_unsent_forced,
                    "accepting": accepting,
                    "logprobs": logprobs,
                    "is_thought": is_thought,
                }
            )
        )
        self._clear()

    def _clear(self) -> None:
        self._unsent_ids = []
        self._num_unsent_forced = 0

    def _spoken_logprobs(self) -> list[TokenLogprob] | None:
        """Of the tokens whose text begins before where the sent text ends: a stop string's own tokens have none."""
        if not self._has_logprobs:
            return None
        num_sent = len(self.stream.sent_text.encode()) if self.stream.stopped_by is not None else self._num_bytes
        spoken = [logprob for begins_at, logprob in self._unsent_logprobs if begins_at < num_sent]
        self._unsent_logprobs = []
        return spoken


_TOKEN_MEMBERS: Final = set(TokenEvent.model_fields)


def _token_event(members: dict[str, object]) -> TokenEvent:
    """From all of its members, by their types: made by us, so nothing is checked again.

    It runs for every token of every sequence, and takes 1 µs; with checks it is 3, and by `model_construct` 6.
    """
    event = TokenEvent.__new__(TokenEvent)
    object.__setattr__(event, "__dict__", members)
    object.__setattr__(event, "__pydantic_fields_set__", _TOKEN_MEMBERS)
    object.__setattr__(event, "__pydantic_extra__", None)
    object.__setattr__(event, "__pydantic_private__", None)
    return event
