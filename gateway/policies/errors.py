"""What a serving policy stands against; two leaves of the tree in `gateway.errors`."""

from gateway.errors import GatewayError, RequestError
from policy.serving_plan import ServingRefusal


class ServingRefusedError(RequestError):
    """The tenant's serving policy does not allow it, or the model's backend is not able to. Nothing was spent."""

    def __init__(self, refusal: ServingRefusal, message: str, *, param: str) -> None:
        super().__init__(message)
        self.refusal = refusal
        self.param = param


class PolicyUnreadableError(GatewayError):
    """A tenant's serving policy was written by a gateway that knows more; which part of it is in the log."""

    def __init__(self) -> None:
        super().__init__("the serving policy cannot be read by this gateway, so nothing is served under it; ask again")
