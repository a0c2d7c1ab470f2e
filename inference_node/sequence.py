"""One request while it decodes: its tokens, its place in its grammar, its text, and why it ends.

Knows nothing of tensors or threads: the step loop asks for slices, and gives it one token at a time.
"""

import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from compiler_pool.tokenizer import BoundTokenizer
from inference_node.adapters.lease import AdapterLease
from inference_node.decoding_report import DecodingTally
from inference_node.errors import RefusedRequestError
from inference_node.matcher import GrammarMatcher
from inference_node.protocol import Finish, NodeFault, NodeTimings, StopCause, TokenLogprob, Usage
from inference_node.sampling import SamplingChoice
from inference_node.snapshots.restored_state import RestoredState
from inference_node.text_stream import TextStream
from inference_node.token_sender import EventSink, TokenSender


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
    partition: str = ""
    """Whose it is, for fairness and for what may be shared of its prompt."""
    adapter: AdapterLease = field(default_factory=AdapterLease)
    """Released by the sequence's last event."""
    may_draft: bool = True
    restored: RestoredState | None = None
    """How far it had come elsewhere. `DecodingSequence.replay` has to be called before it is queued."""

    @property
    def prefix_salt(self) -> str:
        """What keys and values of equal tokens depend on besides, and who may learn by a shorter wait that they were
        there."""
        return f"{self.partition}\n{self.adapter.digest}"


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
        self.is_preempted = False
        """Whether it had blocks and lost them, once at least."""
        self.mask_seconds = 0.0
        self.tally = DecodingTally()
        self.tokenizer = tokenizer
        self.sender = TokenSender(
            TextStream(request.stop_strings), tokenizer, sink, has_logprobs=request.num_top_logprobs is not None
        )
        self._context_tokens = context_tokens
        self._owed: deque[tuple[int, TokenLogprob | None, bool]] = deque()
        """Tokens that are decided and not taken yet, and whether they were forced: the matcher broke before them."""
        self._asks_forced = self._takes_forced
        self._forced_places: list[int] = []
        """Which of the answer's tokens were forced."""
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
    def num_left(self) -> int:
        """How many more tokens budget and context allow."""
        left = self._context_tokens - len(self.token_ids)
        if self.request.max_tokens is not None:
            left = min(left, self.request.max_tokens - self.num_completion_tokens)
        return left

    @property
    def is_behind(self) -> bool:
        """Whether `resume` has something to do before the next token can be picked, or a pass computed."""
        return self._asks_forced or bool(self._owed)

    @property
    def asks_forced(self) -> bool:
        """Whether the grammar has yet to be asked what must follow, before anything is picked."""
        return self._asks_forced and all(is_forced for _, _, is_forced in self._owed)

    @property
    def owed_forced_ids(self) -> Sequence[int]:
        """Tokens that must follow and were not taken yet. A picked one before them is not among these."""
        return [token_id for token_id, _, is_forced in self._owed if is_forced]

    @property
    def forced_places(self) -> Sequence[int]:
        """Which of the answer's tokens were the grammar's only choice, counted from 0."""
        return self._forced_places

    def announce(self) -> None:
        """First event."""
        self.sender.announce(prompt_tokens=len(self.request.prompt_ids))

    def replay(self) -> None:
        """Bring text and matcher to where a restored answer stands. As long as the answer: not for the step loop.

        Raises:
            RefusedRequestError: `snapshot_artifact_mismatch`: the answer is none of this grammar's.
        """
        restored = self.request.restored
        if restored is None:
            return
        if self.matcher is not None and not self.matcher.accept_tokens(restored.answer_ids):
            raise RefusedRequestError(
                NodeFault(code="snapshot_artifact_mismatch", message="the saved answer does not fit the artifact")
            )
        for place, (token_id, is_forced) in enumerate(zip(restored.answer_ids, restored.are_forced, strict=True)):
            self.token_ids.append(token_id)
            if is_forced:
                self._forced_places.append(place)
            self.sender.replay(token_id, is_forced=is_forced, is_sent=place < restored.num_sent_tokens)
            self.tally.wrote(self.tokenizer.token_bytes[token_id])
        self.sender.restore_logprobs(tuple(restored.unsent_logprobs))
        self._owed.extend((token_id, None, True) for token_id in restored.owed_forced_ids)
        self._asks_forced = restored.asks_forced
        self.tally.resume(restored.counters)

    def begin(self) -> None:
        """It has its place. What the grammar forces from where it stands is taken before the first pass."""
        if self._admitted_at is None:
            self._admitted_at = time.perf_counter()

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

    def preempted(self) -> None:
        """Its blocks are gone: every token is computed again once it has a place. What was decided stays decided."""
        self.num_computed = 0
        self.is_preempted = True
        self.tally.preempted()

    def needs_judgement(self, ending: Ending) -> bool:
        """Whether the sent text is not what the matcher stands at, so that `judge` has to run over it."""
        return self.matcher is not None and ending.cause in _ORDERLY_CAUSES and not self.sender.is_text_exact

    def flush(self) -> None:
        """Send what was held back. Before `judge` and `finish`."""
        self.sender.flush(accepting=self._accepting)

    def judge(self, ending: Ending) -> bool | None:
        """Whether exactly the text that was sent is complete. Can take as long as the text: not for the step loop."""
        if self.matcher is None:
            return None
        if ending.cause not in _ORDERLY_CAUSES:
            return False
        if self.sender.is_text_exact:
            return self.matcher.is_accepting
        return self.matcher.accepts_text(self.sender.stream.sent_text.encode())

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
                forced_tokens=len(self._forced_places),
            ),
            timings=NodeTimings(
                queue_seconds=admitted - self._submitted_at,
                prefill_seconds=prefilled - admitted,
                decode_seconds=now - prefilled,
                mask_seconds=self.mask_seconds,
            ),
            decoding=self.tally.report(),
        )
        self.request.adapter.release()
        self.sender.finish(finish)
        return finish

    @property
    def _accepting(self) -> bool | None:
        return None if self.matcher is None else self.matcher.is_accepting

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
        if is_forced:
            self._forced_places.append(self.num_completion_tokens)
        self.token_ids.append(token_id)
        if token_id in self.tokenizer.end_ids:
            self.sender.add_end(token_id)
            return Ending(cause="end_of_sequence")
        data = self.sender.add(token_id, logprob, is_forced=is_forced, accepting=self._accepting)
        self.tally.wrote(data)
        stopped_by = self.sender.stream.stopped_by
        if stopped_by is not None:
            return Ending(cause="stop_string", stop_string=stopped_by)
        if self.num_left == 0:
            is_budget = self.num_completion_tokens == self.request.max_tokens
            return Ending(cause="max_tokens" if is_budget else "context_full")
        return None

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
