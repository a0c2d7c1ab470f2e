"""Wire types of budgets: the document that an operator puts, what is told of one, a caller's own state, and prices."""

import re
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    StrictInt,
    field_validator,
    model_serializer,
    model_validator,
)

from gateway.protocol import Answered, Sent
from policy.budget import MAX_AMOUNT, NANO_USD
from policy.periods import MAX_SPAN_SECONDS
from policy.prices import MAX_DECIMALS, MAX_PRICE

MAX_WINDOWS = 4
MAX_CONTRACTS = 100_000
"""Different contracts that a window can be told to count: each is remembered until the window ends."""
_MAX_PRICED_MODELS = 10_000

_DOLLARS = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?", re.ASCII)


def _exact(value: Any) -> Any:
    """A number as it was written, or as text; never a binary fraction."""
    if isinstance(value, str) and _DOLLARS.fullmatch(value):
        return Decimal(value)
    return Decimal(value) if isinstance(value, int) and not isinstance(value, bool) else value


Count = Annotated[StrictInt, Field(ge=0, le=MAX_AMOUNT)]
Usd = Annotated[
    Decimal,
    BeforeValidator(_exact),
    Field(ge=0, le=Decimal(MAX_AMOUNT // NANO_USD), decimal_places=MAX_DECIMALS, allow_inf_nan=False, strict=True),
]
Price = Annotated[
    Decimal,
    BeforeValidator(_exact),
    Field(ge=0, le=MAX_PRICE, decimal_places=MAX_DECIMALS, allow_inf_nan=False, strict=True),
]


class _Said(Sent):
    """Told as it was said: null is not the same as nothing."""

    @model_serializer(mode="wrap")
    def _said(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {name: value for name, value in serialize(self).items() if name in self.model_fields_set}


class WindowSent(_Said):
    """The limits of one window. What is left out stays as it is without this document; null lifts it."""

    seconds: Annotated[StrictInt, Field(ge=1, le=MAX_SPAN_SECONDS)] | None = None
    period: Literal["month"] | None = None
    max_requests: Count | None = None
    max_tokens: Count | None = None
    max_usd: Usd | None = None
    max_compile_cpu_ms: Annotated[StrictInt, Field(ge=0, le=MAX_AMOUNT // 1000)] | None = None
    max_unique_contracts: Annotated[StrictInt, Field(ge=0, le=MAX_CONTRACTS)] | None = None

    @model_validator(mode="after")
    def _one_period(self) -> Self:
        if (self.seconds is None) == (self.period is None):
            raise ValueError("a window has either `seconds` or `period`")
        return self


class BudgetSent(_Said):
    """All that is set for one tenant, team or key."""

    windows: list[WindowSent] = Field(default_factory=list, max_length=MAX_WINDOWS)
    max_concurrent_requests: Count | None = None
    max_concurrent_streams: Count | None = None

    @field_validator("windows")
    @classmethod
    def _different_periods(cls, windows: list[WindowSent]) -> list[WindowSent]:
        if len({(window.seconds, window.period) for window in windows}) != len(windows):
            raise ValueError("two windows have the same length")
        return windows


class WindowState(Answered):
    """A window as it stands: `used` includes what is reserved, and a limit of null is none. Money is in dollars."""

    seconds: int | None
    period: str | None
    began_at: datetime
    ends_at: datetime
    max_requests: int | None
    used_requests: int
    max_tokens: int | None
    used_tokens: int
    max_usd: str | None
    used_usd: str
    max_compile_cpu_ms: int | None
    used_compile_cpu_ms: float
    max_unique_contracts: int | None
    used_unique_contracts: int


class LevelState(Answered):
    """An account as it stands."""

    level: str
    subject: str | None
    max_concurrent_requests: int | None
    running_requests: int
    max_concurrent_streams: int | None
    running_streams: int
    windows: list[WindowState]


class BudgetUsageAnswer(Answered):
    """A caller's own state at every level that is counted for it, the narrowest first."""

    currency: str
    degraded: bool
    """Whether the gateways' common ledger is gone, and these are the limits and the use of one gateway's share."""
    levels: list[LevelState]


class BudgetAnswer(Answered):
    """One level: its document, what holds there and how it stands. `version` is its ETag; 0: nothing is set."""

    tenant: str
    level: str
    subject: str | None
    budget: BudgetSent
    state: LevelState
    others: list[str] | None
    """Of a tenant: the levels beneath it for which something is set, as `team:name` and `key:id`."""
    version: int
    changed_at: datetime | None
    changed_by: str | None


class _Setting(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ModelPriceSetting(_Setting):
    """Dollars for a million tokens; cached input costs what input does unless it is said."""

    input_per_million: Price
    cached_input_per_million: Price | None = None
    output_per_million: Price


class PriceSetting(_Setting):
    """The operator's table. A model that is not listed has no price."""

    currency: Literal["USD"] = "USD"
    compile_cpu_second: Price | None = None
    models: dict[str, ModelPriceSetting] = Field(default_factory=dict, max_length=_MAX_PRICED_MODELS)
