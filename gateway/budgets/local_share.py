"""What one gateway may grant by itself while the ledger that all share is gone: its part of every rate, and a small
reserve of every budget."""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from gateway.budgets.ledger import Accounts, LimitedAccount
from policy.budget import LevelLimits, WindowLimits
from policy.periods import is_rate

_OUTAGE: Final = "#outage"
"""After the subject of the account that counts what was granted without the shared ledger; no subject holds a `#`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalShare:
    """The parts. Any two gateways that are told the same number of replicas grant no more than the limit together."""

    num_replicas: int
    reserve_permille: int

    def rates(self, accounts: Accounts) -> Accounts:
        """What is counted at all times, so that a gateway knows how much of its part is used when it is left alone."""
        return tuple(LimitedAccount(name=each.name, limits=_rates(each.limits, self.num_replicas)) for each in accounts)

    def reserves(self, accounts: Accounts) -> Accounts:
        """What is counted only of requests that were granted without the shared ledger."""
        return tuple(
            LimitedAccount(
                name=replace(each.name, subject=each.name.subject + _OUTAGE),
                limits=_reserves(each.limits, self.num_replicas, self.reserve_permille),
            )
            for each in accounts
        )


@lru_cache(maxsize=1024)
def _rates(limits: LevelLimits, num_replicas: int) -> LevelLimits:
    def part(limit: int | None) -> int | None:
        return None if limit is None else limit // num_replicas

    return LevelLimits(
        max_concurrent_requests=part(limits.max_concurrent_requests),
        max_concurrent_streams=part(limits.max_concurrent_streams),
        windows=tuple(
            WindowLimits(
                period=window.period,
                max_requests=part(window.max_requests),
                max_tokens=part(window.max_tokens),
                max_compile_cpu_ms=part(window.max_compile_cpu_ms),
                max_unique_digests=part(window.max_unique_digests),
            )
            for window in limits.windows
            if is_rate(window.period)
        ),
    )


@lru_cache(maxsize=1024)
def _reserves(limits: LevelLimits, num_replicas: int, permille: int) -> LevelLimits:
    def part(limit: int | None) -> int | None:
        return None if limit is None else limit * permille // (1000 * num_replicas)

    windows = []
    for window in limits.windows:
        if not is_rate(window.period):
            windows.append(
                WindowLimits(
                    period=window.period,
                    max_requests=part(window.max_requests),
                    max_tokens=part(window.max_tokens),
                    max_nano_usd=part(window.max_nano_usd),
                    max_compile_cpu_ms=part(window.max_compile_cpu_ms),
                    max_unique_digests=part(window.max_unique_digests),
                )
            )
        elif window.max_nano_usd is not None:
            windows.append(WindowLimits(period=window.period, max_nano_usd=part(window.max_nano_usd)))
    return LevelLimits(windows=tuple(windows))
