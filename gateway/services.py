"""What the handlers use, in one typed value that the composition root fills."""

from dataclasses import dataclass
from functools import partial

from starlette.requests import Request

from gateway.auth.authenticator import Authenticator, Caller, Schemes
from gateway.auth.gate import refusal_reason, require_scope, sent_authorization
from gateway.auth.key_desk import KeyDesk
from gateway.auth.tenant_store import TenantStore
from gateway.body import parse_body, read_body
from gateway.budgets.desk import BudgetDesk, RequestDemand
from gateway.comparisons import COMPARING_FOR
from gateway.compilers import Compiler
from gateway.errors import GatewayError
from gateway.metrics import GatewayMetrics
from gateway.nodes import NodeDirectory
from gateway.observed import RECORD
from gateway.offers import Offers
from gateway.pipeline import Pipeline
from gateway.policies.service import ServingPolicies
from gateway.precompile import Precompiler
from gateway.readiness import ReadinessProbe
from gateway.record import RequestRecord
from gateway.rules.processes import RuleProcesses
from gateway.settings import GatewaySettings
from gateway.stages import Stage
from gateway.tasks import TaskOwner
from gateway.tenant_settings import TenantSettings
from gateway.usage import UsageCounter
from gateway.webhooks.client import WebhookClient
from inference_node.http_connections import HttpConnections
from registry.catalogue import Catalogue
from registry.contract import JsonValue
from registry.turns import Turns

SERVICES = "schemagate_services"
"""Where the services lie in the application's state."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """One gateway's parts."""

    settings: GatewaySettings
    authenticator: Authenticator
    keys: KeyDesk
    tenants: TenantStore
    pipeline: Pipeline
    catalogue: Catalogue
    budgets: BudgetDesk
    nodes: NodeDirectory
    offers: Offers
    compiler: Compiler
    precompiler: Precompiler
    readiness: ReadinessProbe
    metrics: GatewayMetrics
    tasks: TaskOwner
    usage: UsageCounter
    tenant_settings: TenantSettings
    policies: ServingPolicies
    rule_processes: RuleProcesses
    webhooks: WebhookClient
    turns: Turns
    """At what takes processor time beside the event loop."""
    answers: tuple[HttpConnections, ...]
    """Over which nodes and other backends answer."""

    async def authenticate(
        self, request: Request, record: RequestRecord, *, schemes: Schemes = Schemes.BEARER
    ) -> Caller:
        """Stage 1. Before the body is read: who has no key, or none for this path, costs nothing more."""
        with record.clock.time(Stage.AUTHENTICATE):
            try:
                caller = await self.authenticator.authenticate(sent_authorization(request), schemes=schemes)
                record.caller = caller
                require_scope(caller, method=request.method, path=request.scope["path"])
            except GatewayError as error:
                self.metrics.authentication_refusals.labels(reason=refusal_reason(error)).inc()
                raise
        return caller

    async def admit(self, caller: Caller, record: RequestRecord) -> None:
        """Count a request that decodes nothing to its tenant, among those at one moment until it is over.

        Raises:
            BudgetRefusedError: the tenant asks too often, or too much at one moment.
        """
        COMPARING_FOR.set(caller.partition)
        lease = await self.budgets.reserve(caller, RequestDemand())
        record.at_end = partial(self.budgets.settle, lease, record.meter)
        record.limit_headers = lease.headers

    async def body(self, request: Request, record: RequestRecord) -> JsonValue:
        """Stage 2, up to JSON."""
        data = await self.bytes_of(request, record)
        return await self.parsed(data, record)

    async def bytes_of(self, request: Request, record: RequestRecord) -> bytes:
        """The body as it was sent."""
        settings = self.settings
        with record.clock.time(Stage.PARSE):
            return await read_body(request, max_bytes=settings.max_body_bytes, max_seconds=settings.body_seconds)

    async def parsed(self, data: bytes, record: RequestRecord) -> JsonValue:
        """A body as exact JSON."""
        settings = self.settings
        assert record.caller is not None, "nothing is parsed before it is known for whom"
        with record.clock.time(Stage.PARSE):
            return await parse_body(
                data,
                max_bytes=settings.max_body_bytes,
                max_nesting=settings.max_body_nesting,
                turns=self.turns,
                tenant=record.caller.tenant,
            )


def services_of(request: Request) -> Services:
    """The services of the application that serves `request`."""
    services = getattr(request.app.state, SERVICES)
    assert isinstance(services, Services)
    return services


def record_of(request: Request, route: str) -> RequestRecord:
    """The record of `request`, which a route claims by its name."""
    record = getattr(request.state, RECORD)
    assert isinstance(record, RequestRecord)
    record.route = route
    return record
