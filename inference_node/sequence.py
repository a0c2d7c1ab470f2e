"""One request while it decodes: its tokens, its place in its grammar, its text, and why it ends.

Knows nothing of tensors or threads: the step loop asks for slices, and gives it one token at a time.
"""

import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from compiler_pool.tokenizer import BoundTokenizer
from inference_node.matcher import GrammarMatcher
from inference_node.protocol import (
    Finish,
    GenerateEvent,
    NodeTimings,
    Started,
    StopCause,
    TokenEvent,
    TokenLogprob,
    Usage,
)
from inference_node.sampler import SamplingChoice
from inference_node.text_stream import TextStream


class EventSink(Protocol):
    """Where a sequence's events go. Called from the step loop's thread: never blocks, never raises."""

    def put(self, event: GenerateEvent) -> None:
        """Take the next event, in order; `Finish` is the last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SequenceRequest:
    """What to decode. `max_tokens` None: whatever the context allows. `matcher` None: unconstrained."""

    request_id: str
    prompt_ids: Sequence[int]
    choice: SamplingChoice
    max_tokens: int | None
    stop_strings: Sequence[str]
    matcher: GrammarMatcher | None
    num_top_logprobs: int | None = None
    """None: no log probabilities. With them every token is picked from a row, also where the grammar has one choice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """Why a sequence is over. `message` is for what went wrong, and holds nothing of the grammar's text."""

    cause: StopCause
    stop_string: str | None = None
    message: str | None = None


# The causes after which the matcher can say whether the text that was sent is complete. After any other the answer is
# no: nothing that broke off is called whole.
_ORDERLY_CAUSES = frozenset({"end_of_sequence", "grammar_end", "max_tokens", "context_full", "stop_string"})


class DecodingSequence:
    """Created when a request is accepted, dropped after its `Finish`. Only the step loop's thread changes it."""

    def __init__(
        self, request: SequenceRequest, tokenizer: BoundTokenizer, sink: EventSink, *, context_tokens: int
    ) -> None:
        self.request = request
        self.matcher = request.matcher
        self.token_ids = list(request.prompt_ids)
        self.num_computed = 0
        """Tokens whose keys and values are in the cache."""
        self.is_cancelled = False
        """Set from any thread; seen before the next step."""
        self.mask_seconds = 0.0
        self.tokenizer = tokenizer
        self._sink = sink
        self._context_tokens = context_tokens
        self._owed: deque[tuple[int, TokenLogprob | None, bool]] = deque()
        """Tokens that are decided and not taken yet, and whether they were forced: the matcher broke before them."""
        self._asks_forced = False
        self._stream = TextStream(request.stop_strings)
        self._num_forced = 0
        self._unsent_ids: list[int] = []
        self._num_unsent_forced = 0
        self._unsent_logprobs: list[tuple[int, TokenLogprob]] = []
        """Each with the byte of the text at which its token begins."""
        self._num_bytes = 0
        self._has_unspoken = False
        """A special token was taken that stands for no text: the matcher knows of it, the text does not."""
        self._submitted_at = time.perf_counter()
        self._admitted_at: float | None = None
        self._prefilled_at: float | None = None

    @property
    def num_completion_tokens(self) -> int:
        """Tokens after the prompt, the end token included."""
        return len(self.token_ids) - len(self.request.prompt_ids)

    @property
    def num_pending(self) -> int:
        """Tokens that a forward pass has yet to see before the next can be picked."""
        return len(self.token_ids) - self.num_computed

    @property
    def is_behind(self) -> bool:
        """Whether `resume` has something to do before the next token can be picked, or a pass computed."""
        return self._asks_forced or bool(self._owed)

    def announce(self) -> None:
        """First event."""
        self._sink.put(Started(prompt_tokens=len(self.request.prompt_ids)))

    def begin(self) -> None:
        """It has its place in the cache. What the grammar forces from the start is taken before the first pass."""
        self._admitted_at = time.perf_counter()
        self._asks_forced = self._takes_forced

    def take(self, token_id: int, logprob: TokenLogprob | None = None) -> Ending | None:
        """Append the picked token, and after it what the grammar forces. None: go on."""
        if self._prefilled_at is None:
            self._prefilled_at = time.perf_counter()
        self._owed.append((token_id, logprob, False))
        self._asks_forced = self._takes_forced
        return self.resume()

    def resume(self) -> Ending | None:
        """Take what is owed, token by token, so that each event says where text and matcher both stand.

        Ends early where the matcher breaks: call it again once that is repaired, and nothing is lost or taken twice.
        """
        while self.is_behind and not (self.matcher is not None and self.matcher.is_broken):
            ending = self._take_owed() if self._owed else self._ask_forced()
            if ending is not None:
                return ending
        return self._ending_by_grammar()

    def ending_by_mask(self) -> Ending | None:
        """After a mask was filled: the matcher may have failed or broken, or found that nothing can continue."""
        if self.matcher is not None and self.matcher.is_broken:
            # On a broken lexer nothing is forced: what should have been comes before any pick.
            self._asks_forced = True
        return None if self.matcher is None or self.matcher.is_standing else self._ending_by_grammar()

    def needs_judgement(self, ending: Ending) -> bool:
        """Whether the sent text is not what the matcher stands at, so that `judge` has to run over it."""
        return self.matcher is not None and ending.cause in _ORDERLY_CAUSES and not self._is_text_exact()

    def flush(self) -> None:
        """Send what was held back. Before `judge` and `finish`."""
        self._send(self._stream.finish(), is_last=True)

    def judge(self, ending: Ending) -> bool | None:
        """Whether exactly the text that was sent is complete. Can take as long as the text: not for the step loop."""
        if self.matcher is None:
            return None
        if ending.cause not in _ORDERLY_CAUSES:
            return False
        if self._is_text_exact():
            return self.matcher.is_accepting
        return self.matcher.accepts_text(self._stream.sent_text.encode())

    def finish(self, ending: Ending, *, accepting: bool | None) -> Finish:
        """Last event; also returned, for whoever counts."""
        now = time.perf_counter()
        admitted = self._admitted_at or now
        prefilled = self._prefilled_at or now
        finish = Finish(
            stop_cause=ending.cause,
            accepting=accepting,
            stop_string=ending.stop_string,
            message=ending.message,
            usage=Usage(
                prompt_tokens=len(self.request.prompt_ids),
                completion_tokens=self.num_completion_tokens,
                forced_tokens=self._num_forced,
            ),
            timings=NodeTimings(
                queue_seconds=admitted - self._submitted_at,
                prefill_seconds=prefilled - admitted,
                decode_seconds=now - prefilled,
                mask_seconds=self.mask_seconds,
            ),
        )
        self._sink.put(finish)
        return finish

    def _ask_forced(self) -> Ending | None:
        """Tokens that must follow are owed at once, to be computed in one pass."""
        if self.matcher is None or self.matcher.is_terminated:
            self._asks_forced = False
            return self._ending_by_grammar()
        forced = self.matcher.forced_tokens()
        if not self.matcher.is_broken:
            self._asks_forced = False
            if self._takes_forced:
                self._owed.extend((token_id, None, True) for token_id in forced)
        return None if self.matcher.is_standing else self._ending_by_grammar()

    def _take_owed(self) -> Ending | None:
        token_id, logprob, is_forced = self._owed[0]
        if self.matcher is not None:
            self.matcher.advance([token_id])
            if self.matcher.is_broken:
                return None
            if not self.matcher.is_standing:
                return self._ending_by_grammar()
        self._owed.popleft()
        ending = self._append(token_id, logprob, is_forced=is_forced)
        if ending is not None and ending.cause in {"end_of_sequence", "stop_string"}:
            return ending
        # Where budget and grammar end on the same token, the grammar's end says more.
        return self._ending_by_grammar() or ending

    @property
    def _takes_forced(self) -> bool:
        """Whether tokens that must follow are taken unseen: not where somebody wants to know how likely they were."""
        return self.matcher is not None and self.request.num_top_logprobs is None

    def _append(self, token_id: int, logprob: TokenLogprob | None, *, is_forced: bool) -> Ending | None:
        self.token_ids.append(token_id)
        self._unsent_ids.append(token_id)
        if is_forced:
            self._num_forced += 1
            self._num_unsent_forced += 1
        if token_id in self.tokenizer.end_ids:
            return Ending(cause="end_of_sequence")
        is_text = token_id not in self.tokenizer.special
        self._has_unspoken |= not is_text
        data = self.tokenizer.token_bytes[token_id] if is_text else b""
        if logprob is not None and is_text:
            self._unsent_logprobs.append((self._num_bytes, logprob))
        self._num_bytes += len(data)
        self._send(self._stream.push(data))
        if self._stream.stopped_by is not None:
            return Ending(cause="stop_string", stop_string=self._stream.stopped_by)
        if self._num_left() == 0:
            is_budget = self.num_completion_tokens == self.request.max_tokens
            return Ending(cause="max_tokens" if is_budget else "context_full")
        return None

    def _is_text_exact(self) -> bool:
        """Whether the sent text is what the matcher took, byte for byte."""
        return self._stream.is_exact and not self._has_unspoken

    def _num_left(self) -> int:
        """How many more tokens budget and context allow."""
        left = self._context_tokens - len(self.token_ids)
        if self.request.max_tokens is not None:
            left = min(left, self.request.max_tokens - self.num_completion_tokens)
        return left

    def _ending_by_grammar(self) -> Ending | None:
        if self.matcher is None:
            return None
        if self.matcher.failure is not None:
            return Ending(cause="grammar_failed", message="the grammar engine hit a limit or failed")
        if self.matcher.is_dead_end:
            return Ending(cause="dead_end", message="no token can continue the text under the grammar")
        if self.matcher.is_terminated:
            return Ending(cause="grammar_end")
        return None

    def _send(self, text: str, *, is_last: bool = False) -> None:
        """Tokens whose text is held back wait for it; at the end they are sent without."""
        if not text and not (is_last and self._unsent_ids):
            return
        accepting = None
        if self.matcher is not None:
            accepting = self.matcher.is_accepting
        self._sink.put(
            TokenEvent(
                text=text,
                token_ids=self._unsent_ids,
                num_forced_tokens=self._num_unsent_forced,
                accepting=accepting,
                logprobs=self._spoken_logprobs(),
            )
        )
        self._unsent_ids = []
        self._num_unsent_forced = 0

    def _spoken_logprobs(self) -> list[TokenLogprob] | None:
        """Of the tokens whose text begins before where the sent text ends: a stop string's own tokens have none."""
        if self.request.num_top_logprobs is None:
            return None
        num_sent = len(self._stream.sent_text.encode()) if self._stream.stopped_by is not None else self._num_bytes
        spoken = [logprob for begins_at, logprob in self._unsent_logprobs if begins_at < num_sent]
        self._unsent_logprobs = []
        return spoken
