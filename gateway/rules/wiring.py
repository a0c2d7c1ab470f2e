"""The parts that rules are made of, wired."""

from contextlib import AsyncExitStack
from dataclasses import dataclass

from gateway.metrics import GatewayMetrics
from gateway.rules.answer_rules import RulesOfRequests
from gateway.rules.processes import RuleProcesses
from gateway.rules.service import OutputRules
from gateway.settings import GatewaySettings
from gateway.tenant_settings import TenantSettings
from gateway.webhooks.client import CallBounds, WebhookClient, trusted_authorities
from gateway.webhooks.origins import ListedTargets


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleParts:
    """The rules of requests, and the two parts that also say whether a document can be set."""

    of_requests: RulesOfRequests
    processes: RuleProcesses
    webhooks: WebhookClient


def open_rules(
    settings: GatewaySettings, tenant_settings: TenantSettings, metrics: GatewayMetrics, stack: AsyncExitStack
) -> RuleParts:
    """Make the parts; `stack` closes them. No process is started before the first rule."""
    processes = RuleProcesses(num_workers=settings.num_rule_processes, seconds=settings.rule_seconds)
    stack.push_async_callback(processes.close)
    webhooks = WebhookClient(
        targets=ListedTargets.read(settings.webhook_origins, settings.webhook_private_networks),
        secrets={
            name: [secret.get_secret_value().encode() for secret in secrets]
            for name, secrets in settings.webhook_secrets.items()
        },
        trusted=trusted_authorities(settings.webhook_ca_file),
        bounds=CallBounds(
            max_calls=settings.max_webhook_calls, max_calls_of_tenant=max(1, settings.max_webhook_calls // 4)
        ),
    )
    stack.push_async_callback(webhooks.close)
    service = OutputRules(settings=tenant_settings, expressions=processes, webhooks=webhooks, metrics=metrics)
    return RuleParts(of_requests=RulesOfRequests(service), processes=processes, webhooks=webhooks)
