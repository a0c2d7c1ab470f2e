"""Everything that can go wrong in the gateway, as records.

GatewayError
├── RequestError                  the request itself
│   ├── InvalidRequestError       a field: unknown, unsupported, ill-typed, in conflict
│   ├── MalformedBodyError        the body is not JSON as we read it
│   ├── BodyTooLargeError
│   ├── SlowBodyError
│   ├── UnauthenticatedError
│   ├── TenantDisabledError       good credentials of a tenant that nobody is let in for
│   ├── InsufficientScopeError    good credentials, for another of the APIs
│   ├── ModelNotFoundError
│   ├── ResponseNotFoundError     no response is found again: none is stored
│   ├── ContractLookupError       a contract was named, and cannot be used: what the registry said of it
│   ├── ContractRefusedError      one or more rejections, by pointer
│   ├── ServingRefusedError       the serving policy, or what the model's backend is able to (`gateway.policies.errors`)
│   ├── IdempotencyConflictError
│   ├── IdempotencyInProgressError
│   └── SecretShownError          done before, and the secret of it was shown then
├── PolicyUnreadableError         a serving policy that this gateway does not understand (likewise)
├── RulesError                    rules over answers (`gateway.rules.errors`)
├── StoreUnavailableError         the database of keys does not answer
├── IdentityProviderUnavailableError  a token cannot be checked: there are no keys of its issuer
├── BudgetRefusedError            a limit of the caller's key, team or tenant (`gateway.budgets.errors`)
├── BudgetUnreadableError         what is allowed cannot be read, so nothing is (likewise)
├── PriceUnknownError             money is limited, and nobody knows what this costs (likewise)
├── CompilerError
│   ├── CompilerUnavailableError  no pool, or it is full
│   ├── CompileTimedOutError      this contract ran over its compile budget
│   └── CompileCrashedError       this contract took its worker down
├── BackendError
│   ├── NoNodeError               nothing serves the model now
│   ├── NodeRefusedError          a node refused before it began
│   ├── NodeLostError             a node went away before it began
│   ├── UpstreamRefusedError      a backend that is not ours refused, or failed (`gateway.backends.errors`)
│   └── DeadlinePassedError       no node had begun when the request's time was over
└── OutputError                   decoding ended in a class that has no 200 (`gateway.completion`)

Statuses, headers and codes are in `gateway.problems`, nowhere else.
"""

from enum import StrEnum
from typing import Any

from gateway.completion import CompletionClass, Reason
from inference_node.protocol import NodeFault
from policy.rejection import Rejection
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
    """No key and no token, or not one that is good now. Which of the reasons is not told."""

    def __init__(self, *, missing: bool, is_token: bool = False) -> None:
        if missing:
            message = "no API key was sent: use the header `Authorization: Bearer sg_…`"
        elif is_token:
            message = "the token is malformed, expired, for another audience, or not one that counts here"
        else:
            message = "the API key is malformed, unknown, revoked or expired"
        super().__init__(message)
        self.is_missing = missing


class TenantDisabledError(RequestError):
    """An operator of the installation has disabled the caller's tenant; nothing that it has is lost."""

    def __init__(self) -> None:
        super().__init__("this tenant is disabled; ask whoever runs the gateway")


class InsufficientScopeError(RequestError):
    """`wanted` are the scopes of which any one would do."""

    def __init__(self, wanted: tuple[str, ...]) -> None:
        super().__init__(f"this key may not be used here: it takes the scope {' or '.join(wanted)}")
        self.wanted = wanted


class ModelNotFoundError(RequestError):
    """No node has ever offered this model."""

    def __init__(self, model: str, *, offered: tuple[str, ...]) -> None:
        known = ", ".join(f"`{name}`" for name in offered) or "none"
        super().__init__(f"the model `{model[:128]}` does not exist here; models: {known}")


class ResponseNotFoundError(RequestError):
    """A response was asked for after it was given. None is stored, whatever `store` said."""

    def __init__(self, response_id: str) -> None:
        super().__init__(
            f"the response `{response_id[:128]}` is not here: responses are not stored, so keep the answer that you got"
        )


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


class SecretShownError(RequestError):
    """A request that made a secret was sent again. Secrets are kept nowhere, so its answer cannot be given again."""

    def __init__(self, key_id: str) -> None:
        super().__init__(
            f"the first request with this `Idempotency-Key` was done, and its secret was shown in the answer to it; "
            f"if that was lost, rotate the key {key_id}"
        )
        self.key_id = key_id


class IdempotencyConflictError(RequestError):
    """The key has been used for another request."""

    def __init__(self) -> None:
        super().__init__("this `Idempotency-Key` was sent with another request; choose a new key for a new request")


class IdempotencyInProgressError(RequestError):
    """The first request with this key has no answer yet."""

    def __init__(self, *, retry_after_seconds: float) -> None:
        super().__init__("the first request with this `Idempotency-Key` is still running; ask again for its answer")
        self.retry_after_seconds = retry_after_seconds


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


class IdentityProviderUnavailableError(GatewayError):
    """The issuer's keys cannot be had, or were had too long ago to be believed."""

    def __init__(self, *, retry_after_seconds: float) -> None:
        super().__init__("tokens cannot be checked now, because the identity provider does not answer; ask again")
        self.retry_after_seconds = retry_after_seconds


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


class DeadlinePassedError(BackendError):
    """The request's time was over before a node had begun."""

    def __init__(self) -> None:
        super().__init__("no inference node began to decode within the time that a request may take")


class OutputError(GatewayError):
    """Decoding ended in a class that has no 200. `member` is the response's `schemagate` extension.

    `pointer` leads into the document that was made, where the validator found it at fault; `rule` is the name of the
    operator's rule that decided.
    """

    def __init__(
        self,
        reason: Reason,
        message: str,
        *,
        completion: CompletionClass,
        pointer: str | None,
        member: Any,
        rule: str | None = None,
    ) -> None:
        super().__init__(message)
        self.reason = reason
        self.completion = completion
        self.pointer = pointer
        self.member = member
        self.rule = rule
