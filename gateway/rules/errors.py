"""What can go wrong with rules themselves; what a rule says of an answer is no error.

RulesError
├── RulesUnreadableError   a document that this gateway does not understand
└── RulesUncheckedError    a document that is being set could not be compiled in time
"""

from gateway.errors import GatewayError


class RulesError(GatewayError):
    """Root of the tree; never raised itself."""


class RulesUnreadableError(RulesError):
    """A tenant's rules were written by a gateway that knows more; which document it is stands in the log."""

    def __init__(self) -> None:
        super().__init__("the rules for answers cannot be read by this gateway, so nothing is answered under them")


class RulesUncheckedError(RulesError):
    """Nothing was changed."""

    def __init__(self, *, retry_after_seconds: float) -> None:
        super().__init__("the rules could not be compiled in time, so nothing was changed; simplify them, or ask again")
        self.retry_after_seconds = retry_after_seconds
