"""The one table from what went wrong to what a caller sees: HTTP status, type, code, place, and whether to retry.

Statuses exist here and in `gateway.problem_rows`, nowhere else. Messages say what, where and what to do; they carry no
grammar internals, no addresses, and nothing of other tenants.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from gateway.errors import (
    BodyTooLargeError,
    BudgetRefusedError,
    CompileCrashedError,
    CompilerUnavailableError,
    CompileTimedOutError,
    ContractNotFoundError,
    ContractRefusedError,
    DeadlinePassedError,
    GatewayError,
    InvalidRequestError,
    MalformedBodyError,
    ModelNotFoundError,
    NodeLostError,
    NodeRefusedError,
    NoNodeError,
    OutputError,
    SlowBodyError,
    StoreUnavailableError,
    UnauthenticatedError,
)
from gateway.problem_rows import (
    BACKEND_FAILED,
    INVALID,
    NODE_FAULTS,
    REASONS,
    REJECTIONS,
    REQUEST_FAULTS,
    SERVER,
    Row,
)
from policy.rejection import Rejection

_SCHEMA_PARAMS = ("response_format.json_schema.schema", "contract.schema")


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """An error answer. `extensions` are the members beyond OpenAI's four; `member` is the `schemagate` extension."""

    status: int
    type: str
    code: str
    message: str
    param: str | None = None
    extensions: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    member: Any = None

    def body(self, request_id: str) -> dict[str, Any]:
        """The JSON body, also the `data:` object of a stream that had begun."""
        error: dict[str, Any] = {
            "message": self.message,
            "type": self.type,
            "param": self.param,
            "code": self.code,
            **{name: value for name, value in self.extensions.items() if value is not None},
            "request_id": request_id,
        }
        return {"error": error} if self.member is None else {"error": error, "schemagate": self.member}


def problem_of(error: GatewayError) -> Problem:  # noqa: C901, PLR0911, PLR0912 - one branch a row: this is the table
    """The answer to any error of ours. Total over the tree; a test finds a leaf that has no row."""
    match error:
        case InvalidRequestError():
            return Problem(
                status=REQUEST_FAULTS[error.fault],
                type=INVALID,
                code=str(error.fault),
                message=str(error),
                param=error.param,
                extensions={"suggestion": error.suggestion},
            )
        case MalformedBodyError():
            return _rejected(error.rejections, param="", in_body=True)
        case ContractRefusedError():
            return _rejected(error.rejections, param=error.param, in_body=False)
        case BodyTooLargeError():
            return Problem(
                status=413,
                type=INVALID,
                code="body_too_large",
                message=str(error),
                extensions={
                    "limit_name": "max_body_bytes",
                    "limit": error.limit_bytes,
                    "observed": error.observed_bytes,
                },
            )
        case SlowBodyError():
            return Problem(status=408, type=INVALID, code="body_timeout", message=str(error))
        case UnauthenticatedError():
            return Problem(
                status=401,
                type=INVALID,
                code="invalid_api_key",
                message=str(error),
                headers={"WWW-Authenticate": "Bearer"},
            )
        case ModelNotFoundError():
            return Problem(status=404, type=INVALID, code="model_not_found", message=str(error), param="model")
        case ContractNotFoundError():
            return Problem(status=404, type=INVALID, code="contract_not_found", message=str(error), param="contract")
        case StoreUnavailableError():
            return Problem(
                status=503, type=SERVER, code="store_unavailable", message=str(error), headers=_retry_headers(1)
            )
        case BudgetRefusedError():
            return _over_budget(error)
        case CompilerUnavailableError():
            return Problem(
                status=503,
                type=SERVER,
                code="compiler_unavailable",
                message=str(error),
                headers=_retry_headers(error.retry_after_seconds),
            )
        case CompileTimedOutError():
            return _compile_timed_out(error)
        case CompileCrashedError():
            # Sent again, it would cost another worker: stock clients are told not to.
            return Problem(
                status=503,
                type=SERVER,
                code="compiler_crashed",
                message=str(error),
                param=error.param,
                headers={"x-should-retry": "false"},
            )
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
        case OutputError():
            row = REASONS[error.reason]
            return _from_row(
                row,
                str(error),
                reason=str(error.reason),
                completion=str(error.completion),
                pointer=error.pointer,
                member=error.member,
            )
        case _:
            return internal_problem()


def internal_problem() -> Problem:
    """A bug of ours: its details are in the log under the request's id."""
    return Problem(status=500, type=SERVER, code="internal_error", message="the gateway failed; the failure is logged")


def route_problem(status: int) -> Problem:
    """What the router itself refuses."""
    if status == HTTPStatus.METHOD_NOT_ALLOWED:
        return Problem(status=status, type=INVALID, code="method_not_allowed", message="this path has no such method")
    return Problem(status=404, type=INVALID, code="unknown_url", message="there is nothing at this path")


def dotted(param: str, pointer: str) -> str:
    """`param` followed by a JSON Pointer in the clients' spelling: `/anyOf/0/not` is `.anyOf[0].not`."""
    path = param
    for token in pointer.split("/")[1:]:
        name = token.replace("~1", "/").replace("~0", "~")
        path += f"[{name}]" if name.isdecimal() else f".{name}" if path else name
    return path


def _from_row(
    row: Row,
    message: str,
    *,
    reason: str | None = None,
    completion: str | None = None,
    pointer: str | None = None,
    limit: int | None = None,
    observed: int | None = None,
    member: Any = None,
) -> Problem:
    headers = _retry_headers(row.retry_after_seconds)
    if completion is not None:
        headers["x-schemagate-completion"] = completion
    return Problem(
        status=row.status,
        type=row.type,
        code=row.code,
        message=row.message or message,
        param=row.param,
        extensions={"reason": reason, "pointer": pointer, "limit": limit, "observed": observed},
        headers=headers,
        member=member,
    )


def _rejected(rejections: tuple[Rejection, ...], *, param: str, in_body: bool) -> Problem:
    errors = [_rejection(each, param=param, in_body=in_body) for each in rejections]
    first, status = errors[0], REJECTIONS[rejections[0].code]
    extensions = {name: first[name] for name in first if name not in {"message", "param", "code"}}
    if len(errors) > 1:
        extensions["errors"] = errors
    return Problem(
        status=status,
        type=INVALID,
        code=first["code"],
        message=first["message"],
        param=first["param"],
        extensions=extensions,
    )


def _rejection(rejection: Rejection, *, param: str, in_body: bool) -> dict[str, Any]:
    pointer = rejection.pointer
    path = dotted(param, pointer)
    if in_body:
        # A fault of the text inside the contract is placed like any other fault of the contract.
        for schema_param in _SCHEMA_PARAMS:
            prefix = "/" + schema_param.replace(".", "/")
            if pointer == prefix or pointer.startswith(prefix + "/"):
                pointer = pointer[len(prefix) :]
    optional = {
        "pointer": pointer if pointer or not in_body else None,
        "keyword": rejection.keyword,
        "limit_name": rejection.limit_name,
        "limit": rejection.limit,
        "observed": rejection.observed,
        "suggestion": rejection.suggestion,
    }
    return {
        "message": rejection.message,
        "param": path or None,
        "code": str(rejection.code),
        **{name: value for name, value in optional.items() if value is not None},
    }


def _compile_timed_out(error: CompileTimedOutError) -> Problem:
    # CPU time is the contract's own doing, and a repetition would cost another worker; wall time may be the machine's.
    by_contract = error.limit_name == "cpu_seconds"
    return Problem(
        status=400 if by_contract else 503,
        type=INVALID if by_contract else SERVER,
        code="compile_timed_out",
        message=str(error),
        param=error.param,
        extensions={"limit_name": error.limit_name, "limit": error.limit_seconds},
        headers={} if by_contract else _retry_headers(1),
    )


def _over_budget(error: BudgetRefusedError) -> Problem:
    after = error.retry_after_seconds
    waiting_helps = after is not None
    return Problem(
        status=429,
        type="rate_limit_error" if waiting_helps else "insufficient_quota",
        code="rate_limit_exceeded" if waiting_helps else "insufficient_quota",
        message=str(error),
        extensions={"limit_name": error.budget, "limit": error.limit, "observed": error.observed},
        headers={
            **error.headers,
            **_retry_headers(after),
            "x-should-retry": "true" if waiting_helps else "false",
        },
    )


def _retry_headers(seconds: float | None) -> dict[str, str]:
    if seconds is None:
        return {}
    # Whole seconds for everyone, milliseconds for the clients that read them.
    return {"Retry-After": str(max(1, math.ceil(seconds))), "retry-after-ms": str(max(1, math.ceil(seconds * 1000)))}
