"""One request while it decodes: its tokens, its place in its grammar, its text, and why it ends.

Knows nothing of tensors or threads: the step loop asks for slices, and gives it one token at a time.
"""

import time
from collections import deque
from collections.abc import Sequence

from compiler_pool.tokenizer import BoundTokenizer
from inference_node.decoding_report import DecodingTally
from inference_node.ending import ORDERLY_CAUSES, Ending, Standing, ending_by_grammar
from inference_node.errors import RefusedRequestError
from inference_node.matcher import GrammarMatcher
from inference_node.protocol import Finish, NodeFault, NodeTimings, TokenLogprob, Usage
from inference_node.reasoning.span import ReasoningSpan
from inference_node.sequence_request import SequenceRequest
from inference_node.snapshots.restored_state import RestoredState
from inference_node.text_stream import TextStream
from inference_node.token_sender import EventSink, TokenSender


class DecodingSequence:
    """Created when a request is accepted, dropped after its `Finish`. Only the step loop's thread changes it."""

    def __init__(
        self, request: SequenceRequest, tokenizer: BoundTokenizer, sink: EventSink, *, context_tokens: int
    ) -> None:
        self.request = request
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
        self.thought: ReasoningSpan | None = None
        """The thought, while it is open: until then there is neither a grammar nor a stop string."""
        self.matcher: GrammarMatcher | None = None
        """The answer's place in its grammar; none while there is no answer yet."""
        self._look_at_thought()
        self._max_length = context_tokens
        if request.max_tokens is not None:
            self._max_length = min(context_tokens, len(request.prompt_ids) + request.max_tokens)
        self._owed: deque[tuple[int, TokenLogprob | None, bool]] = deque()
        """Tokens that are decided and not taken yet, and whether they were forced: the matcher broke before them."""
        self._moved: Standing | None = None
        """Where the grammar stands after the token that is taken next, if it has moved on by it already."""
        self._asks_forced = self._takes_forced
        self._awaits_mask = False
        """Whether the next mask will say if anything is forced."""
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
        return self._max_length - len(self.token_ids)

    @property
    def is_behind(self) -> bool:
        """Whether `resume` has something to do before the next token can be picked, or a pass computed."""
        return self._asks_forced or bool(self._owed) or (self.thought is not None and bool(self.thought.owed()))

    @property
    def asks_forced(self) -> bool:
        """Whether the grammar has yet to be asked what must follow, before anything is picked."""
        return (self._asks_forced or self._awaits_mask) and all(is_forced for _, _, is_forced in self._owed)

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
        num_thought = self._replay_thought(restored)
        if self.matcher is not None and not self.matcher.accept_tokens(restored.answer_ids[num_thought:]):
            raise RefusedRequestError(
                NodeFault(code="snapshot_artifact_mismatch", message="the saved answer does not fit the artifact")
            )
        for place, (token_id, is_forced) in enumerate(zip(restored.answer_ids, restored.are_forced, strict=True)):
            self.token_ids.append(token_id)
            if is_forced:
                self._forced_places.append(place)
            is_sent = place < restored.num_sent_tokens
            if place < num_thought:
                self.sender.replay_thought(token_id, is_forced=is_forced, is_sent=is_sent)
                continue
            self.sender.replay(token_id, is_forced=is_forced, is_sent=is_sent)
            self.tally.wrote(self.tokenizer.token_bytes[token_id])
        self.sender.restore_logprobs(tuple(restored.unsent_logprobs))
        self._owed.extend((token_id, None, True) for token_id in restored.owed_forced_ids)
        self._asks_forced = restored.asks_forced
        self.tally.resume(restored.counters)

    def begin(self) -> None:
        """It has its place. What the grammar forces from where it stands is taken before the first pass."""
        if self._admitted_at is None:
            self._admitted_at = time.perf_counter()

    def move_on(self, token_id: int) -> bool:
        """Have the grammar alone take a picked token, so that its next mask can be filled while `take`, which has to
        follow, tells of it. Whether there is a next mask; what is forced after the token shows in it.

        Not where the text may end the answer: whoever ends in order has no mask under way.
        """
        matcher = self.matcher
        if matcher is None or self.request.stop_strings or self.is_behind or not matcher.has_next_token:
            return False
        matcher.advance([token_id])
        if matcher.is_broken:
            return False
        self._moved = Standing.of(matcher)
        return self._moved.ending is None and self.num_left > 1

    @property
    def has_moved(self) -> bool:
        """Whether the grammar has taken the token that `take` is to be told of."""
        return self._moved is not None

    def take(self, token_id: int, logprob: TokenLogprob | None = None) -> Ending | None:
        """Append the picked token, and after it what the grammar forces. None: go on."""
        if self._prefilled_at is None:
            self._prefilled_at = time.perf_counter()
        self._owed.append((token_id, logprob, False))
        has_moved = self._moved is not None
        self._asks_forced = self._takes_forced and not has_moved
        self._awaits_mask = self._takes_forced and has_moved
        # The matcher may be another thread's by now: nothing here asks it.
        return self._take_owed() if has_moved else self.resume()

    def resume(self) -> Ending | None:
        """Take what is owed, token by token, so that each event says where text and matcher both stand.

        Ends early where the matcher breaks: call it again once that is repaired, and nothing is lost or taken twice.
        """
        while self.is_behind and not (self.matcher is not None and self.matcher.is_broken):
            is_thinking = self.thought is not None
            if self.thought is not None and not self._owed:
                self._owed.append((self.thought.owed()[0], None, True))
            ending = self._take_owed() if self._owed else self._ask_forced()
            if ending is not None:
                return ending
            if is_thinking and self.thought is None:
                break  # nobody has looked whether a sibling's mask is under way on the answer's lexer
        return ending_by_grammar(self.matcher)

    def ending_by_mask(self) -> Ending | None:
        """After a mask was filled: the matcher may have failed or broken, or found that nothing, or one thing alone,
        can continue."""
        if self.matcher is not None:
            # On a broken lexer nothing is forced: what should have been comes before any pick.
            self._asks_forced |= self.matcher.is_broken or (self._awaits_mask and self.matcher.has_one_choice)
        self._awaits_mask = False
        return None if self.matcher is None or self.matcher.is_standing else ending_by_grammar(self.matcher)

    def preempted(self) -> None:
        """Its blocks are gone: every token is computed again once it has a place. What was decided stays decided."""
        self.num_computed = 0
        self.is_preempted = True
        self.tally.preempted()

    def needs_judgement(self, ending: Ending) -> bool:
        """Whether the sent text is not what the matcher stands at, so that `judge` has to run over it."""
        return self.matcher is not None and ending.cause in ORDERLY_CAUSES and not self.sender.is_text_exact

    def flush(self) -> None:
        """Send what was held back. Before `judge` and `finish`."""
        if self.thought is not None:
            self.sender.think((), self.thought.flush(), num_forced=0, accepting=self._accepting, is_last=True)
        self.sender.flush(accepting=self._accepting)

    def judge(self, ending: Ending) -> bool | None:
        """Whether exactly the text that was sent is complete. Can take as long as the text: not for the step loop."""
        if self.request.matcher is None:
            return None
        # An answer that has not begun is not whole, also where the grammar would take the empty text.
        if self.matcher is None or ending.cause not in ORDERLY_CAUSES:
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
            reasoning=None if self.request.span is None else self.request.span.report(),
        )
        self.request.adapter.release()
        self.sender.finish(finish)
        return finish

    @property
    def _accepting(self) -> bool | None:
        if self.request.matcher is None:
            return None
        # A grammar that is ahead of the text says nothing of it.
        return self.matcher is not None and self._moved is None and self.matcher.is_accepting

    def _look_at_thought(self) -> None:
        """After each token of it: once it is over, the grammar applies."""
        span = self.request.span
        self.thought = span if span is not None and span.is_open else None
        self.matcher = None if self.thought is not None else self.request.matcher

    def _replay_thought(self, restored: RestoredState) -> int:
        """How many of the tokens were the thought's."""
        for place, token_id in enumerate(restored.answer_ids):
            if self.thought is None:
                return place
            self.thought.take(token_id)
            self._look_at_thought()
        return len(restored.answer_ids) if self.request.span is not None else 0

    def _ask_forced(self) -> Ending | None:
        """Tokens that must follow are owed at once, to be computed in one pass."""
        if self.matcher is None or self.matcher.is_terminated:
            self._asks_forced = False
            return ending_by_grammar(self.matcher)
        forced = self.matcher.forced_tokens()
        if not self.matcher.is_broken:
            self._asks_forced = False
            if self._takes_forced:
                self._owed.extend((token_id, None, True) for token_id in forced)
        return None if self.matcher.is_standing else ending_by_grammar(self.matcher)

    def _take_owed(self) -> Ending | None:
        token_id, logprob, is_forced = self._owed[0]
        if self.thought is not None:
            self._owed.popleft()
            return self._think(self.thought, token_id, is_forced=is_forced)
        moved, self._moved = self._moved, None
        if moved is None and self.matcher is not None:
            self.matcher.advance([token_id])
            if self.matcher.is_broken:
                return None
            moved = Standing.of(self.matcher)
        if moved is not None and not moved.is_standing:
            return moved.ending
        self._owed.popleft()
        ending = self._append(token_id, logprob, is_forced=is_forced, accepting=moved.accepting if moved else None)
        if moved is None or (ending is not None and ending.cause in {"end_of_sequence", "stop_string"}):
            return ending
        # Where budget and grammar end on the same token, the grammar's end says more.
        return moved.ending or ending

    @property
    def _takes_forced(self) -> bool:
        """Whether tokens that must follow are taken unseen: not where somebody wants to know how likely they were."""
        return self.matcher is not None and self.request.num_top_logprobs is None

    def _think(self, thought: ReasoningSpan, token_id: int, *, is_forced: bool) -> Ending | None:
        """A token before the answer. What ends the thought may be other tokens than the one that was picked."""
        if token_id in self.tokenizer.end_ids:
            self.token_ids.append(token_id)
            self.sender.add_end(token_id)
            return Ending(cause="end_of_sequence")
        step = thought.take(token_id)
        self._look_at_thought()
        token_ids = step.token_ids[: self.num_left]
        num_forced = len(token_ids) if is_forced or step.token_ids != (token_id,) else 0
        self._forced_places += range(self.num_completion_tokens, self.num_completion_tokens + num_forced)
        self.token_ids += token_ids
        self.sender.think(token_ids, step.text, num_forced=num_forced, accepting=self._accepting, is_last=step.is_last)
        if step.is_last:
            self._asks_forced = self._takes_forced
        return self._ending_by_length()

    def _append(
        self, token_id: int, logprob: TokenLogprob | None, *, is_forced: bool, accepting: bool | None
    ) -> Ending | None:
        if is_forced:
            self._forced_places.append(self.num_completion_tokens)
        self.token_ids.append(token_id)
        if token_id in self.tokenizer.end_ids:
            self.sender.add_end(token_id)
            return Ending(cause="end_of_sequence")
        data = self.sender.add(token_id, logprob, is_forced=is_forced, accepting=accepting)
        self.tally.wrote(data)
        stopped_by = self.sender.stream.stopped_by
        if stopped_by is not None:
            return Ending(cause="stop_string", stop_string=stopped_by)
        return self._ending_by_length()

    def _ending_by_length(self) -> Ending | None:
        if self.num_left > 0:
            return None
        is_budget = self.num_completion_tokens == self.request.max_tokens
        return Ending(cause="max_tokens" if is_budget else "context_full")
