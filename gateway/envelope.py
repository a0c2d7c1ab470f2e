"""From an outcome to OpenAI's shapes with our extension member: whole answers, stream chunks, and errors."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, assert_never

from gateway.completion import CompletionClass, NotAsked
from gateway.errors import OutputError
from gateway.outcome import BoundContract, Outcome
from gateway.problem_rows import REASONS
from gateway.protocol import (
    AnsweredMessage,
    ChatCompletion,
    Choice,
    ContractMember,
    EnforcementCounts,
    NodeMember,
    SchemagateMember,
    SignatureMember,
    Usage,
    ValidationMember,
)
from gateway.record import RequestRecord
from gateway.validation.verdict import Invalid, Unjudged, Valid
from policy.enforcement import KeywordStatus
from registry.revision import ResolvedRevision, RevisionState


def output_error(outcome: Outcome, record: RequestRecord) -> OutputError | None:
    """The error that an outcome is, or None where it is an answer."""
    reason = outcome.classified.reason
    if reason is None:
        return None
    message = REASONS[reason].message or "the answer failed"
    pointer = None
    if isinstance(outcome.verdict, Invalid) and outcome.classified.completion is CompletionClass.INVALID:
        pointer = outcome.verdict.pointer
        message = (
            f"the finished answer does not satisfy the contract: `{outcome.verdict.keyword}` fails at "
            f"{f'`{pointer}`' if pointer else 'the root'}; ask again"
        )
    return OutputError(
        reason,
        message,
        completion=outcome.classified.completion,
        pointer=pointer,
        member=member_of(outcome, record).model_dump(by_alias=True),
    )


def chat_completion(outcome: Outcome, record: RequestRecord) -> ChatCompletion:
    """The body of a 200."""
    assert outcome.finish_reason is not None
    return ChatCompletion(
        id=completion_id(record),
        created=_now(),
        model=outcome.offer.model,
        choices=[Choice(message=AnsweredMessage(content=outcome.text), finish_reason=outcome.finish_reason)],
        usage=usage_of(outcome),
        schemagate=member_of(outcome, record),
    )


class ChunkWriter:
    """The `data:` lines of one stream. Every chunk has the same id and time."""

    def __init__(self, record: RequestRecord, *, model: str, include_usage: bool) -> None:
        self._include_usage = include_usage
        self._head: dict[str, Any] = {
            "id": completion_id(record),
            "object": "chat.completion.chunk",
            "created": _now(),
            "model": model,
        }

    def role(self) -> bytes:
        """The first chunk."""
        return self._chunk({"role": "assistant", "content": "", "refusal": None}, None)

    def text(self, text: str) -> bytes:
        """New text."""
        return self._chunk({"content": text}, None)

    def finish(self, outcome: Outcome, record: RequestRecord) -> bytes:
        """The chunk with the finish reason, which also carries the class; then the usage, if it was asked for."""
        last = self._chunk({}, outcome.finish_reason, schemagate=member_of(outcome, record).model_dump(by_alias=True))
        if not self._include_usage:
            return last
        return last + sse_data({**self._head, "choices": [], "usage": usage_of(outcome).model_dump()})

    def _chunk(self, delta: Mapping[str, Any], finish_reason: str | None, **extension: Any) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        usage = {"usage": None} if self._include_usage else {}
        return sse_data({**self._head, "choices": [choice], **usage, **extension})


DONE = b"data: [DONE]\n\n"


def sse_data(value: Mapping[str, Any]) -> bytes:
    """One server-sent event. JSON has no raw line break, so one `data:` line holds it."""
    return b"data: " + json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n\n"


def completion_id(record: RequestRecord) -> str:
    """OpenAI's prefix on the request's own id."""
    return f"chatcmpl-{record.request_id.removeprefix('req_')}"


def usage_of(outcome: Outcome) -> Usage:
    """OpenAI's three counts."""
    prompt, completion = outcome.usage.prompt_tokens, outcome.usage.completion_tokens
    return Usage(prompt_tokens=prompt, completion_tokens=completion, total_tokens=prompt + completion)


def member_of(outcome: Outcome, record: RequestRecord) -> SchemagateMember:
    """The extension member."""
    bound = outcome.bound
    return SchemagateMember(
        completion=str(outcome.classified.completion),
        contract=None if bound is None else contract_member(bound),
        artifact_key=None if bound is None else bound.key,
        tokenizer_digest=outcome.offer.tokenizer_digest,
        cache=None if bound is None else bound.tier.value,
        validation=_validation(outcome),
        node=NodeMember(
            model=outcome.node.model, engine=outcome.node.engine, engine_version=outcome.node.engine_version
        ),
        seed=outcome.seed,
        stop_cause=outcome.end,
        forced_tokens=outcome.usage.forced_tokens,
        compile_cpu_ms=None if bound is None else round(bound.compile_cpu_ms, 3),
        timings=record.clock.milliseconds(),
    )


def contract_member(bound: BoundContract) -> ContractMember:
    """Identity and enforcement summary of a contract, and where its name led."""
    resolved = bound.taken.resolved
    return ContractMember(
        kind=str(bound.contract.kind),
        digest=bound.contract.digest,
        annotation_digest=bound.contract.annotation_digest,
        enforcement=enforcement_counts(bound),
        **({} if resolved is None else _registered(resolved)),
    )


def _registered(resolved: ResolvedRevision) -> dict[str, Any]:
    contract, revision, status = resolved.contract, resolved.revision, resolved.status
    return {
        "owner": contract.tenant,
        "name": contract.name,
        "team": contract.team,
        "contract_class": contract.contract_class.value,
        "visibility": contract.visibility.value,
        "alias": resolved.alias,
        "revision": revision.number,
        "revision_id": revision.revision_id,
        "state": status.state.value,
        "signature": SignatureMember(status=resolved.signature.value, key_id=resolved.signed_by),
        "deprecated": status.reason if status.state is RevisionState.DEPRECATED else None,
    }


def enforcement_counts(bound: BoundContract) -> EnforcementCounts:
    """Keywords by fate; there is no fourth, because a contract with a rejected keyword has no answer."""
    counts = bound.counts
    return EnforcementCounts(
        enforced=counts.get(KeywordStatus.ENFORCED, 0),
        checked_after=counts.get(KeywordStatus.CHECKED_AFTER, 0),
        annotation=counts.get(KeywordStatus.ANNOTATION, 0),
    )


def _validation(outcome: Outcome) -> ValidationMember:
    match outcome.verdict:
        case Valid():
            return ValidationMember(verdict="valid")
        case Invalid(pointer=pointer, keyword=keyword, message=message):
            return ValidationMember(verdict="invalid", pointer=pointer, keyword=keyword, message=message)
        case Unjudged(reason=reason):
            return ValidationMember(verdict="unjudged", message=str(reason))
        case NotAsked():
            return ValidationMember(verdict="not_applicable")
        case verdict:
            assert_never(verdict)


def _now() -> int:
    return int(datetime.now(UTC).timestamp())
