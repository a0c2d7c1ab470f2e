"""The stages of a request, in their order. Handlers come through here and nowhere else.

Compilation is finished before a request can occupy a node; a reservation is settled however the request ends.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial

from gateway.answering import Answering
from gateway.artifacts import ArtifactSource
from gateway.auth.authenticator import Caller
from gateway.budgets.ledger import BudgetLedger, Demand, Meter
from gateway.compilers import Compiler
from gateway.composition.composer import Allowed, Composer
from gateway.composition.composition import Composition
from gateway.errors import ContractRefusedError, DeadlinePassedError, NoNodeError
from gateway.explain_request import ExplainIntent
from gateway.generation import Generation, Terms
from gateway.intake import ContractIntake
from gateway.intent import FunctionTool, GenerationIntent
from gateway.judging import AnswerJudge, Validator
from gateway.nodes import ModelOffer, NodeDirectory, OpenSequence
from gateway.outcome import BoundContract, TakenContract
from gateway.record import RequestRecord
from gateway.stages import Stage, StageClock
from gateway.usage import UsageCounter
from inference_node.protocol import ChatMessage, GenerateRequest, ToolOffer
from policy.serving import ServingPolicy, StreamMode
from registry.text import canonical_json

_TEMPLATE_TOKENS = 32
"""Upper bound of what a chat template adds to one message, tool or call; the node's count replaces it when the request
is settled."""
_NUM_SEEDS = 2**63


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
    ) -> AsyncIterator[Answering]:
        """Carry a request to the point where a node has begun it; leaving the block ends it there.

        Raises:
            GatewayError: any refusal or failure before the first token.
        """
        deadline = asyncio.get_running_loop().time() + self._request_seconds
        clock = record.clock
        policy = ServingPolicy()
        taken = None
        if intent.contract is not None:
            # Before anything else, and never again: an alias that moves from here on changes nothing.
            taken = await self._intake.take(intent.contract, caller, clock)
            record.take(taken)
        allowed = Allowed(refusal=policy.allow_refusal, thought=intent.wants_reasoning and policy.allow_reasoning)
        composition = await Composer(self._intake, caller, clock).compose(taken, intent.toolbox, allowed)
        if taken is None and composition.taken is not None:
            record.take(composition.taken)
        with clock.time(Stage.RESOLVE):
            offer = self._nodes.offer(intent.model, self._compiler.tokenizers)
        demand = self._demand(composition.taken, offer, tokens=_most_tokens(intent, offer))
        async with self._reserved(caller, demand, record) as meter:
            bound = await self._bind_composition(composition, offer, meter, record)
            terms = Terms(
                offer=offer,
                composition=composition,
                bound=bound,
                judge=AnswerJudge(self._validator),
                deadline=deadline,
                is_held_back=policy.stream_mode is StreamMode.HOLD_BACK,
                clock=clock,
                meter=meter,
                ignored={**intent.ignored, **composition.ignored},
            )
            begin = partial(self._begun, intent, terms, record)
            async with begin(0) as first:
                if taken is not None and taken.resolved is not None:
                    self._usage.count(taken.resolved.revision.revision_id)
                others = [partial(begin, index) for index in range(1, intent.num_choices)]
                yield Answering(first, others, terms)

    @asynccontextmanager
    async def _begun(
        self, intent: GenerationIntent, terms: Terms, record: RequestRecord, index: int
    ) -> AsyncIterator[Generation]:
        """One choice on a node. Choices differ by their seeds."""
        # Choices that decode at the same time are timed together, by whoever waits for all of them.
        timer = terms.clock if intent.num_choices == 1 else StageClock()
        bound = terms.bound
        seed = (intent.sampling.seed + index) % _NUM_SEEDS
        request = GenerateRequest(
            request_id=record.request_id if index == 0 else f"{record.request_id}-{index}",
            messages=list(intent.messages),
            artifact_key=None if bound is None else bound.key,
            sampling=intent.sampling.model_copy(update={"seed": seed}),
            max_tokens=intent.max_tokens,
            stop=list(intent.stop),
            tools=_offers(intent),
            top_logprobs=intent.top_logprobs,
        )
        async with AsyncExitStack() as stack:
            opening = self._nodes.open(terms.offer, request, None if bound is None else bound.signed, timer)
            sequence = await _before(terms.deadline, stack.enter_async_context(opening))
            yield Generation(sequence, terms, index=index, seed=seed, timer=timer)

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

    async def _bind_composition(
        self, composition: Composition, offer: ModelOffer, meter: Meter, record: RequestRecord
    ) -> BoundContract | None:
        if composition.taken is None:
            return None
        try:
            bound = await self._bind(composition.taken, offer, meter, record)
        except ContractRefusedError as error:
            raise composition.refused(error) from None
        composition.check(bound)
        return bound

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


def _offers(intent: GenerationIntent) -> list[ToolOffer]:
    """The tools that the model is told of."""
    return [
        ToolOffer(
            name=tool.name,
            description=tool.description,
            parameters=canonical_json(tool.parameters) if isinstance(tool, FunctionTool) else None,
        )
        for tool in (() if intent.toolbox is None else intent.toolbox.tools)
    ]


def _most_tokens(intent: GenerationIntent, offer: ModelOffer) -> int:
    """The most that a request can use: a token stands for at least one byte of the prompt, and never more than
    the context in each choice."""
    prompt = sum(_most_prompt_tokens(message) for message in intent.messages)
    prompt += sum(len(each.model_dump_json()) + _TEMPLATE_TOKENS for each in _offers(intent))
    if intent.max_tokens is None:
        return offer.context_tokens * intent.num_choices
    answers = intent.max_tokens * intent.num_choices
    return min(offer.context_tokens * intent.num_choices, prompt + answers)


def _most_prompt_tokens(message: ChatMessage) -> int:
    calls = sum(len(call.model_dump_json()) + _TEMPLATE_TOKENS for call in message.tool_calls)
    return len(message.content.encode()) + calls + _TEMPLATE_TOKENS


async def _before(deadline: float, opening: Awaitable[OpenSequence]) -> OpenSequence:
    try:
        async with asyncio.timeout_at(deadline):
            return await opening
    except TimeoutError:
        raise DeadlinePassedError from None
