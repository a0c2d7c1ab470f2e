"""Why a backend that is not ours did not begin; a branch of the tree in `gateway.errors`."""

from enum import StrEnum

from gateway.errors import BackendError


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
