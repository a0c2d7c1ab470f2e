"""The table's rows for what the registry raises. "Not yours" and "not there" arrive here as one error already."""

from collections.abc import Mapping

from gateway.problem import NO_RETRY, Problem, retry_headers
from gateway.problem_rows import INVALID, SERVER
from gateway.rejection_problems import rejected
from policy.rejection import Rejection
from registry.errors import (
    ContractRejectedError,
    ForbiddenError,
    IncompatibleError,
    InvalidNameError,
    InvalidSignatureError,
    NotFoundError,
    PreconditionFailedError,
    RegistryError,
    SecondPersonError,
    SignatureRequiredError,
    StaleRevisionError,
    StateError,
    StoreUnavailableError,
    TombstonedError,
    UndecidedError,
    UnsupportedPatternError,
)

_STATES: Mapping[str, int] = {"sunset_revision": 410, "too_large": 400, "first_state": 400}
"""States that are no conflict; every other is one."""


def registry_problem(error: RegistryError) -> Problem | None:  # noqa: C901, PLR0911, PLR0912 - one branch a row
    """The answer to an error of the registry; None for one that has no row, which a test forbids."""
    match error:
        case ContractRejectedError():
            return rejected(error.rejections, param="", in_body=False)
        case UnsupportedPatternError():
            return rejected((Rejection(code=error.code, message=str(error)),), param="", in_body=False)
        case InvalidNameError():
            return _refused(error, 400, "invalid_name")
        case InvalidSignatureError():
            return _refused(error, 400, "invalid_signature")
        case NotFoundError():
            return _refused(error, 404, f"{_word(error.what)}_not_found")
        case TombstonedError():
            return _refused(error, 410, f"{_word(error.what)}_gone")
        case ForbiddenError():
            # A reason names an owner or a team; without one it is the role that is missing.
            return _refused(error, 403, "forbidden" if error.reason is None else "not_owner")
        case SecondPersonError():
            return _refused(error, 403, "second_person_required")
        case IncompatibleError():
            extensions = {
                "level": error.level,
                "against": error.against,
                "question": error.question,
                "witness": error.witness_text,
            }
            return _conflict(error, "incompatible", extensions)
        case UndecidedError():
            extensions = {"level": error.level, "against": error.against, "question": error.question}
            return _conflict(error, "undecided", extensions)
        case StateError():
            status = _STATES.get(error.code, 409)
            return _refused(error, status, error.code, headers=NO_RETRY if status == 409 else {})
        case SignatureRequiredError():
            return _conflict(error, "signature_required", {})
        case StaleRevisionError():
            return _conflict(error, "stale_revision", {})
        case PreconditionFailedError():
            extensions = {"expected": error.expected, "observed": error.observed}
            return _refused(error, 412, "precondition_failed", extensions=extensions)
        case StoreUnavailableError():
            return Problem(
                status=503, type=SERVER, code="store_unavailable", message=str(error), headers=retry_headers(1)
            )
        case _:
            return None


def _refused(
    error: RegistryError,
    status: int,
    code: str,
    *,
    extensions: Mapping[str, object] | None = None,
    headers: Mapping[str, str] | None = None,
) -> Problem:
    return Problem(
        status=status, type=INVALID, code=code, message=str(error), extensions=extensions or {}, headers=headers or {}
    )


def _conflict(error: RegistryError, code: str, extensions: Mapping[str, object]) -> Problem:
    return _refused(error, 409, code, extensions=extensions, headers=NO_RETRY)


def _word(what: str) -> str:
    return what.replace(" ", "_").replace("-", "_")
