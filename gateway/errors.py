"""Everything that can go wrong in the gateway, as records.

GatewayError
├── RequestError                  the request itself
│   ├── InvalidRequestError       a field: unknown, unsupported, ill-typed, in conflict
│   ├── MalformedBodyError        the body is not JSON as we read it
│   ├── BodyTooLargeError
│   ├── SlowBodyError
│   ├── UnauthenticatedError
│   ├── ModelNotFoundError
│   ├── ContractLookupError       a contract was named, and cannot be used: what the registry said of it
│   ├── ContractRefusedError      one or more rejections, by pointer
│   ├── ServingRefusedError       the serving policy, or what the model's backend is able to
│   ├── IdempotencyConflictError
│   └── IdempotencyInProgressError
├── PolicyUnreadableError         a serving policy that this gateway does not understand
├── StoreUnavailableError         the database of keys does not answer
├── BudgetRefusedError            a tenant's own limit
├── CompilerError
│   ├── CompilerUnavailableError  no pool, or it is full
│   ├── CompileTimedOutError      this contract ran over its compile budget
│   └── CompileCrashedError       this contract took its worker down
├── BackendError
│   ├── NoNodeError               nothing serves the model now
│   ├── NodeRefusedError          a node refused before it began
│   ├── NodeLostError             a node went away before it began
│   ├── UpstreamRefusedError      a backend that is not ours refused, or failed, before it began
│   └── DeadlinePassedError       no node had begun when the request's time was over
└── OutputError                   decoding ended in a class that has no 200 (`gateway.completion`)

Statuses, headers and codes are in `gateway.problems`, nowhere else.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from gateway.completion import CompletionClass, Reason
from inference_node.protocol import NodeFault
from policy.rejection import Rejection
from policy.serving_plan import ServingRefusal
from registry.errors import RegistryError


class RequestFault(StrEnum):
    """What can be wrong with a field; these are the error codes callers see."""

    UNSUPPORTED_PARAMETER = "unsupported_parameter"
    UNKNOWN_PARAMETER = "unknown_parameter"
    UNKNOWN_CONSTRAINT = "unknown_constraint"
    MISSING_PARAMETER = "missing_parameter"
    INVALID_TYPE = "invalid_type"
    INVALID_VALUE = "invalid_value"
    CONFLICTING_PARAMETERS = "conflicting_parameters"
    CONFLICTING_CONTRACTS = "conflicting_contracts"
    UNSUPPORTED_KIND = "unsupported_kind"
    UNSUPPORTED_MEDIA_TYPE = "unsupported_media_type"


class GatewayError(Exception):
    """Root of the tree; never raised itself."""


class RequestError(GatewayError):
    """The caller can do something about it."""


class InvalidRequestError(RequestError):
    """A field of the request. `param` is its path as the OpenAI clients spell it: `messages[0].content`."""

    def __init__(
        self, fault: RequestFault, message: str, *, param: str | None = None, suggestion: str | None = None
    ) -> None:
        super().__init__(message)
        self.fault = fault
        self.param = param
        self.suggestion = suggestion


class MalformedBodyError(RequestError):
    """The body's bytes are refused by the bounded parser; pointers are into the body."""

    def __init__(self, rejections: tuple[Rejection, ...]) -> None:
        super().__init__("; ".join(rejection.message for rejection in rejections))
        self.rejections = rejections


class BodyTooLargeError(RequestError):
    """`observed_bytes` is what the caller announced or what was read before we stopped."""

    def __init__(self, *, limit_bytes: int, observed_bytes: int) -> None:
        super().__init__(f"the body has {observed_bytes} bytes or more; at most {limit_bytes} are read")
        self.limit_bytes = limit_bytes
        self.observed_bytes = observed_bytes


class SlowBodyError(RequestError):
    """The body did not arrive in time."""

    def __init__(self, *, limit_seconds: float) -> None:
        super().__init__(f"the body did not arrive within {limit_seconds:g} s")
        self.limit_seconds = limit_seconds


class UnauthenticatedError(RequestError):
    """No key, or not one that is good now. Which of the reasons is not told."""

    def __init__(self, *, missing: bool) -> None:
        super().__init__(
            "no API key was sent: use the header `Authorization: Bearer sg_…`"
            if missing
            else "the API key is malformed, unknown, revoked or expired"
        )


class ModelNotFoundError(RequestError):
    """No node has ever offered this model."""

    def __init__(self, model: str, *, offered: tuple[str, ...]) -> None:
        known = ", ".join(f"`{name}`" for name in offered) or "none"
        super().__init__(f"the model `{model[:128]}` does not exist here; models: {known}")


class ContractLookupError(RequestError):
    """A contract was named at `param`, and the registry does not give it out: `cause` says why."""

    def __init__(self, cause: RegistryError, *, param: str) -> None:
        super().__init__(str(cause))
        self.cause = cause
        self.param = param


class ContractRefusedError(RequestError):
    """The contract cannot be enforced as sent. Pointers are into the caller's schema, which stands at `param`."""

    def __init__(self, rejections: tuple[Rejection, ...], *, param: str) -> None:
        assert rejections
        super().__init__(rejections[0].message)
        self.rejections = rejections
        self.param = param


class ServingRefusedError(RequestError):
    """The tenant's serving policy does not allow it, or the model's backend is not able to. Nothing was spent."""

    def __init__(self, refusal: ServingRefusal, message: str, *, param: str) -> None:
        super().__init__(message)
        self.refusal = refusal
        self.param = param


class IdempotencyConflictError(RequestError):
    """The key has been used for another request."""

    def __init__(self) -> None:
        super().__init__("this `Idempotency-Key` was sent with another request; choose a new key for a new request")


class IdempotencyInProgressError(RequestError):
    """The first request with this key has no answer yet."""

    def __init__(self, *, retry_after_seconds: float) -> None:
        super().__init__("the first request with this `Idempotency-Key` is still running; ask again for its answer")
        self.retry_after_seconds = retry_after_seconds


class PolicyUnreadableError(GatewayError):
    """A tenant's serving policy was written by a gateway that knows more; which part of it is in the log."""

    def __init__(self) -> None:
        super().__init__("the serving policy cannot be read by this gateway, so nothing is served under it; ask again")


class StoreUnavailableError(GatewayError):
    """Keys cannot be checked, so nobody is let in."""

    def __init__(self) -> None:
        super().__init__("the gateway's database does not answer; ask again")

    @property
    def reason(self) -> str:
        """What the driver or the system said, in one line: for whoever runs the gateway, never for callers."""
        error: BaseException = self
        said = str(error)
        while error.__cause__ is not None:
            error = error.__cause__
            said = str(error) or said
        return said.splitlines()[0]


class BudgetRefusedError(GatewayError):
    """A tenant's own limit. `retry_after_seconds` is None where waiting a little does not help."""

    def __init__(
        self,
        message: str,
        *,
        budget: str,
        limit: float,
        observed: float,
        retry_after_seconds: float | None,
        headers: Mapping[str, str],
    ) -> None:
        super().__init__(message)
        self.budget = budget
        self.limit = limit
        self.observed = observed
        self.retry_after_seconds = retry_after_seconds
        self.headers = headers


class CompilerError(GatewayError):
    """The compiler gave no verdict on the contract; nothing was decided about it."""


class CompilerUnavailableError(CompilerError):
    """The pool does not answer, or its queue is full."""

    def __init__(self, message: str, *, retry_after_seconds: float) -> None:
        super().__init__(message)
        self.retry_after_seconds = retry_after_seconds


class CompileTimedOutError(CompilerError):
    """This contract ran over `limit_name`; its worker was replaced."""

    def __init__(self, *, limit_name: str, limit_seconds: float, param: str) -> None:
        super().__init__(
            f"compiling this contract took more than {limit_seconds:g} s ({limit_name}); "
            "simplify it: nested repeats, large alternations and large enums cost most"
        )
        self.limit_name = limit_name
        self.limit_seconds = limit_seconds
        self.param = param


class CompileCrashedError(CompilerError):
    """This contract took its worker process down; the worker was replaced."""

    def __init__(self, *, param: str) -> None:
        super().__init__(
            "compiling this contract ended its worker process (memory, stack, or a fault of the engine); simplify it"
        )
        self.param = param


class BackendError(GatewayError):
    """No decoding took place."""


class NoNodeError(BackendError):
    """The model is known or may be, but no node serves it now."""

    def __init__(self, message: str, *, retry_after_seconds: float) -> None:
        super().__init__(message)
        self.retry_after_seconds = retry_after_seconds


class NodeRefusedError(BackendError):
    """A node answered with a fault before the first event."""

    def __init__(self, fault: NodeFault) -> None:
        super().__init__(fault.message)
        self.fault = fault


class NodeLostError(BackendError):
    """A node could not be reached, or went away before the first event."""

    def __init__(self) -> None:
        super().__init__("the inference node went away before it began to decode")


class UpstreamFault(StrEnum):
    """Why a backend that is not ours did not begin; told without its words, which may hold what is not the caller's."""

    CONTEXT_LENGTH = "context_length_exceeded"
    PROMPT_FILTERED = "content_filter"
    CREDENTIALS = "backend_credentials"
    """Ours to it: the operator's to mend."""
    MODEL = "backend_model"
    """It does not know the model that the operator named."""
    REQUEST = "backend_refused"
    """It does not take the request as we spelled it."""
    OVERLOADED = "backend_overloaded"
    FAILED = "backend_error"
    UNREADABLE = "backend_unreadable"
    """What it answered is not this API."""
    UNREACHABLE = "backend_unreachable"


class UpstreamRefusedError(BackendError):
    """A backend that is not ours refused or failed before the first token."""

    def __init__(self, fault: UpstreamFault, *, retry_after_seconds: float | None = None) -> None:
        super().__init__(f"the model's backend did not begin ({fault})")
        self.fault = fault
        self.retry_after_seconds = retry_after_seconds


class DeadlinePassedError(BackendError):
    """The request's time was over before a node had begun."""

    def __init__(self) -> None:
        super().__init__("no inference node began to decode within the time that a request may take")


class OutputError(GatewayError):
    """Decoding ended in a class that has no 200. `member` is the response's `schemagate` extension.

    `pointer` leads into the document that was made, where the validator found it at fault.
    """

    def __init__(
        self, reason: Reason, message: str, *, completion: CompletionClass, pointer: str | None, member: Any
    ) -> None:
        super().__init__(message)
        self.reason = reason
        self.completion = completion
        self.pointer = pointer
        self.member = member
