"""The rules of one request, ready to be asked about each of its answers."""

from dataclasses import dataclass

from gateway.answer import Answer
from gateway.auth.authenticator import Caller
from gateway.composition.composition import Composition
from gateway.outcome import TakenContract
from gateway.rules.finished import Finished, FinishedCall, FinishedObject, RuleContext
from gateway.rules.rule_set import RuleSet
from gateway.rules.service import OutputRules
from gateway.rules.verdict import NO_RULES, RulesVerdict
from registry.contract import ContractKind


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerRules:
    """What a request's answers have to pass. `fail_open` are the webhooks whose silence the serving policy forgives."""

    service: OutputRules
    planned: RuleSet
    context: RuleContext | None
    """None where nothing is planned that could be told of it."""
    fail_open: frozenset[str]

    @property
    def must_authorise(self) -> bool:
        """Whether nothing may go out before it is known that the caller may have it, whatever the policy says."""
        return self.planned.authorises

    async def verdict(self, answer: Answer, contract: TakenContract | None) -> RulesVerdict:
        """The verdict on an answer that the judge has found valid. `contract` is that of an answer in words.

        Words outside a contract are no object, and a refusal keeps no contract that a rule could be about.
        """
        if self.context is None or answer.refusal is not None:
            return NO_RULES
        parts: list[Finished] = [
            FinishedCall(name=call.name, text=call.text, is_json=not call.is_custom) for call in answer.calls
        ]
        if contract is not None and answer.content is not None:
            is_json = contract.contract.kind is ContractKind.JSON_SCHEMA
            parts.append(FinishedObject(text=answer.content, is_json=is_json))
        return await self.service.check(self.planned, parts, self.context, fail_open=self.fail_open)


class RulesOfRequests:
    """Finds out, before anything is decoded, what answers will have to pass."""

    def __init__(self, service: OutputRules) -> None:
        self._service = service

    async def of_request(
        self, caller: Caller, composition: Composition, *, model: str, request_id: str, fail_open: frozenset[str]
    ) -> AnswerRules:
        """The rules as they are now.

        Raises:
            StoreUnavailableError: the registry's, where the database does not answer.
            RulesUnreadableError: a document is not one that this version reads.
        """
        taken = composition.answer or composition.taken
        resolved = None if taken is None else taken.resolved
        # Free words are under no contract, so no rule is about them.
        planned = RuleSet()
        if composition.taken is not None:
            contract = None if resolved is None else resolved.contract
            planned = await self._service.plan(caller.tenant, contract)
        if planned.is_empty:
            return AnswerRules(service=self._service, planned=planned, context=None, fail_open=fail_open)
        context = RuleContext(
            tenant=caller.tenant,
            team=caller.actor.team,
            principal=caller.actor.principal,
            roles=tuple(sorted(role.value for role in caller.actor.roles)),
            contract_name=None if resolved is None else resolved.contract.name,
            contract_revision=None if resolved is None else resolved.revision.number,
            contract_alias=None if resolved is None else resolved.alias,
            contract_digest=None if taken is None else taken.contract.digest,
            contract_kind=None if taken is None else taken.contract.kind.value,
            model=model,
            request_id=request_id,
        )
        return AnswerRules(service=self._service, planned=planned, context=context, fail_open=fail_open)
