"""The composition root: every part of a gateway is made here and handed on by constructor."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace

import httpx
from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.middleware.errors import ServerErrorMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp

from compiler_pool.client import PoolClient
from gateway.admin import keys as admin_keys
from gateway.admin import tenants as admin_tenants
from gateway.artifact_uses import ArtifactUses
from gateway.artifacts import ArtifactSource
from gateway.auth.keys import Pepper
from gateway.auth.store import KeyStore
from gateway.auth.wiring import open_auth
from gateway.backends.openai import OpenAIServer
from gateway.budgets.errors import BudgetRefusedError
from gateway.budgets.ledger import BudgetLedger
from gateway.budgets.wiring import open_budgets
from gateway.comparisons import BoundedComparer
from gateway.compatibility.service import ComparisonService
from gateway.compilers import Compiler
from gateway.confluent.router import ROUTERS as CONFLUENT_ROUTERS
from gateway.direct_routes import DirectRoutes, Endpoint
from gateway.errors import ContractLookupError, ContractRefusedError, GatewayError
from gateway.intake import ContractIntake
from gateway.judging import Validator
from gateway.metrics import GatewayMetrics
from gateway.nodes import NodeDirectory
from gateway.observed import RECORD, Observed
from gateway.offers import Offers
from gateway.pipeline import Pipeline
from gateway.policies.documents import said_in
from gateway.policies.service import ServingPolicies
from gateway.polling import Poller
from gateway.precompile import Precompiler
from gateway.problem import Problem
from gateway.problem_response import problem_response
from gateway.problems import problem_of, route_problem
from gateway.readiness import ReadinessProbe
from gateway.record import RequestRecord
from gateway.route_table import allowed_methods
from gateway.routes import (
    audit_chain,
    capabilities,
    chat,
    description,
    health,
    models,
    promotions,
    registry_policy,
    responses,
    serving_policy,
    signing_keys,
)
from gateway.routes import budgets as budgets_of_tenants
from gateway.routes import rules as rules_of_tenants
from gateway.routes.contracts import aliases, diff, explain, lifecycle, reading, registration, signatures
from gateway.rules.wiring import open_rules
from gateway.services import SERVICES, Services
from gateway.settings import GatewaySettings
from gateway.tasks import TaskOwner
from gateway.tenant_settings import TenantSettings
from gateway.usage import UsageCounter
from gateway.validation.service import ValidationService
from inference_node.client import NodeClient
from inference_node.http_connections import HttpConnections
from policy.entitlement import Entitlements
from registry.catalogue import open_catalogue
from registry.errors import RegistryError
from registry.measuring import Comparer
from registry.store.tenant_settings import TenantSettingsStore
from registry.turns import Turns

_RESOURCES = (
    *(chat, capabilities, responses, models, description, health),
    *(explain, registration, diff, reading, lifecycle, aliases, signatures),
    *(promotions, signing_keys, registry_policy, serving_policy, rules_of_tenants, budgets_of_tenants, audit_chain),
    *(admin_tenants, admin_keys),
)
"""In the order in which paths are tried."""
_DIRECT: Mapping[str, Endpoint] = {
    "/v1/chat/completions": chat.create_chat_completion,
    "/v1/responses": responses.create_response,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What a gateway talks to, where it is not what the settings say: another transport, another validator …"""

    transport: httpx.AsyncBaseTransport | None = None
    validator: Validator | None = None
    ledger: BudgetLedger | None = None
    comparer: Comparer | None = None


class _Application(FastAPI):
    """What is reached directly passes none of the framework's own layers, which are for its routes, and is observed
    like everything else."""

    ahead: Callable[[ASGIApp], ASGIApp]

    def build_middleware_stack(self) -> ASGIApp:
        """Once, before the first request. Without the layer that would answer what `Observed` has to: in its own words,
        and before who has left is known for gone."""
        outermost = super().build_middleware_stack()
        assert isinstance(outermost, ServerErrorMiddleware)
        return self.ahead(outermost.app)


def create_app(settings: GatewaySettings, surroundings: Surroundings | None = None) -> FastAPI:
    """A gateway as an ASGI application. Nothing is opened before its lifespan begins."""
    metrics = GatewayMetrics()
    around = surroundings or Surroundings()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            setattr(app.state, SERVICES, await _open(settings, around, metrics, stack))
            yield

    # No generated API description: handlers read bodies themselves, so it would describe nothing.
    app = _Application(
        title="Schemagate", lifespan=lifespan, docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False
    )
    for resource in _RESOURCES:
        app.include_router(resource.router)
    for router in CONFLUENT_ROUTERS:
        app.include_router(router)

    async def answer_error(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, GatewayError | RegistryError)
        if isinstance(error, ContractRefusedError):
            metrics.contract_refusals.labels(code=str(error.rejections[0].code)).inc()
        problem = problem_of(error)
        if isinstance(error, RegistryError | ContractLookupError):
            metrics.registry_refusals.labels(code=problem.code).inc()
        if isinstance(error, BudgetRefusedError):
            metrics.budget_refusals.labels(budget=error.budget).inc()
        # Whoever raised it from a variable is in a circle with it, and with it all frames up to the body: a megabyte
        # that only the seldom search for garbage would let go.
        error.__traceback__ = None
        return _answer(request, problem)

    async def answer_route(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, HTTPException)
        allowed = allowed_methods(app.routes, request.scope)
        return _answer(request, route_problem(error.status_code, allowed=allowed))

    app.add_exception_handler(GatewayError, answer_error)
    app.add_exception_handler(RegistryError, answer_error)
    app.add_exception_handler(HTTPException, answer_route)
    app.ahead = lambda rest: Observed(DirectRoutes(rest, _DIRECT, answer_error), metrics)
    return app


def _answer(request: Request, problem: Problem) -> JSONResponse:
    record = getattr(request.state, RECORD)
    assert isinstance(record, RequestRecord)
    if problem.param == "messages":
        problem = replace(problem, param=record.prompt_param)
    record.fail(problem)
    return problem_response(problem, record)


async def _open(
    settings: GatewaySettings, around: Surroundings, metrics: GatewayMetrics, stack: AsyncExitStack
) -> Services:
    """Open what has to be closed, in the order in which it is needed; `stack` closes it in the opposite one."""
    store = await KeyStore.open(settings.database_url)
    stack.push_async_callback(store.close)
    http = await stack.enter_async_context(_http_client(settings, around.transport))
    validator = around.validator
    if validator is None:
        judges = await ValidationService.start(num_workers=settings.num_validators)
        stack.push_async_callback(judges.close)
        validator = judges
    comparer, comparisons = around.comparer, None
    if comparer is None:
        comparisons = await ComparisonService.start(num_workers=settings.num_comparers)
        stack.push_async_callback(comparisons.close)
        comparer = BoundedComparer(comparisons, seconds=settings.comparison_seconds)
    turns = Turns()
    entitlements = Entitlements(governed_tenants=frozenset(settings.governed_tenants))
    catalogue = open_catalogue(store.database, comparer, turns=turns, entitlements=entitlements)
    usage = UsageCounter(catalogue.usage, metrics)
    stack.push_async_callback(usage.close)
    tasks = TaskOwner()
    stack.push_async_callback(tasks.close)
    tasks.start(usage.run(), name="usage")

    streams, answers = None, []
    if around.transport is None:
        streams = HttpConnections(
            connect_seconds=settings.connect_seconds,
            silence_seconds=settings.silence_seconds,
            max_connections=settings.max_node_connections,
        )
        stack.push_async_callback(streams.close)
        answers.append(streams)
    nodes = NodeDirectory([NodeClient(url, http, streams) for url in settings.node_urls])
    # Connections of their own: a slow backend keeps nobody from a node.
    upstream = HttpConnections(
        connect_seconds=settings.connect_seconds,
        silence_seconds=settings.silence_seconds,
        max_connections=settings.max_backend_connections,
    )
    stack.push_async_callback(upstream.close)
    answers.append(upstream)
    servers = [OpenAIServer(each, upstream, metrics) for each in settings.openai_backends]
    offers = Offers(nodes, servers)
    compiler = Compiler(PoolClient(settings.pool_url, http))
    pollers = [Poller(refresh, seconds=settings.poll_seconds) for refresh in (nodes.refresh, compiler.refresh)]
    # Looked at once before the first request, so that a model that is there is never answered with "unknown".
    await asyncio.gather(*(poller.look() for poller in pollers))
    for poller in pollers:
        tasks.start(poller.run(), name="poller")

    uses = ArtifactUses(compiler)
    tasks.start(uses.run(), name="uses of artifacts")
    artifacts = ArtifactSource(
        compiler,
        cache_bytes=settings.artifact_cache_bytes,
        compile_seconds=settings.compile_seconds,
        metrics=metrics,
        uses=uses,
    )
    former = settings.former_key_pepper
    pepper = Pepper(
        settings.key_pepper.get_secret_value(), former=None if former is None else former.get_secret_value()
    )
    auth = await open_auth(store, pepper, settings.oidc, tasks=tasks, stack=stack)
    intake = ContractIntake(
        resolver=catalogue.resolver,
        entitlements=entitlements,
        memo_bytes=settings.contract_memo_bytes,
        bounds=settings.text_bounds,
    )
    precompiler = Precompiler(
        governed=catalogue.governed,
        intake=intake,
        compiler=compiler,
        artifacts=artifacts,
        partition_of=pepper.partition,
        metrics=metrics,
    )
    if settings.num_precompiles:
        tasks.start(precompiler.watch(), name="precompile watch")
    for _ in range(settings.num_precompiles):
        tasks.start(precompiler.work(), name="precompile")
    tenant_settings = TenantSettings(TenantSettingsStore(store.database), tasks=tasks)
    policies = ServingPolicies(tenant_settings, installation=said_in(settings.serving_policy))
    rules = open_rules(settings, tenant_settings, metrics, stack)
    budgets = open_budgets(settings, tenant_settings, metrics, ledger=around.ledger, tasks=tasks, stack=stack)
    pipeline = Pipeline(
        intake=intake,
        budgets=budgets,
        compiler=compiler,
        artifacts=artifacts,
        nodes=nodes,
        offers=offers,
        policies=policies,
        validator=validator,
        rules=rules.of_requests,
        usage=usage,
        request_seconds=settings.request_seconds,
    )
    return Services(
        settings=settings,
        authenticator=auth.authenticator,
        keys=auth.keys,
        tenants=auth.tenants,
        pipeline=pipeline,
        catalogue=catalogue,
        budgets=budgets,
        nodes=nodes,
        offers=offers,
        compiler=compiler,
        precompiler=precompiler,
        readiness=ReadinessProbe(
            store=store,
            compiler=compiler,
            nodes=nodes,
            validator=validator,
            comparisons=comparisons,
            ledger=budgets.ledger,
            has_other_backends=bool(servers),
        ),
        metrics=metrics,
        tasks=tasks,
        usage=usage,
        turns=turns,
        tenant_settings=tenant_settings,
        policies=policies,
        rule_processes=rules.processes,
        webhooks=rules.webhooks,
        answers=tuple(answers),
    )


def _http_client(settings: GatewaySettings, transport: httpx.AsyncBaseTransport | None) -> httpx.AsyncClient:
    return httpx.AsyncClient(
        transport=transport,
        timeout=httpx.Timeout(settings.silence_seconds, connect=settings.connect_seconds),
        limits=httpx.Limits(
            max_connections=settings.max_node_connections, max_keepalive_connections=settings.max_node_connections
        ),
        # Neighbours are reached directly, whatever proxy the environment names for the outside world.
        trust_env=False,
    )
