"""What callers are told of their budgets: the headers of every answer, and the words of a refusal."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from gateway.budgets.errors import BudgetRefusedError
from gateway.budgets.ledger import Standings, WindowStanding
from policy.budget import Budget, Exhausted
from policy.periods import CalendarMonth, Period, is_rate
from policy.prices import spelled, usd_of

DEGRADED_HEADER: Final = "x-schemagate-degraded"
_ANY_END_SECONDS: Final = 1.0
"""A caller that is refused for its own running requests is told to wait this long: less, and clients would hammer."""

_SPOKEN: Final = {
    Budget.CONCURRENT_REQUESTS: "requests at one moment",
    Budget.CONCURRENT_STREAMS: "streams at one moment",
    Budget.REQUESTS: "requests",
    Budget.TOKENS: "tokens",
    Budget.MONEY: "dollars",
    Budget.COMPILE_CPU_MS: "milliseconds of compiling",
    Budget.UNIQUE_DIGESTS: "different contracts",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rest:
    limit: int
    remaining: int
    resets_in_ms: int


def limit_headers(standings: Standings, *, is_local: bool) -> Mapping[str, str]:
    """`x-ratelimit-*`, of the window in which least is left, whoever's it is."""
    headers: dict[str, str] = {}
    requests = _tightest(standings, lambda limits: limits.max_requests, lambda window: window.num_requests)
    tokens = _tightest(standings, lambda limits: limits.max_tokens, lambda window: window.taken.tokens)
    for name, rest in (("requests", requests), ("tokens", tokens)):
        if rest is not None:
            headers[f"x-ratelimit-limit-{name}"] = str(rest.limit)
            headers[f"x-ratelimit-remaining-{name}"] = str(rest.remaining)
            headers[f"x-ratelimit-reset-{name}"] = duration(rest.resets_in_ms)
    if is_local:
        headers[DEGRADED_HEADER] = "budget"
    return headers


def refused(answer: Exhausted, headers: Mapping[str, str]) -> BudgetRefusedError:
    """The error that a refusal is. Waiting helps where a window is short or a request may end; money and long windows
    are for whoever sets them to change."""
    is_quota = answer.fits_never or answer.budget is Budget.MONEY
    if answer.period is not None:
        is_quota = is_quota or not is_rate(answer.period)
    resets = None if answer.resets_in_ms is None else answer.resets_in_ms / 1000
    wait = _ANY_END_SECONDS if resets is None else max(resets, 0.001)
    advice = "this request alone is larger than that" if answer.fits_never else "ask again later"
    if is_quota and not answer.fits_never and resets is not None:
        advice = f"more is allowed in {duration(answer.resets_in_ms or 0)}"
    limit, observed = _amount(answer, answer.limit), _amount(answer, answer.observed)
    return BudgetRefusedError(
        f"the budget of this {answer.level} allows at most {limit} {_SPOKEN[answer.budget]}{_per(answer.period)}, "
        f"and this would be {observed}: {advice}",
        level=str(answer.level),
        budget=str(answer.budget),
        window=None if answer.period is None else answer.period.spelling,
        limit=limit,
        observed=observed,
        retry_after_seconds=None if is_quota else wait,
        resets_in_seconds=None if answer.fits_never else resets,
        headers=headers,
    )


def duration(milliseconds: int) -> str:
    """As OpenAI spells it: `350ms`, `12s`, `1m0s`, `31h0m0s`."""
    if 0 < milliseconds < 1000:
        return f"{milliseconds}ms"
    seconds = math.ceil(milliseconds / 1000)
    minutes, hours = seconds // 60, seconds // 3600
    if hours:
        return f"{hours}h{minutes % 60}m{seconds % 60}s"
    return f"{minutes}m{seconds % 60}s" if minutes else f"{seconds}s"


def _tightest(
    standings: Standings, limit_of: Callable[..., int | None], used: Callable[[WindowStanding], int]
) -> _Rest | None:
    rests = []
    for standing in standings.accounts:
        for limits, window in zip(standing.account.limits.windows, standing.windows, strict=True):
            limit = limit_of(limits)
            if limit is not None:
                left, resets = max(0, limit - used(window)), max(0, window.end_ms - standings.at_ms)
                rests.append(_Rest(limit=limit, remaining=left, resets_in_ms=resets))
    # Where as little is left in two of them, the one that takes longer is the one that counts.
    return min(rests, key=lambda rest: (rest.remaining, -rest.resets_in_ms), default=None)


def _amount(answer: Exhausted, amount: int) -> int | str:
    return spelled(usd_of(amount)) if answer.budget is Budget.MONEY else amount


def _per(period: Period | None) -> str:
    if period is None:
        return ""
    if isinstance(period, CalendarMonth):
        return " a month"
    return {60: " a minute", 3600: " an hour", 86_400: " a day"}.get(period.seconds, f" in {period.seconds} seconds")
