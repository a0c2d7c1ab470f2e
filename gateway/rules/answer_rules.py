"""The rules of one request, ready to be asked about each of its answers."""

from dataclasses import dataclass

from gateway.answer import Answer
from gateway.rules.finished import Finished, FinishedCall, FinishedObject, RuleContext
from gateway.rules.rule_set import RuleSet
from gateway.rules.service import OutputRules
from gateway.rules.verdict import NO_RULES, RulesVerdict


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerRules:
    """What a request's answers have to pass. `fail_open` are the webhooks whose silence the serving policy forgives."""

    service: OutputRules
    planned: RuleSet
    context: RuleContext
    fail_open: frozenset[str]

    @property
    def holds_back(self) -> bool:
        """Whether text may go out only when it is known that the caller may have it, whatever the policy says."""
        return self.planned.authorises

    async def verdict(self, answer: Answer, *, is_under_contract: bool, is_json: bool) -> RulesVerdict:
        """The verdict on an answer that the judge has found valid.

        Words outside a contract are no object, and a refusal keeps no contract that a rule could be about.
        """
        if self.planned.is_empty or answer.refusal is not None:
            return NO_RULES
        parts: list[Finished] = [
            FinishedCall(name=call.name, text=call.text, is_json=not call.is_custom) for call in answer.calls
        ]
        if is_under_contract and answer.content is not None:
            parts.append(FinishedObject(text=answer.content, is_json=is_json))
        return await self.service.check(self.planned, parts, self.context, fail_open=self.fail_open)
