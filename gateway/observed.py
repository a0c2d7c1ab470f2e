"""Around every request: its id, its timings on the answer, and what metrics, span and audit say of it at the end."""

from http import HTTPStatus

import structlog
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gateway.audit import write_audit
from gateway.caller_watch import CallerGoneError
from gateway.completion import NotAsked, Reason
from gateway.metrics import GatewayMetrics
from gateway.problem_rows import REASONS
from gateway.problems import internal_problem
from gateway.record import RequestRecord
from gateway.telemetry import record_end, record_outcomes, request_span
from gateway.validation.verdict import Invalid, Unjudged, Valid
from registry.revision import RevisionState

_log = structlog.get_logger(__name__)

_CALLER_GONE_STATUS = REASONS[Reason.CALLER_GONE].status

RECORD = "schemagate_record"
"""Where the record lies in an ASGI scope's state."""


class Observed:
    """ASGI middleware. It wraps the whole application, so that a request that no route takes is observed too."""

    def __init__(self, app: ASGIApp, metrics: GatewayMetrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        record = RequestRecord()
        scope.setdefault("state", {})[RECORD] = record
        status = 0

        async def send_observed(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = int(message["status"])  # an enumeration's member would stand in the log by its name
                _add_headers(message, record)
            await send(message)

        with request_span("request") as span, self._metrics.in_flight.track_inprogress():
            try:
                await self._app(scope, receive, send_observed)
            except CallerGoneError:
                record.abandon()
                status = status or _CALLER_GONE_STATUS
            except Exception:
                _log.exception("request failed", request_id=record.request_id)
                record.error_code = "internal_error"
                if status == 0:
                    problem = internal_problem()
                    response = JSONResponse(problem.body(record.request_id), status_code=problem.status)
                    await response(scope, receive, send_observed)
            finally:
                status = status or HTTPStatus.INTERNAL_SERVER_ERROR
                record_outcomes(span, record.outcomes)
                record_end(span, status=status, error_type=record.error_code)
                self._count(record, status)
                if record.route not in _PROBES:
                    write_audit(record, status=status)
                if record.at_end is not None:
                    await record.at_end()

    def _count(self, record: RequestRecord, status: int) -> None:
        metrics, clock = self._metrics, record.clock
        metrics.count_answer(route=record.route, status=status, completion=record.completion)
        metrics.request_seconds.observe(clock.elapsed_seconds, record.route)
        metrics.observe_stages(clock.seconds)
        if record.first_token_seconds is not None:
            metrics.first_token_seconds.observe(record.first_token_seconds)
        meter = record.meter
        metrics.count_tokens(prompt=meter.prompt_tokens, completion=meter.completion_tokens, forced=meter.forced_tokens)
        if record.resolved is not None:
            signature, state = record.resolved.signature.value, record.resolved.status.state.value
            metrics.resolutions.labels(signature=signature, state=state).inc()
        metrics.count_cost(record.cost)
        num_accepted = sum(1 for each in record.outcomes if each.is_accepted_object)
        if num_accepted:
            metrics.accepted_objects.inc(num_accepted)
        if record.downgrade is not None:
            metrics.downgrades.labels(downgrade=str(record.downgrade), completion=record.completion).inc()
        outcome = record.outcome
        if outcome is None:
            return
        cache = "none" if outcome.bound is None else outcome.bound.tier.value
        metrics.overhead_seconds.observe(clock.overhead_seconds, cache)
        for each in record.outcomes:
            match each.verdict:
                case Valid():
                    metrics.count_verdict("valid")
                case Invalid():
                    metrics.count_verdict("invalid")
                case Unjudged(reason=reason):
                    metrics.count_verdict(f"unjudged_{reason}")
                case NotAsked():
                    pass


_PROBES = frozenset({"healthz", "readyz", "metrics"})
"""Asked every few seconds by machines: counted, not written down."""


def _add_headers(message: Message, record: RequestRecord) -> None:
    """What the answer has already under one of these names is replaced."""
    headers = _told(record)
    told = {name.encode(): value.encode("latin-1") for name, value in headers.items()}
    message["headers"] = [*(each for each in message.get("headers", ()) if each[0] not in told), *told.items()]


def _told(record: RequestRecord) -> dict[str, str]:
    headers: dict[str, str] = {"x-request-id": record.request_id}
    if record.route in _PROBES:
        return headers
    headers["server-timing"] = record.clock.server_timing()
    headers["x-schemagate-overhead-ms"] = f"{record.clock.overhead_seconds * 1000:.3f}"
    headers.update(record.limit_headers)
    if record.completion != "none":
        headers["x-schemagate-completion"] = record.completion
    if record.downgrade is not None:
        headers["x-schemagate-downgrade"] = record.downgrade
    if record.contract_digest is not None:
        headers["x-schemagate-contract"] = record.contract_digest
    if record.resolved is not None:
        headers["x-schemagate-revision"] = record.resolved.revision.revision_id
        if record.resolved.status.state is RevisionState.DEPRECATED:
            headers["deprecation"] = "true"
    return headers
