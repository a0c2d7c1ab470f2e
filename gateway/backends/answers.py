"""Answers of backends without a grammar, as sequences that the pipeline takes like those of nodes.

Where repairs are allowed, a finished text that the validator refuses goes back to the model with the fault, and only
the last text comes out. Nothing is classified here: what a text is, `gateway.completion` says, by a verdict of its own.
"""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Final, Protocol

from gateway.backends.errors import UpstreamRefusedError
from gateway.backends.events import (
    OpenAnswer,
    RefusalText,
    UpstreamEnd,
    UpstreamEvent,
    UpstreamFinish,
    UpstreamRequest,
)
from gateway.backends.openai import OpenAIServer
from gateway.backends.spelling import format_hint
from gateway.budgets.meter import Meter
from gateway.intent import GenerationIntent
from gateway.nodes import ModelOffer, OpenSequence
from gateway.outcome import TakenContract
from gateway.stages import Stage, StageClock
from gateway.validation.verdict import Invalid, Verdict
from inference_node.protocol import ChatMessage, Sampling, Started, TokenEvent, Usage
from policy.serving_plan import Capability, Granted
from registry.contract import ContractKind

_MAX_MESSAGE_CHARACTERS: Final = 1_000
"""Of the validator's words, which may quote the text at fault."""


class TextJudge(Protocol):
    """Says what a finished text is under the request's contract."""

    async def __call__(self, text: str) -> Verdict:
        """The verdict; never an exception for what a text does."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Repairs:
    """How often, and by whose verdict."""

    most: int
    judge: TextJudge


def upstream_request(
    intent: GenerationIntent, sampling: Sampling, taken: TakenContract | None, able: Capability
) -> UpstreamRequest:
    """What a backend of that capability is asked; under a contract that is a schema, with a hint of it."""
    is_schema = taken is not None and taken.contract.kind is ContractKind.JSON_SCHEMA
    hint = format_hint(able, taken.contract.schema) if taken is not None and is_schema else None
    return UpstreamRequest(
        messages=intent.messages,
        sampling=sampling,
        max_tokens=intent.max_tokens,
        stop=intent.stop,
        response_format=hint,
    )


def is_claimed(offer: ModelOffer, taken: TakenContract | None, granted: Granted) -> bool:
    """Whether a text that breaks the contract is the backend's own failure: it says that it enforces schemas, and it
    is not asked again."""
    says_so = offer.capability is Capability.JSON_SCHEMA and granted.max_repairs == 0
    return says_so and taken is not None and taken.contract.kind is ContractKind.JSON_SCHEMA


@asynccontextmanager
async def open_answer(
    server: OpenAIServer,
    offer: ModelOffer,
    request: UpstreamRequest,
    *,
    repairs: Repairs | None,
    meter: Meter,
    timer: StageClock,
) -> AsyncIterator[OpenSequence]:
    """Begin an answer; leaving the block ends it, whatever attempt is running.

    Raises:
        UpstreamRefusedError: it did not begin.
    """
    async with AsyncExitStack() as stack:
        with timer.time(Stage.DECODE):
            first = await stack.enter_async_context(server.open(offer.model, request, meter))
        events: AsyncIterator[UpstreamEvent] = first.events
        if repairs is not None and repairs.most > 0:
            repairing = _Repairing(server, offer.model, request, meter, repairs)
            events = await stack.enter_async_context(aclosing(repairing.events(first)))
        # The prompt is counted when the answer is over: only the server knows its tokens.
        yield OpenSequence(identity=offer, started=Started(prompt_tokens=0), events=events)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Attempt:
    """One whole answer, held back."""

    text: str
    refusal: str
    finish: UpstreamFinish


class _Repairing:
    """One request, asked again with its fault for as long as that is allowed."""

    def __init__(
        self, server: OpenAIServer, model: str, request: UpstreamRequest, meter: Meter, repairs: Repairs
    ) -> None:
        self._server = server
        self._model = model
        self._request = request
        self._meter = meter
        self._repairs = repairs
        self._usage = Usage(prompt_tokens=0, completion_tokens=0, forced_tokens=0)

    async def events(self, first: OpenAnswer) -> AsyncGenerator[UpstreamEvent, None]:
        """The last attempt's text in one piece, and the end with what all attempts took.

        Raises:
            NodeUnavailableError: a stream broke off.
        """
        attempt = await self._whole(first)
        num_repairs = 0
        while num_repairs < self._repairs.most and attempt.finish.end == "end_of_sequence":
            verdict = await self._repairs.judge(attempt.text)
            if not isinstance(verdict, Invalid):
                break
            num_repairs += 1
            request = replace(self._request, messages=(*self._request.messages, *_told(attempt.text, verdict)))
            try:
                async with self._server.open(self._model, request, self._meter, is_retry=True) as answer:
                    attempt = await self._whole(answer)
            except UpstreamRefusedError as error:
                yield self._finish("engine_failed", num_repairs, message=str(error))
                return
        if attempt.text:
            yield TokenEvent(text=attempt.text, token_ids=[], num_forced_tokens=0, accepting=None)
        if attempt.refusal:
            yield RefusalText(text=attempt.refusal)
        yield self._finish(attempt.finish.end, num_repairs, message=attempt.finish.message)

    async def _whole(self, answer: OpenAnswer) -> _Attempt:
        texts: list[str] = []
        refusals: list[str] = []
        finish = None
        async for event in answer.events:
            match event:
                case TokenEvent():
                    texts.append(event.text)
                case RefusalText():
                    refusals.append(event.text)
                case UpstreamFinish():
                    finish = event
        assert finish is not None, "an answer ends with its finish, or with an exception"
        self._usage = Usage(
            prompt_tokens=self._usage.prompt_tokens + finish.usage.prompt_tokens,
            completion_tokens=self._usage.completion_tokens + finish.usage.completion_tokens,
            forced_tokens=0,
        )
        return _Attempt(text="".join(texts), refusal="".join(refusals), finish=finish)

    def _finish(self, end: UpstreamEnd, num_repairs: int, *, message: str | None) -> UpstreamFinish:
        return UpstreamFinish(end=end, usage=self._usage, num_repairs=num_repairs, message=message)


def _told(text: str, fault: Invalid) -> tuple[ChatMessage, ...]:
    """The turns that a model gets to see of its own failure."""
    place = f"at `{fault.pointer}`" if fault.pointer else "at the root"
    words = (
        f"Your answer does not satisfy the contract: `{fault.keyword}` fails {place}: "
        f"{fault.message[:_MAX_MESSAGE_CHARACTERS]}\n"
        "Send the whole answer again with this corrected, and nothing else."
    )
    asked = ChatMessage(role="user", content=words)
    return (ChatMessage(role="assistant", content=text), asked) if text else (asked,)
