"""The stages of a request, in their order. Handlers come through here and nowhere else.

Compilation is finished before a request can occupy a node; a reservation is settled however the request ends.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from functools import partial

from gateway.answering import Answering
from gateway.artifacts import ArtifactSource
from gateway.auth.authenticator import Caller
from gateway.backends.answers import Repairs, is_claimed, open_answer, upstream_request
from gateway.budgets.bounds import generation_demand
from gateway.budgets.desk import BudgetDesk, RequestDemand
from gateway.budgets.meter import Meter
from gateway.compilers import Compiler
from gateway.composition.composer import Allowed, Composer
from gateway.composition.composition import Composition
from gateway.composition.tool_contracts import of_an_object
from gateway.deadline import Deadline
from gateway.errors import ContractRefusedError, NoNodeError
from gateway.explain_request import ExplainIntent
from gateway.generation import Generation, Terms
from gateway.intake import ContractIntake
from gateway.intent import FunctionTool, GenerationIntent
from gateway.judging import AnswerJudge, Validator
from gateway.nodes import ModelOffer, NodeDirectory, OpenSequence
from gateway.offers import Offers
from gateway.opening import OpenedInTime
from gateway.outcome import BoundContract, TakenContract
from gateway.policies.admission import Admission
from gateway.policies.errors import ServingRefusedError
from gateway.policies.service import ServingPolicies
from gateway.policies.thinking import thought_apart
from gateway.record import RequestRecord
from gateway.rules.answer_rules import RulesOfRequests
from gateway.stages import Stage, StageClock
from gateway.usage import UsageCounter
from inference_node.protocol import GenerateRequest, ReasoningSpan, ToolOffer
from inference_node.tool_dialects.choosing import TOOL_DIALECTS
from policy.serving import StreamMode
from policy.serving_plan import Capability, Granted, ServingRefusal
from registry.text import canonical_json

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
        budgets: BudgetDesk,
        compiler: Compiler,
        artifacts: ArtifactSource,
        nodes: NodeDirectory,
        offers: Offers,
        policies: ServingPolicies,
        validator: Validator,
        rules: RulesOfRequests,
        usage: UsageCounter,
        request_seconds: float,
    ) -> None:
        self._intake = intake
        self._budgets = budgets
        self._compiler = compiler
        self._artifacts = artifacts
        self._nodes = nodes
        self._offers = offers
        self._admission = Admission(intake=intake, policies=policies, offers=offers, compiler=compiler)
        self._validator = validator
        self._rules = rules
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
        admitted = await self._admission.admit(intent, caller, record)
        intent, taken, offer, granted = admitted.intent, admitted.taken, admitted.offer, admitted.granted
        # A refusal is a branch of the grammar, where there is one.
        may_refuse = admitted.policy.allow_refusal and offer.capability is Capability.GRAMMAR
        # A model with a framing of its own thinks before the grammar begins; for others it is a part of the grammar.
        thought, ignored = thought_apart(intent, offer, admitted.policy)
        allowed = Allowed(refusal=may_refuse, thought=intent.wants_reasoning and thought is None)
        composition = await Composer(self._intake, caller, clock, TOOL_DIALECTS[offer.tool_dialect]).compose(
            taken, intent.toolbox, allowed
        )
        if taken is None and composition.taken is not None:
            record.take(composition.taken)
        with clock.time(Stage.NEGOTIATE):
            rules = await self._rules.of_request(
                caller,
                composition,
                model=intent.model,
                request_id=record.request_id,
                fail_open=admitted.policy.fail_open_webhooks,
            )
        demand = self._demand(intent, composition.taken, offer, granted)
        async with self._reserved(caller, demand, record) as meter:
            is_decoded_here = offer.capability is Capability.GRAMMAR
            bound = await self._bind_composition(composition, offer, meter, record) if is_decoded_here else None
            terms = Terms(
                offer=offer,
                composition=composition,
                bound=bound,
                judge=AnswerJudge(self._validator),
                deadline=deadline,
                # What may yet be repaired is nothing to show.
                is_held_back=admitted.policy.stream_mode is StreamMode.HOLD_BACK or granted.max_repairs > 0,
                rules=rules,
                clock=clock,
                meter=meter,
                ignored={**intent.ignored, **ignored, **composition.ignored},
                granted=granted,
                is_claimed=is_claimed(offer, composition.taken, granted),
                thought=thought,
                partition=caller.partition,
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
        """One choice, of a node or of another backend. Choices differ by their seeds."""
        # Choices that decode at the same time are timed together, by whoever waits for all of them.
        timer = terms.clock if intent.num_choices == 1 else StageClock()
        seed = (intent.sampling.seed + index) % _NUM_SEEDS
        request_id = record.request_id if index == 0 else f"{record.request_id}-{index}"
        opening = self._opening(intent, terms, request_id, seed, timer)
        deadline = Deadline(terms.deadline)
        async with OpenedInTime(opening, deadline) as sequence:
            yield Generation(sequence, terms, index=index, seed=seed, timer=timer, deadline=deadline)

    def _opening(
        self, intent: GenerationIntent, terms: Terms, request_id: str, seed: int, timer: StageClock
    ) -> AbstractAsyncContextManager[OpenSequence]:
        bound, offer = terms.bound, terms.offer
        sampling = intent.sampling
        if seed != sampling.seed:
            sampling = sampling.model_copy(update={"seed": seed})
        if offer.capability is not Capability.GRAMMAR:
            taken = terms.composition.taken
            repairs = None
            if taken is not None and terms.granted.max_repairs:
                repairs = Repairs(most=terms.granted.max_repairs, judge=partial(terms.judge.verdict_alone, taken))
            asked = upstream_request(intent, sampling, taken, offer.capability)
            server = self._offers.server(offer)
            return open_answer(server, offer, asked, repairs=repairs, meter=terms.meter, timer=timer)
        request = GenerateRequest(
            request_id=request_id,
            messages=list(intent.messages),
            artifact_key=None if bound is None else bound.key,
            sampling=sampling,
            max_tokens=intent.max_tokens,
            stop=list(intent.stop),
            tools=_offers(intent),
            top_logprobs=intent.top_logprobs,
            partition=terms.partition,
            reasoning=None if terms.thought is None else ReasoningSpan(budget_tokens=terms.thought.budget_tokens),
        )
        return self._nodes.open(offer, request, None if bound is None else bound.signed, timer)

    async def explain(self, intent: ExplainIntent, caller: Caller, record: RequestRecord) -> Explained:
        """Carry a contract up to its artifact, without a generation.

        Raises:
            GatewayError: the refusal or failure that a generation under this contract would meet.
        """
        taken = await self._admission.explained(intent.contract, caller, record)
        with record.clock.time(Stage.RESOLVE):
            offer = self._explained_offer(intent.model)
        demand = RequestDemand(
            model=offer.model,
            compile_cpu_ms=self._compile_cpu_ms(taken, offer),
            contract_digest=taken.contract.digest,
        )
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
            bound = await self._artifacts.obtain(taken, offer.compiled_for, meter)
        record.artifact_key, record.cache = bound.key, bound.tier
        return bound

    def _explained_offer(self, model: str | None) -> ModelOffer:
        if model is not None:
            offer = self._offers.offer(model, self._compiler.tokenizers)
            if offer.capability is not Capability.GRAMMAR:
                message = (
                    f"the backend of the model `{model[:128]}` decodes under no grammar: there is nothing to explain"
                )
                raise ServingRefusedError(ServingRefusal.CAPABILITY_UNAVAILABLE, message, param="model")
            return offer
        offers = self._nodes.offers()
        if not offers:
            raise NoNodeError("no inference node is up, so there is no tokenizer to compile for", retry_after_seconds=1)
        return self._nodes.offer(offers[0].model, self._compiler.tokenizers)

    def _demand(
        self, intent: GenerationIntent, taken: TakenContract | None, offer: ModelOffer, granted: Granted
    ) -> RequestDemand:
        return generation_demand(
            intent,
            _offers(intent),
            num_attempts=1 + granted.max_repairs,
            # Another backend reads the prompt once for each choice.
            num_prompts=1 if offer.capability is Capability.GRAMMAR else intent.num_choices,
            context_tokens=offer.context_tokens,
            compile_cpu_ms=self._compile_cpu_ms(taken, offer),
            contract_digest=None if taken is None else taken.contract.digest,
        )

    def _compile_cpu_ms(self, taken: TakenContract | None, offer: ModelOffer) -> int:
        if taken is None or offer.capability is not Capability.GRAMMAR:
            return 0
        is_cached = self._artifacts.is_cached(taken, offer.compiled_for)
        return 0 if is_cached else round(taken.limits.compile.cpu_seconds * 1000)

    @asynccontextmanager
    async def _reserved(self, caller: Caller, demand: RequestDemand, record: RequestRecord) -> AsyncIterator[Meter]:
        with record.clock.time(Stage.RESERVE):
            lease = await self._budgets.reserve(caller, demand)
        record.limit_headers, record.quote = lease.headers, lease.quote
        try:
            yield record.meter
        finally:
            with record.clock.time(Stage.SETTLE):
                await self._budgets.settle(lease, record.meter)


def _offers(intent: GenerationIntent) -> list[ToolOffer]:
    """The tools that the model is told of."""
    return [
        ToolOffer(
            name=tool.name,
            description=tool.description,
            parameters=canonical_json(of_an_object(tool.parameters)) if isinstance(tool, FunctionTool) else None,
        )
        for tool in (() if intent.toolbox is None else intent.toolbox.tools)
    ]
