"""The one table from what went wrong to what a caller sees: HTTP status, type, code, place, and whether to retry.

Statuses exist here and in the modules of rows beside it, nowhere else. Messages say what, where and what to do; they
carry no grammar internals, no addresses, and nothing of other tenants.
"""

from collections.abc import Mapping
from dataclasses import replace
from http import HTTPStatus

from gateway.backends.errors import UpstreamRefusedError
from gateway.budgets.errors import BudgetRefusedError, BudgetUnreadableError, PriceUnknownError
from gateway.errors import (
    BodyTooLargeError,
    CompileCrashedError,
    CompilerUnavailableError,
    CompileTimedOutError,
    ContractLookupError,
    ContractRefusedError,
    DeadlinePassedError,
    GatewayError,
    IdempotencyConflictError,
    IdempotencyInProgressError,
    IdentityProviderUnavailableError,
    InsufficientScopeError,
    InvalidRequestError,
    MalformedBodyError,
    ModelNotFoundError,
    NodeLostError,
    NodeRefusedError,
    NoNodeError,
    OutputError,
    ResponseNotFoundError,
    SecretShownError,
    SlowBodyError,
    StoreUnavailableError,
    TenantDisabledError,
    UnauthenticatedError,
)
from gateway.policies.errors import PolicyUnreadableError, ServingRefusedError
from gateway.problem import NO_RETRY, Problem, retry_headers
from gateway.problem_rows import INVALID, REQUEST_FAULTS, SERVER, SERVING_REFUSALS
from gateway.registry_problems import registry_problem
from gateway.rejection_problems import rejected
from gateway.rules.errors import RulesUncheckedError, RulesUnreadableError
from gateway.unanswered_problems import unanswered
from registry.errors import RegistryError

_UNREADABLE: Mapping[type[GatewayError], str] = {
    PolicyUnreadableError: "policy_unreadable",
    RulesUnreadableError: "rules_unreadable",
    BudgetUnreadableError: "budget_unreadable",
}


def problem_of(error: GatewayError | RegistryError) -> Problem:  # noqa: C901, PLR0911, PLR0912 - one branch a row: this is the table
    """The answer to any error of ours. Total over both trees; a test finds a leaf that has no row."""
    match error:
        case RegistryError():
            return registry_problem(error) or internal_problem()
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
            return rejected(error.rejections, param="", in_body=True)
        case ContractRefusedError():
            return rejected(error.rejections, param=error.param, in_body=False)
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
        case TenantDisabledError():
            return Problem(status=403, type=INVALID, code="tenant_disabled", message=str(error))
        case InsufficientScopeError():
            # RFC 6750, section 3.1.
            challenge = f'Bearer error="insufficient_scope", scope="{" ".join(error.wanted)}"'
            return Problem(
                status=403,
                type=INVALID,
                code="insufficient_scope",
                message=str(error),
                headers={"WWW-Authenticate": challenge},
            )
        case SecretShownError():
            return Problem(
                status=409,
                type=INVALID,
                code="secret_already_shown",
                message=str(error),
                extensions={"key_id": error.key_id},
                headers=NO_RETRY,
            )
        case IdentityProviderUnavailableError():
            return Problem(
                status=503,
                type=SERVER,
                code="identity_provider_unavailable",
                message=str(error),
                headers=retry_headers(error.retry_after_seconds),
            )
        case ModelNotFoundError():
            return Problem(status=404, type=INVALID, code="model_not_found", message=str(error), param="model")
        case ResponseNotFoundError():
            return Problem(status=404, type=INVALID, code="response_not_found", message=str(error))
        case ContractLookupError():
            return replace(problem_of(error.cause), param=error.param)
        case ServingRefusedError():
            return Problem(
                status=SERVING_REFUSALS[error.refusal],
                type=INVALID,
                code=str(error.refusal),
                message=str(error),
                param=error.param,
            )
        case IdempotencyConflictError():
            return Problem(status=409, type=INVALID, code="idempotency_conflict", message=str(error), headers=NO_RETRY)
        case IdempotencyInProgressError():
            return Problem(
                status=409,
                type=INVALID,
                code="idempotency_in_progress",
                message=str(error),
                headers=retry_headers(error.retry_after_seconds),
            )
        case PolicyUnreadableError() | RulesUnreadableError() | BudgetUnreadableError():
            # Until an operator has mended it.
            code = _UNREADABLE[type(error)]
            return Problem(status=503, type=SERVER, code=code, message=str(error), headers=NO_RETRY)
        case RulesUncheckedError():
            return Problem(
                status=503,
                type=SERVER,
                code="rules_unchecked",
                message=str(error),
                headers=retry_headers(error.retry_after_seconds),
            )
        case StoreUnavailableError():
            return Problem(
                status=503, type=SERVER, code="store_unavailable", message=str(error), headers=retry_headers(1)
            )
        case BudgetRefusedError():
            return _over_budget(error)
        case PriceUnknownError():
            return Problem(
                status=403,
                type=INVALID,
                code="price_unknown",
                message=str(error),
                param=None if error.model is None else "model",
                headers=NO_RETRY,
            )
        case CompilerUnavailableError():
            return Problem(
                status=503,
                type=SERVER,
                code="compiler_unavailable",
                message=str(error),
                headers=retry_headers(error.retry_after_seconds),
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
                headers=NO_RETRY,
            )
        case (
            NoNodeError()
            | NodeLostError()
            | NodeRefusedError()
            | UpstreamRefusedError()
            | DeadlinePassedError()
            | OutputError()
        ):
            return unanswered(error)
        case _:
            return internal_problem()


def internal_problem() -> Problem:
    """A bug of ours: its details are in the log under the request's id."""
    return Problem(status=500, type=SERVER, code="internal_error", message="the gateway failed; the failure is logged")


def connection_problem(*, max_bytes: int | None) -> Problem:
    """What never became a request: it is no HTTP, or its headers are longer than `max_bytes`."""
    if max_bytes is None:
        return Problem(status=400, type=INVALID, code="invalid_http", message="this is not a request of HTTP/1.1")
    return Problem(
        status=431,
        type=INVALID,
        code="headers_too_large",
        message=f"the request line and the headers have at most {max_bytes} bytes together",
        extensions={"limit_name": "max_head_bytes", "limit": max_bytes},
    )


def route_problem(status: int, *, allowed: tuple[str, ...] = ()) -> Problem:
    """What the router itself refuses. `allowed` are the methods that the path has."""
    if status == HTTPStatus.METHOD_NOT_ALLOWED:
        return Problem(
            status=status,
            type=INVALID,
            code="method_not_allowed",
            message="this path has no such method",
            headers={"Allow": ", ".join(allowed)},
        )
    message = "there is nothing at this path: base URLs of clients end in /v1, and GET /openapi.json lists all paths"
    return Problem(status=404, type=INVALID, code="unknown_url", message=message)


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
        headers={} if by_contract else retry_headers(1),
    )


def _over_budget(error: BudgetRefusedError) -> Problem:
    after = error.retry_after_seconds
    waiting_helps = after is not None
    return Problem(
        status=429,
        type="rate_limit_error" if waiting_helps else "insufficient_quota",
        code="rate_limit_exceeded" if waiting_helps else "insufficient_quota",
        message=str(error),
        extensions={
            "level": error.level,
            "limit_name": error.budget,
            "window": error.window,
            "limit": error.limit,
            "observed": error.observed,
            "resets_in_seconds": error.resets_in_seconds,
        },
        headers={
            **error.headers,
            **retry_headers(after),
            "x-should-retry": "true" if waiting_helps else "false",
        },
    )
