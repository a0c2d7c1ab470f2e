"""Stages 9 to 11 of one request: take the node's events, say what they amount to, have it validated."""

import asyncio
from collections.abc import AsyncIterator
from typing import Protocol

import structlog

from gateway.budgets.ledger import Meter
from gateway.completion import End, NotAsked, classify, needs_verdict
from gateway.nodes import ModelOffer, OpenSequence
from gateway.outcome import BoundContract, Outcome
from gateway.stages import Stage, StageClock
from gateway.validation.verdict import Invalid, Verdict
from inference_node.errors import NodeUnavailableError
from inference_node.protocol import Finish, GenerateEvent, TokenEvent, Usage
from policy.enforcement import KeywordStatus
from registry.contract import ContractKind

_log = structlog.get_logger(__name__)


class Validator(Protocol):
    """The independent judge of finished objects (`gateway.validation.service`)."""

    @property
    def num_ready(self) -> int:
        """Judges that could take an object now or soon."""
        ...

    async def validate(
        self, canonical_text: str, contract_digest: str, document: bytes, *, seconds: float, kind: ContractKind
    ) -> Verdict:
        """The verdict on `document` within `seconds` of CPU time; never an exception for what a document does."""
        ...


class Generation:
    """One sequence that has begun. Calling order: `texts` to its end, then `outcome`."""

    def __init__(
        self,
        sequence: OpenSequence,
        *,
        offer: ModelOffer,
        bound: BoundContract | None,
        validator: Validator,
        deadline: float,
        seed: int,
        clock: StageClock,
        meter: Meter,
    ) -> None:
        self.offer = offer
        self.bound = bound
        self.seed = seed
        self.first_token_seconds: float | None = None
        self._sequence = sequence
        self._validator = validator
        self._deadline = deadline
        self._clock = clock
        self._meter = meter
        self._parts: list[str] = []
        self._end: End | None = None
        self._finish: Finish | None = None
        meter.prompt_tokens = sequence.started.prompt_tokens

    async def texts(self) -> AsyncIterator[str]:
        """New text as it comes; provisional until `outcome` has said what it is. Ends with the sequence, well or not.

        Only the waiting for the node is timed as decoding, not what the consumer does with the text.
        """
        while self._end is None:
            with self._clock.time(Stage.DECODE):
                event = await self._next()
            if isinstance(event, TokenEvent):
                self._count(event)
                if event.text:
                    self._parts.append(event.text)
                    yield event.text

    async def _next(self) -> GenerateEvent | None:
        try:
            async with asyncio.timeout_at(self._deadline):
                event = await anext(self._sequence.events, None)
        except TimeoutError:
            self._end = "deadline_passed"
            return None
        except NodeUnavailableError:
            self._end = "node_lost"
            return None
        match event:
            case Finish():
                self._finish, self._end = event, event.stop_cause
            case TokenEvent():
                pass
            case _:  # a second start, or an end without a finish: not a stream of this protocol
                self._end = "node_lost"
        return event

    def _count(self, event: TokenEvent) -> None:
        if self.first_token_seconds is None:
            self.first_token_seconds = self._clock.elapsed_seconds
        # Counted as it comes: a stream that is cut never says what it used.
        self._meter.completion_tokens += len(event.token_ids)
        self._meter.forced_tokens += event.num_forced_tokens

    async def outcome(self) -> Outcome:
        """What the answer is. The validator is asked exactly where its verdict decides."""
        assert self._end is not None, "`texts` has to be read to its end first"
        end, text = self._end, "".join(self._parts)
        accepting = None if self._finish is None else self._finish.accepting
        is_constrained = self.bound is not None
        with self._clock.time(Stage.CLASSIFY):
            ask = needs_verdict(is_constrained=is_constrained, end=end, accepting=accepting)
        verdict: Verdict | NotAsked = NotAsked()
        if ask and self.bound is not None:
            with self._clock.time(Stage.VALIDATE):
                verdict = await self._validator.validate(
                    self.bound.contract.text,
                    self.bound.contract.digest,
                    text.encode(),
                    seconds=self.bound.taken.limits.validation_seconds,
                    kind=self.bound.contract.kind,
                )
            self._report_disagreement(self.bound, verdict)
        with self._clock.time(Stage.CLASSIFY):
            classified = classify(is_constrained=is_constrained, end=end, accepting=accepting, verdict=verdict)
        return Outcome(
            classified=classified,
            end=end,
            text=text,
            usage=self._usage(),
            offer=self.offer,
            node=self._sequence.identity,
            bound=self.bound,
            verdict=verdict,
            seed=self.seed,
        )

    def _report_disagreement(self, bound: BoundContract, verdict: Verdict) -> None:
        """A grammar that enforces everything and a judge that refuses: one of the two is wrong, and we must know."""
        if isinstance(verdict, Invalid) and not bound.counts.get(KeywordStatus.CHECKED_AFTER):
            _log.error(
                "the judge refuses what the grammar enforced",
                contract_digest=bound.contract.digest,
                artifact_key=bound.key,
                keyword=verdict.keyword,
            )

    def _usage(self) -> Usage:
        """What was counted. The node's own count comes first: it knows of an end token that no event carried."""
        meter = self._meter
        if self._finish is not None:
            usage = self._finish.usage
            meter.prompt_tokens, meter.completion_tokens = usage.prompt_tokens, usage.completion_tokens
            meter.forced_tokens = usage.forced_tokens
        return Usage(
            prompt_tokens=meter.prompt_tokens,
            completion_tokens=meter.completion_tokens,
            forced_tokens=meter.forced_tokens,
        )
