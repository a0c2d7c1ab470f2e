"""Stages 3 to 5 of a generation: its contract, the policy that holds for that, and whether and how it is served."""

from dataclasses import dataclass

from gateway.auth.authenticator import Caller
from gateway.compilers import Compiler
from gateway.intake import ContractIntake
from gateway.intent import Contract, GenerationIntent
from gateway.nodes import ModelOffer
from gateway.offers import Offers
from gateway.outcome import Downgraded, TakenContract
from gateway.policies.granting import grant, raised, strict_enough, tightened
from gateway.policies.service import ServingPolicies, TenantPolicies
from gateway.record import RequestRecord
from gateway.stages import Stage
from policy.serving import ServingPolicy
from policy.serving_plan import Enforcer, Granted


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted:
    """A request that is served, as it is carried out: `intent` and `taken` are what the policy has made of them."""

    intent: GenerationIntent
    taken: TakenContract | None
    policy: ServingPolicy
    offer: ModelOffer
    granted: Granted


class Admission:
    """Looks at a request before anything is spent on it."""

    def __init__(
        self, *, intake: ContractIntake, policies: ServingPolicies, offers: Offers, compiler: Compiler
    ) -> None:
        self._intake = intake
        self._policies = policies
        self._offers = offers
        self._compiler = compiler

    async def admit(self, intent: GenerationIntent, caller: Caller, record: RequestRecord) -> Admitted:
        """The request under its policy.

        Raises:
            ContractLookupError, ContractRefusedError: its contract cannot be had.
            ModelNotFoundError, NoNodeError: its model cannot.
            ServingRefusedError: the policy does not allow it, or the model's backend is not able to.
            PolicyUnreadableError, StoreUnavailableError: what the policy says is not known.
        """
        clock = record.clock
        with clock.time(Stage.NEGOTIATE):
            policies = await self._policies.of_tenant(caller.tenant)
        policy, taken = policies.of_contract(None), None
        if intent.contract is not None:
            taken, policy = await self._taken(intent.contract, policies, caller, record, serving=True)
        intent = raised(intent, policy)
        with clock.time(Stage.RESOLVE):
            offer = self._offers.offer(intent.model, self._compiler.tokenizers)
        with clock.time(Stage.NEGOTIATE):
            granted = grant(policy, intent, offer.capability)
        if granted.enforcer is Enforcer.VALIDATOR:
            record.downgrade = Downgraded.VALIDATED_AFTER
        return Admitted(intent=intent, taken=taken, policy=policy, offer=offer, granted=granted)

    async def explained(self, contract: Contract, caller: Caller, record: RequestRecord) -> TakenContract:
        """A contract as it would be enforced for this caller, without anything being generated.

        Raises:
            ContractLookupError, ContractRefusedError, PolicyUnreadableError, StoreUnavailableError: as `admit`.
        """
        with record.clock.time(Stage.NEGOTIATE):
            policies = await self._policies.of_tenant(caller.tenant)
        taken, _ = await self._taken(contract, policies, caller, record, serving=False)
        return taken

    async def _taken(
        self, contract: Contract, policies: TenantPolicies, caller: Caller, record: RequestRecord, *, serving: bool
    ) -> tuple[TakenContract, ServingPolicy]:
        """The contract under the policy of its family. Once a request: an alias that moves from here on changes
        nothing."""
        policy = policies.of_contract(None)
        contract = strict_enough(contract, policy)
        taken = await self._intake.take(contract, caller, record.clock, serving=serving)
        if taken.resolved is not None:
            policy = policies.of_contract(taken.resolved.contract)
            taken = tightened(taken, policy)
        record.take(taken)
        return taken, policy
