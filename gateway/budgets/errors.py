"""What budgets stand against; three leaves of the tree in `gateway.errors`."""

from collections.abc import Mapping

from gateway.errors import GatewayError


class BudgetRefusedError(GatewayError):
    """A limit of the caller's key, team or tenant. `retry_after_seconds` is None where waiting a little does not help;
    `resets_in_seconds` is when the window ends, None where there is none or where that would not help."""

    def __init__(
        self,
        message: str,
        *,
        level: str,
        budget: str,
        window: str | None,
        limit: int | str,
        observed: int | str,
        retry_after_seconds: float | None,
        resets_in_seconds: float | None,
        headers: Mapping[str, str],
    ) -> None:
        super().__init__(message)
        self.level = level
        self.budget = budget
        self.window = window
        self.limit = limit
        self.observed = observed
        self.retry_after_seconds = retry_after_seconds
        self.resets_in_seconds = resets_in_seconds
        self.headers = headers


class BudgetUnreadableError(GatewayError):
    """What an operator set for this tenant was written by a newer gateway, or by hand."""

    def __init__(self) -> None:
        super().__init__("the budgets of this tenant cannot be read, so nothing is spent; an operator has to set them")


class PriceUnknownError(GatewayError):
    """Where money is limited, what has no price is not served. `model` is None where it is compiling that has none."""

    def __init__(self, model: str | None) -> None:
        what = "compiling has" if model is None else f"the model `{model[:128]}` has"
        super().__init__(f"{what} no price here, and your budget is in money; ask whoever runs the gateway")
        self.model = model
