"""What a tenant may spend in a window of time, as pure functions: the caller keeps the state and brings the clock.

Calling order: `reserve` before any work, with the most it can cost; `settle` exactly once when it ended, with what it
did cost. What is reserved counts as spent until it is settled, so that requests side by side cannot overspend. A
window that ends takes what was spent with it, but not what is reserved: that still runs.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Final


class Budget(StrEnum):
    """What can run out."""

    REQUESTS = "requests"
    TOKENS = "tokens"
    COMPILE_CPU_MS = "compile_cpu_ms"
    UNIQUE_DIGESTS = "unique_digests"
    CONCURRENT_REQUESTS = "concurrent_requests"


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetLimits:
    """The most of each within one window; `max_concurrent_requests` at any moment."""

    window_seconds: float
    max_requests: int
    max_tokens: int
    max_compile_cpu_ms: float
    max_unique_digests: int
    max_concurrent_requests: int

    def __post_init__(self) -> None:
        if self.window_seconds <= 0:
            raise ValueError("a window lasts longer than nothing")


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """The most that one request can cost. `digest` is the contract's, if it has one."""

    reservation_id: str
    num_tokens: int = 0
    compile_cpu_ms: float = 0.0
    digest: str | None = None

    def __post_init__(self) -> None:
        if self.num_tokens < 0 or self.compile_cpu_ms < 0:
            raise ValueError("nothing costs less than nothing")


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What one request did cost; more than was reserved is counted all the same."""

    num_tokens: int = 0
    compile_cpu_ms: float = 0.0

    def __post_init__(self) -> None:
        if self.num_tokens < 0 or self.compile_cpu_ms < 0:
            raise ValueError("nothing costs less than nothing")


_NO_DEMANDS: Final[Mapping[str, Demand]] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetState:
    """One tenant's spending: what was spent in the window, and what is reserved. A fresh one has spent nothing."""

    window_start_seconds: float = float("-inf")
    num_requests: int = 0
    num_tokens: int = 0
    compile_cpu_ms: float = 0.0
    digests: frozenset[str] = frozenset()
    reserved: Mapping[str, Demand] = field(default_factory=lambda: _NO_DEMANDS)

    @property
    def num_reserved_tokens(self) -> int:
        """Tokens of requests that have not ended."""
        return sum(demand.num_tokens for demand in self.reserved.values())

    @property
    def reserved_compile_cpu_ms(self) -> float:
        """Compiler time of requests that have not ended."""
        return sum(demand.compile_cpu_ms for demand in self.reserved.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Reserved:
    """Granted; `state` replaces the one that was asked."""

    state: BudgetState


@dataclass(frozen=True, slots=True, kw_only=True)
class Exhausted:
    """Refused, and nothing was reserved. `observed` is what it would have come to.

    `retry_after_seconds` is when the window ends; a second where any request that ends may make room. It is infinite
    where the demand is above the limit by itself, so that no window will ever hold it.
    """

    which: Budget
    limit: int | float
    observed: int | float
    retry_after_seconds: float
    state: BudgetState


_ANY_END_SECONDS = 1.0
"""A caller that is refused for its own running requests is told to wait this long: less, and clients would hammer."""


def reserve(state: BudgetState, demand: Demand, limits: BudgetLimits, *, now_seconds: float) -> Reserved | Exhausted:
    """Reserve all of `demand` or nothing. `now_seconds` is any clock that does not run backwards, always the same.

    Raises `ValueError` if the reservation's id is in use.
    """
    if demand.reservation_id in state.reserved:
        raise ValueError("this reservation exists")
    current = _rolled(state, limits, now_seconds)
    digests = current.digests | ({demand.digest} if demand.digest is not None else frozenset())
    wanted: tuple[tuple[Budget, int | float, int | float, int | float], ...] = (
        (Budget.CONCURRENT_REQUESTS, limits.max_concurrent_requests, len(current.reserved) + 1, 1),
        (Budget.REQUESTS, limits.max_requests, current.num_requests + 1, 1),
        (
            Budget.TOKENS, limits.max_tokens,
            current.num_tokens + current.num_reserved_tokens + demand.num_tokens, demand.num_tokens,
        ),
        (
            Budget.COMPILE_CPU_MS, limits.max_compile_cpu_ms,
            current.compile_cpu_ms + current.reserved_compile_cpu_ms + demand.compile_cpu_ms, demand.compile_cpu_ms,
        ),
        (Budget.UNIQUE_DIGESTS, limits.max_unique_digests, len(digests), 1),
    )  # fmt: skip
    for which, limit, observed, alone in wanted:
        # A request that adds nothing to a budget is not refused for it, however far over others ran.
        is_free = which is Budget.UNIQUE_DIGESTS and digests == current.digests
        if observed > limit and alone and not is_free:
            return Exhausted(
                which=which,
                limit=limit,
                observed=observed,
                retry_after_seconds=_retry_after(
                    which=which, limit=limit, alone=alone, state=current, limits=limits, now_seconds=now_seconds
                ),
                state=current,
            )
    granted = replace(
        current,
        num_requests=current.num_requests + 1,
        digests=digests,
        reserved=MappingProxyType({**current.reserved, demand.reservation_id: demand}),
    )
    return Reserved(state=granted)


def settle(
    state: BudgetState, reservation_id: str, usage: Usage, limits: BudgetLimits, *, now_seconds: float
) -> BudgetState:
    """Replace a reservation by what was spent. Settling twice, or what was never reserved, raises `KeyError`."""
    if reservation_id not in state.reserved:
        raise KeyError(reservation_id)
    current = _rolled(state, limits, now_seconds)
    left = {name: demand for name, demand in current.reserved.items() if name != reservation_id}
    return replace(
        current,
        num_tokens=current.num_tokens + usage.num_tokens,
        compile_cpu_ms=current.compile_cpu_ms + usage.compile_cpu_ms,
        reserved=MappingProxyType(left),
    )


def _rolled(state: BudgetState, limits: BudgetLimits, now_seconds: float) -> BudgetState:
    """The state in the window that `now_seconds` lies in. Digests of running requests are still in use."""
    if now_seconds < state.window_start_seconds + limits.window_seconds:
        return state
    running = frozenset(demand.digest for demand in state.reserved.values() if demand.digest is not None)
    return BudgetState(window_start_seconds=now_seconds, digests=running, reserved=state.reserved)


def _retry_after(
    *, which: Budget, limit: float, alone: float, state: BudgetState, limits: BudgetLimits, now_seconds: float
) -> float:
    if alone > limit:
        return float("inf")
    if which is Budget.CONCURRENT_REQUESTS:
        return _ANY_END_SECONDS
    return max(0.0, state.window_start_seconds + limits.window_seconds - now_seconds)
