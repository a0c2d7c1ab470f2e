"""The stages of a request, in their order. Handlers come through here and nowhere else.

Compilation is finished before a request can occupy a node; a reservation is settled however the request ends.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from gateway.artifacts import ArtifactSource
from gateway.auth.authenticator import Caller
from gateway.budgets.ledger import BudgetLedger, Demand, Meter
from gateway.compilers import Compiler
from gateway.errors import DeadlinePassedError, NoNodeError
from gateway.explain_request import ExplainIntent
from gateway.generation import Generation, Validator
from gateway.intake import ContractIntake
from gateway.intent import GenerationIntent
from gateway.nodes import ModelOffer, NodeDirectory, OpenSequence
from gateway.outcome import BoundContract, TakenContract
from gateway.record import RequestRecord
from gateway.stages import Stage
from gateway.usage import UsageCounter
from inference_node.protocol import ChatMessage, GenerateRequest

_TEMPLATE_TOKENS = 32
"""Upper bound of what a chat template adds to one message; the node's count replaces it when the request is settled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """What would be enforced, and what finding out has cost."""

    taken: TakenContract
    bound: BoundContract
    offer: ModelOffer


class Pipeline:
    """One gateway's stages, wired."""

    def __init__(
        self,
        *,
        intake: ContractIntake,
        ledger: BudgetLedger,
        compiler: Compiler,
        artifacts: ArtifactSource,
        nodes: NodeDirectory,
        validator: Validator,
        usage: UsageCounter,
        request_seconds: float,
    ) -> None:
        self._intake = intake
        self._ledger = ledger
        self._compiler = compiler
        self._artifacts = artifacts
        self._nodes = nodes
        self._validator = validator
        self._usage = usage
        self._request_seconds = request_seconds

    @asynccontextmanager
    async def generate(
        self, intent: GenerationIntent, caller: Caller, record: RequestRecord
    ) -> AsyncIterator[Generation]:
        """Carry a chat completion to the point where a node has begun it; leaving the block ends it there.

        Raises:
            GatewayError: any refusal or failure before the first token.
        """
        deadline = asyncio.get_running_loop().time() + self._request_seconds
        clock = record.clock
        taken = None
        if intent.contract is not None:
            # Before anything else, and never again: an alias that moves from here on changes nothing.
            taken = await self._intake.take(intent.contract, caller, clock)
            record.take(taken)
        with clock.time(Stage.RESOLVE):
            offer = self._nodes.offer(intent.model, self._compiler.tokenizers)
        demand = self._demand(taken, offer, tokens=_most_tokens(intent, offer))
        async with self._reserved(caller, demand, record) as meter:
            bound = None if taken is None else await self._bind(taken, offer, meter, record)
            request = GenerateRequest(
                request_id=record.request_id,
                messages=list(intent.messages),
                artifact_key=None if bound is None else bound.key,
                sampling=intent.sampling,
                max_tokens=intent.max_tokens,
                stop=list(intent.stop),
            )
            async with AsyncExitStack() as stack:
                opening = self._nodes.open(offer, request, None if bound is None else bound.signed, clock)
                sequence = await _before(deadline, stack.enter_async_context(opening))
                if taken is not None and taken.resolved is not None:
                    self._usage.count(taken.resolved.revision.revision_id)
                yield Generation(
                    sequence,
                    offer=offer,
                    bound=bound,
                    validator=self._validator,
                    deadline=deadline,
                    seed=intent.sampling.seed,
                    clock=clock,
                    meter=meter,
                )

    async def explain(self, intent: ExplainIntent, caller: Caller, record: RequestRecord) -> Explained:
        """Carry a contract up to its artifact, without a generation.

        Raises:
            GatewayError: the refusal or failure that a generation under this contract would meet.
        """
        taken = await self._intake.take(intent.contract, caller, record.clock, serving=False)
        record.take(taken)
        with record.clock.time(Stage.RESOLVE):
            offer = self._explained_offer(intent.model)
        demand = self._demand(taken, offer, tokens=0)
        async with self._reserved(caller, demand, record) as meter:
            bound = await self._bind(taken, offer, meter, record)
        return Explained(taken=taken, bound=bound, offer=offer)

    async def _bind(
        self, taken: TakenContract, offer: ModelOffer, meter: Meter, record: RequestRecord
    ) -> BoundContract:
        with record.clock.time(Stage.COMPILE):
            bound = await self._artifacts.obtain(taken, offer.tokenizer_digest, meter)
        record.artifact_key, record.cache = bound.key, bound.tier
        return bound

    def _explained_offer(self, model: str | None) -> ModelOffer:
        if model is not None:
            return self._nodes.offer(model, self._compiler.tokenizers)
        offers = self._nodes.offers()
        if not offers:
            raise NoNodeError("no inference node is up, so there is no tokenizer to compile for", retry_after_seconds=1)
        return self._nodes.offer(offers[0].model, self._compiler.tokenizers)

    def _demand(self, taken: TakenContract | None, offer: ModelOffer, *, tokens: int) -> Demand:
        cold = None if taken is None or self._artifacts.is_cached(taken, offer.tokenizer_digest) else taken.limits
        return Demand(
            tokens=tokens,
            compile_cpu_ms=0 if cold is None else round(cold.compile.cpu_seconds * 1000),
            contract_digest=None if taken is None else taken.contract.digest,
        )

    @asynccontextmanager
    async def _reserved(self, caller: Caller, demand: Demand, record: RequestRecord) -> AsyncIterator[Meter]:
        with record.clock.time(Stage.RESERVE):
            lease = await self._ledger.reserve(caller.tenant, demand)
        record.limit_headers = lease.headers
        try:
            yield record.meter
        finally:
            with record.clock.time(Stage.SETTLE):
                await self._ledger.settle(lease, record.meter)


def _most_tokens(intent: GenerationIntent, offer: ModelOffer) -> int:
    """The most that a request can use: a token stands for at least one byte of the prompt, and never more than
    the context in all."""
    prompt = sum(_most_prompt_tokens(message) for message in intent.messages)
    if intent.max_tokens is None:
        return offer.context_tokens
    return min(offer.context_tokens, prompt + intent.max_tokens)


def _most_prompt_tokens(message: ChatMessage) -> int:
    return len(message.content.encode()) + _TEMPLATE_TOKENS


async def _before(deadline: float, opening: Awaitable[OpenSequence]) -> OpenSequence:
    try:
        async with asyncio.timeout_at(deadline):
            return await opening
    except TimeoutError:
        raise DeadlinePassedError from None
