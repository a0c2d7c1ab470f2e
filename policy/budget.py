"""What can run out, how much of it there is, and what one request may take: values that every ledger shares.

Amounts are whole numbers: tokens, billionths of a dollar, microseconds of a compiler's CPU time. No float takes part.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from policy.periods import Period

MAX_AMOUNT: Final = 2**53 - 1
"""Of anything that is counted: exact in every store, a double's included. In money, nine million dollars."""
NANO_USD: Final = 10**9
"""In one dollar."""


class Budget(StrEnum):
    """What can run out."""

    CONCURRENT_REQUESTS = "concurrent_requests"
    CONCURRENT_STREAMS = "concurrent_streams"
    REQUESTS = "requests"
    TOKENS = "tokens"
    MONEY = "money"
    COMPILE_CPU_MS = "compile_cpu_ms"
    UNIQUE_DIGESTS = "unique_digests"


class Level(StrEnum):
    """Whose budget, from the narrowest."""

    KEY = "key"
    TEAM = "team"
    TENANT = "tenant"


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowLimits:
    """The most of each within one window. None: no limit."""

    period: Period
    max_requests: int | None = None
    max_tokens: int | None = None
    max_nano_usd: int | None = None
    max_compile_cpu_ms: int | None = None
    max_unique_digests: int | None = None

    def __post_init__(self) -> None:
        for limit in (self.max_requests, self.max_tokens, self.max_nano_usd, self.max_unique_digests):
            _check(limit)
        _check(None if self.max_compile_cpu_ms is None else self.max_compile_cpu_ms * 1000)


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelLimits:
    """All limits of one tenant, team or key: those at any moment, and those of its windows, each of another period."""

    max_concurrent_requests: int | None = None
    max_concurrent_streams: int | None = None
    """A part of the concurrent requests."""
    windows: tuple[WindowLimits, ...] = ()

    def __post_init__(self) -> None:
        _check(self.max_concurrent_requests)
        _check(self.max_concurrent_streams)
        if len({window.period.spelling for window in self.windows}) != len(self.windows):
            raise ValueError("two windows of one period")

    @property
    def limits_anything(self) -> bool:
        """Whether a request could be refused for it."""
        return self != LevelLimits()

    @property
    def limits_money(self) -> bool:
        """Whether nothing may be done here whose price is not known."""
        return any(window.max_nano_usd is not None for window in self.windows)


@dataclass(frozen=True, slots=True, kw_only=True)
class Amounts:
    """What is spent by using, as far as it is counted."""

    tokens: int = 0
    nano_usd: int = 0
    compile_cpu_us: int = 0

    def __post_init__(self) -> None:
        if min(self.tokens, self.nano_usd, self.compile_cpu_us) < 0:
            raise ValueError("nothing costs less than nothing")

    def plus(self, other: "Amounts") -> "Amounts":
        """Both."""
        return Amounts(
            tokens=self.tokens + other.tokens,
            nano_usd=self.nano_usd + other.nano_usd,
            compile_cpu_us=self.compile_cpu_us + other.compile_cpu_us,
        )

    def minus(self, other: "Amounts") -> "Amounts":
        """What is left without `other`, which is a part of this."""
        return Amounts(
            tokens=self.tokens - other.tokens,
            nano_usd=self.nano_usd - other.nano_usd,
            compile_cpu_us=self.compile_cpu_us - other.compile_cpu_us,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """The most that one request can take. `digest` is its contract's, if it has one."""

    amounts: Amounts = Amounts()
    digest: str | None = None
    is_stream: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Exhausted:
    """Refused, and nothing was reserved. `observed` is what it would have come to, in the units of `limit`.

    `resets_in_ms` is when the window ends; None for what holds at any moment. `fits_never`: the demand alone is above
    the limit, so that no window will ever hold it.
    """

    level: Level
    period: Period | None
    budget: Budget
    limit: int
    observed: int
    resets_in_ms: int | None
    fits_never: bool


def _check(limit: int | None) -> None:
    if limit is not None and not 0 <= limit <= MAX_AMOUNT:
        raise ValueError(f"a limit is from 0 to {MAX_AMOUNT}")
