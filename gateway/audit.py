"""The audit line: one for every request, with who, what and how it ended; no prompt, no output, no secret."""

import structlog

from gateway.record import RequestRecord

_log = structlog.get_logger("schemagate.audit")


def write_audit(record: RequestRecord, *, status: int) -> None:
    """Write the line of a request that is over."""
    caller, outcome, resolved, cost = record.caller, record.outcome, record.resolved, record.cost
    _log.info(
        "request",
        request_id=record.request_id,
        route=record.route,
        status=status,
        tenant=None if caller is None else caller.tenant,
        key_id=None if caller is None else caller.key_id,
        model=record.model,
        contract_digest=record.contract_digest,
        revision_id=None if resolved is None else resolved.revision.revision_id,
        contract_owner=None if resolved is None else resolved.contract.tenant,
        signature=None if resolved is None else resolved.signature.value,
        artifact_key=record.artifact_key,
        cache=record.cache,
        completion=record.completion,
        downgrade=record.downgrade,
        reason=None if outcome is None else outcome.classified.reason,
        error_code=record.error_code,
        num_choices=len(record.outcomes),
        prompt_tokens=None if outcome is None else outcome.usage.prompt_tokens,
        completion_tokens=None if outcome is None else sum(each.usage.completion_tokens for each in record.outcomes),
        cost=None if cost is None else cost.members(),
        seconds=round(record.clock.elapsed_seconds, 6),
    )
