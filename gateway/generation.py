"""Stages 9 to 11 of one choice: take the node's events, read the answer in them, have it judged, say what it is."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, assert_never

from gateway.answer import Answer, AnswerInParts, AnswerPart, CallBegan, CallPart, ReasoningPart, RefusalPart, TextPart
from gateway.backends.events import RefusalText, UpstreamEvent, UpstreamFinish
from gateway.budgets.meter import Meter
from gateway.completion import End, NotAsked, classify, needs_verdict
from gateway.composition.composition import Composition
from gateway.composition.shape import Thought
from gateway.composition.splitter import Splitter
from gateway.deadline import Deadline
from gateway.identifiers import TenantPartition
from gateway.judging import AnswerJudge
from gateway.nodes import ModelOffer, OpenSequence
from gateway.outcome import BoundContract, Composed, Downgraded, Outcome
from gateway.reasoning import ThoughtAsked
from gateway.rules.answer_rules import AnswerRules
from gateway.rules.verdict import NO_RULES, RulesVerdict
from gateway.stages import Stage, StageClock
from gateway.validation.verdict import Invalid, Valid, Verdict
from inference_node.errors import NodeUnavailableError
from inference_node.protocol import DecodingReport, Finish, GenerateEvent, ReasoningReport, TokenEvent, Usage
from policy.serving_plan import Enforcer, Granted

_NOT_GIVEN_OUT: Final = "where is not told, because nobody has said that the caller may have this answer"


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What all choices of a request have in common."""

    offer: ModelOffer
    composition: Composition
    bound: BoundContract | None
    judge: AnswerJudge
    deadline: float
    is_held_back: bool
    """Whether what stands under a contract is given out only after its verdict."""
    rules: AnswerRules
    """What answers have to pass beyond their contract. Where they decide who may have one, all of it is held back."""
    clock: StageClock
    meter: Meter
    ignored: Mapping[str, str]
    partition: TenantPartition
    """Whose prompts may be found computed, and whose turn it is."""
    granted: Granted
    """Who sees to the contract. Where that is the validator alone, `bound` is None though there is a contract."""
    is_claimed: bool = False
    """Whether the backend says that it enforces contracts it is told of, and nobody corrects it."""
    thought: ThoughtAsked | None = None
    """What is asked of a thought in the model's own framing; None: there is none, or it is a part of the grammar."""


class Generation:
    """One choice that has begun. Calling order: `parts` to its end, then `outcome`."""

    def __init__(
        self, sequence: OpenSequence, terms: Terms, *, index: int, seed: int, timer: StageClock, deadline: Deadline
    ) -> None:
        self.index = index
        self.first_token_seconds: float | None = None
        self._sequence = sequence
        self._terms = terms
        self._seed = seed
        self._timer = timer
        self._deadline = deadline
        self._splitter = Splitter(terms.composition.shape)
        self._answer = AnswerInParts(is_plain=terms.composition.shape.is_plain)
        self._texts: list[str] = []
        self._usage = Usage(prompt_tokens=sequence.started.prompt_tokens, completion_tokens=0, forced_tokens=0)
        self._reasoning_tokens = 0
        self._end: End | None = None
        self._finish: Finish | None = None
        self._num_repairs = 0
        self._is_hinted = False
        self._outcome: Outcome | None = None
        self._count(self._usage)

    async def parts(self) -> AsyncIterator[AnswerPart]:
        """What is said as it comes; provisional until `outcome` has said what it is. Ends with the sequence, well or
        not. Where answers are held back, what stands under a contract comes at the end, or never."""
        held: list[AnswerPart] = []
        async for part in self._read():
            if held or self._must_wait(part):
                held.append(part)
            else:
                yield part
        if held and (await self.outcome()).classified.reason is None:
            for part in held:
                yield part

    async def read(self) -> None:
        """Calling order as for `parts`, which it stands for where nobody wants the parts."""
        while self._end is None:
            await self._heard()
        self._ended()

    def _must_wait(self, part: AnswerPart) -> bool:
        terms = self._terms
        return terms.rules.must_authorise or (terms.is_held_back and self._is_under_contract(part))

    def _is_under_contract(self, part: AnswerPart) -> bool:
        match part:
            case ReasoningPart():
                return False
            case TextPart():
                return self._terms.composition.shape.is_constrained
            case RefusalPart() | CallBegan() | CallPart():
                return True
            case _:
                assert_never(part)

    async def _read(self) -> AsyncIterator[AnswerPart]:
        while self._end is None:
            for part in await self._heard():
                yield part
        for part in self._ended():
            yield part

    async def _heard(self) -> list[AnswerPart]:
        """What the next event says. Only the waiting for the node is timed as decoding."""
        with self._timer.time(Stage.DECODE):
            event = await self._next()
        return self._kept(self._said(event))

    def _ended(self) -> list[AnswerPart]:
        return self._kept(self._splitter.end(is_cut=self._is_cut))

    def _kept(self, parts: list[AnswerPart]) -> list[AnswerPart]:
        for part in parts:
            self._answer.add(part)
        return parts

    async def _next(self) -> GenerateEvent | UpstreamEvent | None:
        try:
            event = await self._deadline.within(self._wait)
        except TimeoutError:
            self._end = "deadline_passed"
            return None
        except NodeUnavailableError:
            self._end = "node_lost"
            return None
        match event:
            case Finish():
                self._finish, self._end = event, event.stop_cause
                self._count(event.usage)
                if event.reasoning is not None:
                    self._reasoning_tokens = event.reasoning.tokens
            case UpstreamFinish():
                # What it took is on the meter already.
                self._end, self._usage, self._num_repairs = event.end, event.usage, event.num_repairs
                self._is_hinted = event.is_hinted
            case TokenEvent(is_thought=True) if self._terms.thought is None or self._texts:
                self._end = "node_lost"  # a thought that nobody asked for, or one within the answer
                return None
            case TokenEvent() | RefusalText():
                pass
            case _:  # a second start, or an end without a finish: not a stream of this protocol
                self._end = "node_lost"
        return event

    def _wait(self) -> Awaitable[GenerateEvent | UpstreamEvent | None]:
        return anext(self._sequence.events, None)

    def _said(self, event: GenerateEvent | UpstreamEvent | None) -> list[AnswerPart]:
        if not isinstance(event, TokenEvent | RefusalText):
            return []
        if self.first_token_seconds is None:
            self.first_token_seconds = self._terms.clock.elapsed_seconds
        if isinstance(event, RefusalText):
            return [RefusalPart(text=event.text)]
        # Counted as it comes: a stream that is cut never says what it used.
        usage = self._usage
        self._count(
            Usage(
                prompt_tokens=usage.prompt_tokens,
                completion_tokens=usage.completion_tokens + len(event.token_ids),
                forced_tokens=usage.forced_tokens + event.num_forced_tokens,
            )
        )
        if event.is_thought:
            self._reasoning_tokens += len(event.token_ids)
            return [ReasoningPart(text=event.text)] if event.text else []
        self._texts.append(event.text)
        was_thinking = self._splitter.is_thinking
        parts = self._splitter.feed(event.text, event.logprobs)
        if was_thinking or self._splitter.is_thinking:
            self._reasoning_tokens += len(event.token_ids)
        return parts

    def _count(self, usage: Usage) -> None:
        """The node's own count, at the end, comes before ours: it knows of an end token that no event carried."""
        meter = self._terms.meter
        meter.completion_tokens += usage.completion_tokens - self._usage.completion_tokens
        meter.forced_tokens += usage.forced_tokens - self._usage.forced_tokens
        # All choices have one prompt, which counts once.
        meter.prompt_tokens = max(meter.prompt_tokens, usage.prompt_tokens)
        self._usage = usage

    @property
    def _accepting(self) -> bool | None:
        return None if self._finish is None else self._finish.accepting

    @property
    def _is_cut(self) -> bool:
        """Whether the text ended where it could have gone on; without a grammar, it never does."""
        if self._end == "stop_string":
            return self._accepting is False
        return self._end not in {"end_of_sequence", "grammar_end"}

    async def outcome(self) -> Outcome:
        """What the answer is. The validator is asked exactly where its verdict decides."""
        if self._outcome is None:
            self._outcome = await self._concluded()
        return self._outcome

    async def _concluded(self) -> Outcome:
        assert self._end is not None, "`parts` has to be read to its end first"
        terms, end, accepting = self._terms, self._end, self._accepting
        bound, composition = terms.bound, terms.composition
        text, answer = "".join(self._texts), self._answer.answer()
        stands_alone = terms.granted.enforcer is Enforcer.VALIDATOR
        # A contract that nobody enforces is no free text: without a matcher's word it comes to nothing.
        is_constrained = composition.taken is not None
        thought = self._thought
        # Of a thought within the grammar, the matcher's word and the verdict say as much.
        is_thinking = terms.thought is not None and thought is not None and thought.state == "unfinished"
        with self._timer.time(Stage.CLASSIFY):
            ask = not is_thinking and needs_verdict(
                is_constrained=is_constrained, end=end, accepting=accepting, stands_alone=stands_alone
            )
        verdict: Verdict | NotAsked = NotAsked()
        if ask and bound is not None:
            with self._timer.time(Stage.VALIDATE):
                verdict = await terms.judge.verdict(
                    bound, composition, text, answer, is_closed=self._splitter.is_closed
                )
        elif ask and composition.taken is not None:
            with self._timer.time(Stage.VALIDATE):
                # Of what is given out, however it was read.
                verdict = await terms.judge.verdict_alone(composition.taken, answer.content or "")
        if isinstance(verdict, Invalid) and terms.rules.must_authorise:
            # Names of members are the answer's own text, and they stand in pointers and messages.
            verdict = Invalid(pointer="", keyword=verdict.keyword, message=_NOT_GIVEN_OUT)
        rules: RulesVerdict | NotAsked = NotAsked()
        if isinstance(verdict, Valid):
            # A webhook may be slow, and one is asked for each call: past the request's time there is no verdict.
            with self._timer.time(Stage.VALIDATE):
                rules = await self._ruled(answer)
        with self._timer.time(Stage.CLASSIFY):
            classified = classify(
                is_constrained=is_constrained,
                end=end,
                accepting=accepting,
                verdict=verdict,
                is_refusal=answer.refusal is not None,
                rules=rules,
                must_authorise=terms.rules.must_authorise,
                stands_alone=stands_alone,
                is_claimed=terms.is_claimed and self._is_hinted,
                is_closed=self._splitter.is_closed,
                is_thinking=is_thinking,
            )
        return Outcome(
            classified=classified,
            end=end,
            text=text,
            answer=answer,
            usage=self._usage,
            offer=terms.offer,
            node=self._sequence.identity,
            bound=bound,
            verdict=verdict,
            rules=rules,
            seed=self._seed,
            index=self.index,
            contract=composition.answer,
            composed=None if composition.shape.is_plain else _composed(composition),
            reasoning_tokens=self._reasoning_tokens,
            thought=thought,
            thought_budget_tokens=None if terms.thought is None else terms.thought.budget_tokens,
            decoding=self._decoding(is_given_out=classified.reason is None or not terms.rules.must_authorise),
            ignored=terms.ignored,
            downgrade=self._downgrade if stands_alone else None,
            num_repairs=self._num_repairs,
        )

    async def _ruled(self, answer: Answer) -> RulesVerdict | NotAsked:
        terms = self._terms
        if terms.rules.context is None:
            return NO_RULES
        with suppress(TimeoutError):
            async with asyncio.timeout_at(terms.deadline):
                return await terms.rules.verdict(answer, terms.composition.answer)
        return NotAsked()

    @property
    def _thought(self) -> ReasoningReport | None:
        """How the thought went; None where none was asked for. What no node reports is not taken for finished."""
        if self._terms.thought is not None:
            reported = None if self._finish is None else self._finish.reasoning
            return reported or ReasoningReport(tokens=self._reasoning_tokens, state="unfinished")
        if self._terms.composition.shape.thought is Thought.NEVER:
            return None
        state = self._splitter.thought_state
        return ReasoningReport(tokens=self._reasoning_tokens, state=state)

    def _decoding(self, *, is_given_out: bool) -> DecodingReport | None:
        """What the node says of it, without names of members where nobody may have the answer."""
        if self._finish is None or is_given_out:
            return None if self._finish is None else self._finish.decoding
        return self._finish.decoding.model_copy(update={"pressure_by_field": {}})

    @property
    def _downgrade(self) -> Downgraded:
        return Downgraded.REPAIRED if self._num_repairs else Downgraded.VALIDATED_AFTER


def _composed(composition: Composition) -> Composed:
    shape = composition.shape
    may_think = shape.thought is not Thought.NEVER
    return Composed(num_tools=composition.num_tools, may_refuse=shape.may_refuse, may_think=may_think)
