"""The table's rows for what got no answer, or none that may be taken: of nodes, of other servers, of what they said."""

from dataclasses import replace
from typing import Any, TypeAlias, assert_never

from gateway.backends.errors import UpstreamRefusedError
from gateway.errors import DeadlinePassedError, NodeLostError, NodeRefusedError, NoNodeError, OutputError
from gateway.problem import NO_RETRY, Problem, retry_headers
from gateway.problem_rows import BACKEND_FAILED, NODE_FAULTS, REASONS, SERVER, UPSTREAM_FAULTS, UPSTREAM_OPERATORS, Row

Unanswered: TypeAlias = (
    NoNodeError | NodeLostError | NodeRefusedError | UpstreamRefusedError | DeadlinePassedError | OutputError
)


def unanswered(error: Unanswered) -> Problem:
    """The answer to any of them; where the model or its server failed, the header names the class of completion."""
    match error:
        case NoNodeError():
            row = Row(status=503, type=SERVER, code=BACKEND_FAILED, retry_after_seconds=error.retry_after_seconds)
            return _from_row(row, str(error), reason="no_node", completion=BACKEND_FAILED)
        case NodeLostError():
            row = Row(status=503, type=SERVER, code=BACKEND_FAILED, retry_after_seconds=1)
            return _from_row(row, str(error), reason="node_lost", completion=BACKEND_FAILED)
        case DeadlinePassedError():
            row = Row(status=504, type=SERVER, code=BACKEND_FAILED)
            return _from_row(row, str(error), reason="deadline_passed", completion=BACKEND_FAILED)
        case NodeRefusedError():
            row = NODE_FAULTS[error.fault.code]
            backend = row.code == BACKEND_FAILED
            return _from_row(
                row,
                error.fault.message,
                reason=error.fault.code if backend else None,
                completion=BACKEND_FAILED if backend else None,
                limit=error.fault.limit,
                observed=error.fault.observed,
            )
        case UpstreamRefusedError():
            return _upstream(error)
        case OutputError():
            row = REASONS[error.reason]
            return _from_row(
                row,
                str(error),
                reason=str(error.reason),
                completion=str(error.completion),
                pointer=error.pointer,
                rule=error.rule,
                member=error.member,
            )
        case _:
            assert_never(error)


def _upstream(error: UpstreamRefusedError) -> Problem:
    row = UPSTREAM_FAULTS[error.fault]
    if error.retry_after_seconds is not None and row.retry_after_seconds is not None:
        row = replace(row, retry_after_seconds=error.retry_after_seconds)
    backend = row.code == BACKEND_FAILED
    problem = _from_row(
        row, str(error), reason=str(error.fault) if backend else None, completion=BACKEND_FAILED if backend else None
    )
    if error.fault not in UPSTREAM_OPERATORS:
        return problem
    return replace(problem, headers={**problem.headers, **NO_RETRY})


def _from_row(
    row: Row,
    message: str,
    *,
    reason: str | None = None,
    completion: str | None = None,
    pointer: str | None = None,
    rule: str | None = None,
    limit: int | None = None,
    observed: int | None = None,
    member: Any = None,
) -> Problem:
    headers = {**retry_headers(row.retry_after_seconds), **(NO_RETRY if row.is_final else {})}
    if completion is not None:
        headers["x-schemagate-completion"] = completion
    return Problem(
        status=row.status,
        type=row.type,
        code=row.code,
        message=row.message or message,
        param=row.param,
        extensions={"reason": reason, "pointer": pointer, "rule": rule, "limit": limit, "observed": observed},
        headers=headers,
        member=member,
    )
