"""Rules over finished answers. Calling order: `plan` before anything is decoded, `check` when the judge has said valid.

Meaning comes first: expressions, then webhooks. Authorisation is a step of its own after it; its expressions are
evaluated whatever came before, its webhooks only where nothing has failed yet.
"""

import asyncio
from collections.abc import Sequence
from typing import Protocol

import structlog

from gateway.metrics import GatewayMetrics
from gateway.policies.documents import FAMILY
from gateway.rules.documents import read_stored
from gateway.rules.errors import RulesUnreadableError
from gateway.rules.finished import Finished, RuleContext
from gateway.rules.job import CelVerdict
from gateway.rules.members import verdict_word
from gateway.rules.questions import question
from gateway.rules.rule_set import Rule, RuleKind, RuleSet, Webhook
from gateway.rules.verdict import (
    NO_RULES,
    Failed,
    FailedOpen,
    NotApplicable,
    Passed,
    RuleResult,
    RuleSource,
    RulesVerdict,
    RuleVerdict,
    Unasked,
    Undecided,
)
from gateway.tenant_settings import TenantSettings
from gateway.webhooks.client import WebhookVerdict
from policy.serving_levels import families_of
from registry.identifiers import TenantId
from registry.revision import Contract
from registry.store.tenant_settings import Setting, Topic

_log = structlog.get_logger(__name__)


class Expressions(Protocol):
    """Evaluates CEL (`gateway.rules.processes`)."""

    async def evaluate(
        self, rules: Sequence[Rule], finished: Sequence[Finished], context: RuleContext
    ) -> tuple[CelVerdict, ...]:
        """One verdict a rule; never an exception for what a rule or an answer does."""
        ...


class Webhooks(Protocol):
    """Asks webhooks (`gateway.webhooks.client`)."""

    async def ask(self, webhook: Webhook, tenant: str, body: bytes) -> WebhookVerdict:
        """The verdict; never an exception for what a webhook does."""
        ...


class OutputRules:
    """The rules of all tenants."""

    def __init__(
        self, *, settings: TenantSettings, expressions: Expressions, webhooks: Webhooks, metrics: GatewayMetrics
    ) -> None:
        self._settings = settings
        self._expressions = expressions
        self._webhooks = webhooks
        self._metrics = metrics

    async def plan(self, tenant: TenantId, contract: Contract | None) -> RuleSet:
        """The rules that an answer will have to pass: the tenant's, then its contract's families', from wide to narrow.

        `contract` is None where it was sent with the request, or there is none.

        Asked once, before anything is decoded: a rule that changes meanwhile changes nothing for this request.

        Raises:
            StoreUnavailableError: the registry's, where the database does not answer.
            RulesUnreadableError: a document is not one that this version reads; no answer is let past it.
        """
        documents = await self._settings.of_tenant(tenant, Topic.RULES)
        planned = RuleSet()
        for subject in ("", *(FAMILY + family for family in _families(tenant, contract))):
            if subject in documents:
                planned = planned.with_more(self._read(documents[subject]))
        return planned

    async def check(
        self,
        planned: RuleSet,
        finished: Sequence[Finished],
        context: RuleContext,
        *,
        fail_open: frozenset[str] = frozenset(),
    ) -> RulesVerdict:
        """The verdict on the parts of one answer. `fail_open` are the webhooks whose silence policy forgives."""
        if planned.is_empty:
            return NO_RULES
        judged: dict[Rule, CelVerdict] = {}
        if planned.rules:
            verdicts = await self._expressions.evaluate(planned.rules, finished, context)
            judged = dict(zip(planned.rules, verdicts, strict=True))
        results: list[RuleResult] = []
        for kind in (RuleKind.SEMANTIC, RuleKind.AUTHORISATION):
            results += [_result(rule, verdict) for rule, verdict in judged.items() if rule.kind is kind]
            asked = [webhook for webhook in planned.webhooks if webhook.kind is kind]
            is_open = all(result.is_open for result in results)
            results += await self._ask_all(asked, finished, context, fail_open) if is_open else map(_unasked, asked)
        self._count(results)
        return RulesVerdict(results=tuple(results))

    def _read(self, setting: Setting) -> RuleSet:
        planned = read_stored(setting.document)
        if planned is None:
            _log.error("unreadable rules", tenant=setting.tenant, subject=setting.subject, version=setting.version)
            raise RulesUnreadableError
        return planned

    async def _ask_all(
        self, webhooks: Sequence[Webhook], finished: Sequence[Finished], context: RuleContext, fail_open: frozenset[str]
    ) -> list[RuleResult]:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._ask(webhook, finished, context)) for webhook in webhooks]
        results: list[RuleResult] = []
        for webhook, task in zip(webhooks, tasks, strict=True):
            verdict = task.result()
            # Two must agree: the document of rules, and the policy, which names the webhook.
            if isinstance(verdict, Undecided) and webhook.fail_open and webhook.name in fail_open:
                verdict = FailedOpen(fault=verdict.fault)
            results.append(_webhook_result(webhook, verdict))
        return results

    async def _ask(self, webhook: Webhook, finished: Sequence[Finished], context: RuleContext) -> RuleVerdict:
        """One verdict over all parts that the webhook looks at: the first that is not a yes."""
        parts = [part for part in finished if part.target is webhook.target]
        for part in parts:
            verdict = await self._webhooks.ask(webhook, context.tenant, question(webhook, part, context))
            if not isinstance(verdict, Passed):
                return verdict
        return Passed() if parts else NotApplicable()

    def _count(self, results: Sequence[RuleResult]) -> None:
        for result in results:
            self._metrics.rules.labels(
                kind=result.kind.value, source=result.source.value, verdict=verdict_word(result.verdict)
            ).inc()


def _families(tenant: TenantId, contract: Contract | None) -> tuple[str, ...]:
    if contract is None:
        return ()
    return families_of(contract.name, owner=None if contract.tenant == tenant else contract.tenant)


def _result(rule: Rule, verdict: CelVerdict) -> RuleResult:
    said: RuleVerdict = Failed(message=rule.message) if isinstance(verdict, Failed) else verdict
    return RuleResult(name=rule.name, kind=rule.kind, source=RuleSource.CEL, verdict=said)


def _webhook_result(webhook: Webhook, verdict: RuleVerdict) -> RuleResult:
    return RuleResult(name=webhook.name, kind=webhook.kind, source=RuleSource.WEBHOOK, verdict=verdict)


def _unasked(webhook: Webhook) -> RuleResult:
    return _webhook_result(webhook, Unasked())
