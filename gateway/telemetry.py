"""One OpenTelemetry span a request. Attribute names follow the GenAI conventions of the schema named here, and our
own `schemagate.*`; both are mapped in this module only, because the conventions still move."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from http import HTTPStatus

from opentelemetry import trace
from opentelemetry.trace import Span, SpanKind, Status, StatusCode

from gateway.intent import GenerationIntent
from gateway.outcome import Outcome, deciding

SCHEMA_URL = "https://opentelemetry.io/schemas/gen-ai/1.42.0"
_tracer = trace.get_tracer("schemagate.gateway", schema_url=SCHEMA_URL)


def request_span(route: str) -> AbstractContextManager[Span]:
    """The span of one request; what a caller sent as text never becomes an attribute."""
    span = _tracer.start_span(route, kind=SpanKind.SERVER)
    if not span.is_recording():  # nobody listens: nothing would be told what the current one is
        return nullcontext(span)
    return trace.use_span(span, end_on_exit=True, record_exception=False, set_status_on_exception=False)


def record_intent(intent: GenerationIntent) -> None:
    """What was asked, on the current span."""
    span = trace.get_current_span()
    if not span.is_recording():
        return
    span.update_name(f"chat {intent.model}")
    span.set_attributes(
        {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": "schemagate",
            "gen_ai.request.model": intent.model,
            "gen_ai.request.temperature": intent.sampling.temperature,
            "gen_ai.request.top_p": intent.sampling.top_p,
            "gen_ai.request.seed": intent.sampling.seed,
            "gen_ai.request.stream": intent.stream,
            "gen_ai.output.type": "text" if intent.contract is None else "json",
        }
    )
    if intent.max_tokens is not None:
        span.set_attribute("gen_ai.request.max_tokens", intent.max_tokens)


def record_outcomes(span: Span, outcomes: Sequence[Outcome]) -> None:
    """What became of all choices; the class is the request's."""
    if not span.is_recording() or not outcomes:
        return
    outcome = deciding(outcomes)
    span.set_attributes(
        {
            "gen_ai.response.model": outcome.offer.model,
            "gen_ai.usage.input_tokens": outcome.usage.prompt_tokens,
            "gen_ai.usage.output_tokens": sum(each.usage.completion_tokens for each in outcomes),
            "schemagate.completion.class": str(outcome.classified.completion),
            "schemagate.stop_cause": outcome.end,
        }
    )
    if outcome.offer.tokenizer_digest is not None:
        span.set_attribute("schemagate.tokenizer.digest", outcome.offer.tokenizer_digest)
    if outcome.downgrade is not None:
        span.set_attributes({"schemagate.downgrade": str(outcome.downgrade), "schemagate.repairs": outcome.num_repairs})
    reasons = [each.finish_reason for each in outcomes if each.finish_reason is not None]
    if reasons:
        span.set_attribute("gen_ai.response.finish_reasons", reasons)
    if outcome.bound is not None:
        span.set_attributes(
            {
                "schemagate.contract.digest": outcome.bound.contract.digest,
                "schemagate.artifact.key": outcome.bound.key,
                "schemagate.cache.result": str(outcome.bound.tier),
            }
        )
        resolved = outcome.bound.taken.resolved
        if resolved is not None:
            span.set_attributes(
                {
                    "schemagate.contract.revision": resolved.revision.revision_id,
                    "schemagate.contract.signature": resolved.signature.value,
                }
            )


def record_end(span: Span, *, status: int, error_type: str | None) -> None:
    """How it was answered. `error_type` is from a closed list; only our own failures make the span one."""
    span.set_attribute("http.response.status_code", status)
    if error_type is not None:
        span.set_attribute("error.type", error_type)
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR or error_type == "internal_error":
        span.set_status(Status(StatusCode.ERROR))
