"""The one table from what went wrong to what a Confluent client sees: HTTP status, error code, message.

Codes and statuses are Confluent's, read from its own table of errors; a client that branches on them branches rightly.
Statuses of the façade exist here and nowhere else.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from gateway.budgets.errors import BudgetRefusedError, BudgetUnreadableError
from gateway.confluent.errors import ConfluentError, Fault
from gateway.confluent.protocol import ErrorAnswer
from gateway.errors import (
    BodyTooLargeError,
    GatewayError,
    IdentityProviderUnavailableError,
    InsufficientScopeError,
    InvalidRequestError,
    MalformedBodyError,
    RequestFault,
    SlowBodyError,
    TenantDisabledError,
    UnauthenticatedError,
)
from gateway.errors import StoreUnavailableError as KeysUnavailableError
from gateway.problem import retry_headers
from policy.rejection import Rejection, RejectionCode
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """How one fault is answered."""

    status: int
    code: int


ROWS: Final[Mapping[Fault, Row]] = {
    Fault.NOT_JSON: Row(status=400, code=400),
    Fault.UNAUTHENTICATED: Row(status=401, code=40101),
    Fault.FORBIDDEN: Row(status=403, code=40301),
    Fault.SUBJECT_NOT_FOUND: Row(status=404, code=40401),
    Fault.VERSION_NOT_FOUND: Row(status=404, code=40402),
    Fault.SCHEMA_NOT_FOUND: Row(status=404, code=40403),
    Fault.SUBJECT_SOFT_DELETED: Row(status=404, code=40404),
    Fault.SUBJECT_NOT_SOFT_DELETED: Row(status=404, code=40405),
    Fault.VERSION_SOFT_DELETED: Row(status=404, code=40406),
    Fault.VERSION_NOT_SOFT_DELETED: Row(status=404, code=40407),
    Fault.COMPATIBILITY_NOT_CONFIGURED: Row(status=404, code=40408),
    Fault.MODE_NOT_CONFIGURED: Row(status=404, code=40409),
    Fault.NO_SUCH_PATH: Row(status=404, code=404),
    Fault.NO_SUCH_METHOD: Row(status=405, code=405),
    Fault.NOT_ACCEPTABLE: Row(status=406, code=406),
    # The stock client sends a 408, a 429 or a 5xx again; nothing else here.
    Fault.SLOW_BODY: Row(status=408, code=408),
    Fault.INCOMPATIBLE: Row(status=409, code=40901),
    Fault.UNSUPPORTED_MEDIA_TYPE: Row(status=415, code=415),
    Fault.MALFORMED: Row(status=422, code=422),
    Fault.INVALID_SCHEMA: Row(status=422, code=42201),
    Fault.INVALID_VERSION: Row(status=422, code=42202),
    Fault.INVALID_LEVEL: Row(status=422, code=42203),
    Fault.INVALID_MODE: Row(status=422, code=42204),
    Fault.NOT_PERMITTED: Row(status=422, code=42205),
    Fault.REFERENCE_EXISTS: Row(status=422, code=42206),
    Fault.INVALID_SUBJECT: Row(status=422, code=42208),
    Fault.TOO_LARGE: Row(status=422, code=42209),
    Fault.INVALID_RULES: Row(status=422, code=42210),
    Fault.TOO_MANY_REQUESTS: Row(status=429, code=42901),
    Fault.STORE_FAILED: Row(status=500, code=50001),
    Fault.BUSY: Row(status=500, code=50002),
    Fault.INTERNAL: Row(status=500, code=500),
}

_MAX_MESSAGE_CHARACTERS: Final = 4000
_STATE_FAULTS: Final[Mapping[str, Fault]] = {"still_referenced": Fault.REFERENCE_EXISTS}
"""States with a code of their own; any other is an operation that is not permitted now."""
_TEXT_LIMITS: Final = frozenset({"max_bytes", "max_contract_bytes", "max_schema_bytes"})
"""Limits whose breach is `42209`: the text as a whole is too long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A fault and its words, ready to be sent."""

    fault: Fault
    message: str
    retry_seconds: float | None = None
    allowed: tuple[str, ...] = ()

    @property
    def status(self) -> int:
        """The HTTP status."""
        return ROWS[self.fault].status

    @property
    def body(self) -> ErrorAnswer:
        """The JSON body."""
        message = self.message
        if len(message) > _MAX_MESSAGE_CHARACTERS:
            message = message[: _MAX_MESSAGE_CHARACTERS - 1] + "…"
        return ErrorAnswer(error_code=ROWS[self.fault].code, message=message)

    @property
    def headers(self) -> dict[str, str]:
        """What goes with it."""
        challenge = {"WWW-Authenticate": 'Basic realm="schemagate"'} if self.fault is Fault.UNAUTHENTICATED else {}
        allow = {"Allow": ", ".join(self.allowed)} if self.allowed else {}
        return {**challenge, **allow, **retry_headers(self.retry_seconds)}


def refusal_of(error: ConfluentError | RegistryError | GatewayError) -> Refusal:
    """The answer to any error of ours. Total over the registry's tree; a test finds a leaf that has no row."""
    match error:
        case ConfluentError():
            return Refusal(fault=error.fault, message=str(error), allowed=error.allowed)
        case RegistryError():
            return _of_registry(error)
        case GatewayError():
            return _of_gateway(error)


def _of_registry(error: RegistryError) -> Refusal:
    match error:
        case ContractRejectedError():
            return rejected(error.rejections)
        case UnsupportedPatternError():
            return Refusal(fault=Fault.INVALID_SCHEMA, message=f"{error.code}: {error}")
        case InvalidNameError():
            return Refusal(fault=Fault.INVALID_SUBJECT, message=f"The specified subject is not valid: {error}.")
        case NotFoundError() | TombstonedError():
            return Refusal(fault=_missing(error.what), message=_sentence(str(error)))
        case ForbiddenError() | SecondPersonError():
            return Refusal(fault=Fault.FORBIDDEN, message=_sentence(str(error)))
        case IncompatibleError():
            message = (
                f"Schema being registered is incompatible with an earlier schema for subject ({error.question}): "
                f"{_sentence(str(error))} A document that shows it: {error.witness_text}"
            )
            return Refusal(fault=Fault.INCOMPATIBLE, message=message)
        case UndecidedError():
            return Refusal(fault=Fault.INCOMPATIBLE, message=f"{_sentence(str(error))} ({error.question})")
        case StateError():
            return Refusal(fault=_STATE_FAULTS.get(error.code, Fault.NOT_PERMITTED), message=f"{error.code}: {error}")
        case SignatureRequiredError() | InvalidSignatureError():
            return Refusal(fault=Fault.NOT_PERMITTED, message=_sentence(str(error)))
        case PreconditionFailedError():
            return Refusal(fault=Fault.BUSY, message="Somebody else changed the subject at the same time; ask again.")
        case StaleRevisionError() | StoreUnavailableError():
            return Refusal(fault=Fault.STORE_FAILED, message=_sentence(str(error)))
        case _:
            return INTERNAL


def _of_gateway(error: GatewayError) -> Refusal:
    match error:
        case UnauthenticatedError():
            message = (
                "The API key is missing, malformed, unknown, revoked or expired. Send it as `Authorization: Bearer "
                "sg_…`, or by Basic authentication: the whole key as password, or `sg_` and its id as user and its "
                "secret as password."
            )
            return Refusal(fault=Fault.UNAUTHENTICATED, message=message)
        case TenantDisabledError() | InsufficientScopeError():
            return Refusal(fault=Fault.FORBIDDEN, message=_sentence(str(error)))
        case IdentityProviderUnavailableError():
            return Refusal(
                fault=Fault.STORE_FAILED, message=_sentence(str(error)), retry_seconds=error.retry_after_seconds
            )
        case MalformedBodyError():
            return Refusal(fault=Fault.NOT_JSON, message=_reasons(error.rejections))
        case BodyTooLargeError():
            return Refusal(fault=Fault.TOO_LARGE, message=_sentence(str(error)))
        case SlowBodyError():
            return Refusal(fault=Fault.SLOW_BODY, message=_sentence(str(error)))
        case InvalidRequestError(fault=RequestFault.UNSUPPORTED_MEDIA_TYPE):
            return Refusal(fault=Fault.UNSUPPORTED_MEDIA_TYPE, message=_sentence(str(error)))
        case BudgetRefusedError():
            return Refusal(
                fault=Fault.TOO_MANY_REQUESTS, message=_sentence(str(error)), retry_seconds=error.retry_after_seconds
            )
        case KeysUnavailableError() | BudgetUnreadableError():
            return Refusal(fault=Fault.STORE_FAILED, message=_sentence(str(error)))
        case _:
            return INTERNAL


INTERNAL: Final = Refusal(fault=Fault.INTERNAL, message="The gateway failed; the failure is logged.")


def rejected(rejections: tuple[Rejection, ...]) -> Refusal:
    """A schema that is refused: every reason, with its code, its place, and what to do."""
    first = rejections[0]
    too_large = first.code is RejectionCode.LIMIT_EXCEEDED and first.limit_name in _TEXT_LIMITS
    fault = Fault.TOO_LARGE if too_large else Fault.INVALID_SCHEMA
    return Refusal(fault=fault, message=f"Invalid schema: {_reasons(rejections)}")


def _reasons(rejections: tuple[Rejection, ...]) -> str:
    return "; ".join(_reason(rejection) for rejection in rejections)


def _reason(rejection: Rejection) -> str:
    place = rejection.pointer or "the root"
    limit = (
        ""
        if rejection.limit_name is None
        else (f" ({rejection.limit_name}: at most {rejection.limit}, here {rejection.observed})")
    )
    meant = "" if rejection.suggestion is None else f" (suggestion: {rejection.suggestion})"
    return f"{rejection.code} at {place}: {rejection.message}{limit}{meant}"


def _missing(what: str) -> Fault:
    match what:
        case "revision":
            return Fault.VERSION_NOT_FOUND
        case "schema":
            return Fault.SCHEMA_NOT_FOUND
        case _:
            return Fault.SUBJECT_NOT_FOUND


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")
