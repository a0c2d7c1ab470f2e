"""What one tenant, team or key has spent and holds reserved, as pure functions: the caller keeps state and time.

Calling order: `reserve` before any work, with the most it can cost; `renew` while it runs; `settle` when it ended, with
what it did cost. What is reserved counts against every window until it is settled, so that requests side by side cannot
overspend. A reservation that nobody renews ends at its deadline and costs all that was reserved: whoever held it is
gone, and may have spent that much. It is ended in the same step as whatever next concerns the account, as of its
deadline, so it makes no difference how long that takes. A window that ends takes what was spent with it, but not what
is reserved: that still runs.

`gateway.budgets.scripts` does the same inside Redis; a test compares the two.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final

from policy.budget import Amounts, Budget, Demand, Exhausted, Level, LevelLimits, WindowLimits
from policy.periods import Period, bounds_at

MAX_ENDED_AT_ONCE: Final = 1_000
"""Lost reservations that one step ends; the rest wait for the next, and count as reserved until then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """What was spent since `begin_ms`, without what is reserved."""

    period: Period
    begin_ms: int
    end_ms: int
    num_requests: int = 0
    spent: Amounts = Amounts()
    digests: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A reservation that has not ended."""

    amounts: Amounts
    is_stream: bool
    deadline_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """A fresh one has spent nothing. Windows by the spelling of their period, reservations by their id."""

    windows: Mapping[str, Window] = field(default_factory=lambda: MappingProxyType({}))
    held: Mapping[str, Held] = field(default_factory=lambda: MappingProxyType({}))
    reserved: Amounts = Amounts()
    """The sum of what is held."""
    num_streams: int = 0

    def is_over(self, at_ms: int) -> bool:
        """Whether forgetting it changes nothing."""
        return not self.held and all(window.end_ms <= at_ms for window in self.windows.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Advanced:
    """The account as it is at a moment, and how many lost reservations that ended."""

    account: Account
    num_lost: int


def advance(account: Account, limits: LevelLimits, at_ms: int) -> Advanced:
    """End what nobody renewed, then begin the windows that `limits` ask for and that are over."""
    ended = _end_lost(account, at_ms)
    asked = {window.period.spelling: window.period for window in limits.windows}
    # A window that no limit asks for any more is kept to its end: the limit may come back.
    kept = {name: each for name, each in ended.account.windows.items() if name in asked or each.end_ms > at_ms}
    added = {name: _begun(period, at_ms) for name, period in asked.items() if name not in kept}
    current = ended.account
    if added or len(kept) != len(current.windows):
        current = replace(current, windows={**kept, **added})
    return Advanced(account=_rolled(current, at_ms), num_lost=ended.num_lost)


def refusal(account: Account, demand: Demand, limits: LevelLimits, level: Level, at_ms: int) -> Exhausted | None:
    """The first limit that `demand` would pass in an account that is advanced to `at_ms`; None: it fits."""
    momentary = [(Budget.CONCURRENT_REQUESTS, limits.max_concurrent_requests, len(account.held) + 1)]
    if demand.is_stream:
        momentary.append((Budget.CONCURRENT_STREAMS, limits.max_concurrent_streams, account.num_streams + 1))
    for budget, limit, observed in momentary:
        if limit is not None and observed > limit:
            return Exhausted(
                level=level,
                period=None,
                budget=budget,
                limit=limit,
                observed=observed,
                resets_in_ms=None,
                fits_never=limit == 0,
            )
    for window in limits.windows:
        found = _window_refusal(account, demand, window, level, at_ms)
        if found is not None:
            return found
    return None


def hold(account: Account, lease_id: str, demand: Demand, limits: LevelLimits, deadline_ms: int) -> Account:
    """Reserve `demand` in an account that is advanced to now and has room for it."""
    counted = {window.period.spelling for window in limits.windows if window.max_unique_digests is not None}
    windows = {
        name: Window(
            period=each.period,
            begin_ms=each.begin_ms,
            end_ms=each.end_ms,
            num_requests=each.num_requests + 1,
            spent=each.spent,
            digests=each.digests | {demand.digest}
            if demand.digest is not None and name in counted and demand.digest not in each.digests
            else each.digests,
        )
        for name, each in account.windows.items()
    }
    held = Held(amounts=demand.amounts, is_stream=demand.is_stream, deadline_ms=deadline_ms)
    return Account(
        windows=windows,
        held={**account.held, lease_id: held},
        reserved=account.reserved.plus(demand.amounts),
        num_streams=account.num_streams + demand.is_stream,
    )


def settle(account: Account, lease_id: str, used: Amounts, at_ms: int) -> Account | None:
    """Replace a reservation by what was used, more than was reserved included. None: it had ended already, so that
    settling twice, or after it was given up for lost, counts nothing twice."""
    if lease_id not in account.held:
        return None
    ended = _end_lost(_released(account, lease_id), at_ms).account
    return _charged(_rolled(ended, at_ms), used)


def charge(account: Account, limits: LevelLimits, used: Amounts, at_ms: int) -> Account:
    """Count a request that ran without a reservation here."""
    current = advance(account, limits, at_ms).account
    windows = {name: replace(each, num_requests=each.num_requests + 1) for name, each in current.windows.items()}
    return _charged(replace(current, windows=windows), used)


def renew(account: Account, lease_id: str, deadline_ms: int) -> Account | None:
    """Move a reservation's deadline. None: it has ended."""
    held = account.held.get(lease_id)
    if held is None:
        return None
    return replace(account, held={**account.held, lease_id: replace(held, deadline_ms=deadline_ms)})


def _window_refusal(
    account: Account, demand: Demand, limits: WindowLimits, level: Level, at_ms: int
) -> Exhausted | None:
    window = account.windows[limits.period.spelling]
    taken, asked = window.spent.plus(account.reserved), demand.amounts
    is_known = demand.digest is None or demand.digest in window.digests
    # What adds nothing to a budget is not refused for it, however far over others ran.
    rows: tuple[tuple[Budget, int | None, int, int], ...] = (
        (Budget.REQUESTS, limits.max_requests, window.num_requests, 1),
        (Budget.TOKENS, limits.max_tokens, taken.tokens, asked.tokens),
        (Budget.MONEY, limits.max_nano_usd, taken.nano_usd, asked.nano_usd),
        (
            Budget.COMPILE_CPU_MS,
            None if limits.max_compile_cpu_ms is None else limits.max_compile_cpu_ms * 1000,
            taken.compile_cpu_us,
            asked.compile_cpu_us,
        ),
        (Budget.UNIQUE_DIGESTS, limits.max_unique_digests, len(window.digests), 0 if is_known else 1),
    )
    for budget, limit, before, added in rows:
        if limit is not None and added and before + added > limit:
            return exhausted(
                level=level,
                period=limits.period,
                budget=budget,
                limit=limit,
                observed=before + added,
                added=added,
                resets_in_ms=window.end_ms - at_ms,
            )
    return None


def exhausted(
    *, level: Level, period: Period, budget: Budget, limit: int, observed: int, added: int, resets_in_ms: int
) -> Exhausted:
    """A window's refusal; compiler time is counted in microseconds and told in milliseconds."""
    unit = 1000 if budget is Budget.COMPILE_CPU_MS else 1
    return Exhausted(
        level=level,
        period=period,
        budget=budget,
        limit=limit // unit,
        observed=-(-observed // unit),
        resets_in_ms=max(0, resets_in_ms),
        fits_never=added > limit,
    )


def _end_lost(account: Account, at_ms: int) -> Advanced:
    lost = sorted((each.deadline_ms, name) for name, each in account.held.items() if each.deadline_ms <= at_ms)
    if not lost:
        return Advanced(account=account, num_lost=0)
    for deadline_ms, name in lost[:MAX_ENDED_AT_ONCE]:
        # As of its deadline: the window of that moment pays, whenever we come to it.
        amounts = account.held[name].amounts
        account = _charged(_rolled(_released(account, name), deadline_ms), amounts)
    return Advanced(account=account, num_lost=min(len(lost), MAX_ENDED_AT_ONCE))


def _released(account: Account, lease_id: str) -> Account:
    gone = account.held[lease_id]
    return Account(
        windows=account.windows,
        held={name: each for name, each in account.held.items() if name != lease_id},
        reserved=account.reserved.minus(gone.amounts),
        num_streams=account.num_streams - gone.is_stream,
    )


def _charged(account: Account, used: Amounts) -> Account:
    windows = {name: replace(each, spent=each.spent.plus(used)) for name, each in account.windows.items()}
    return replace(account, windows=windows)


def _rolled(account: Account, at_ms: int) -> Account:
    if all(at_ms < each.end_ms for each in account.windows.values()):
        return account
    return replace(account, windows=dict(_current(account.windows.items(), at_ms)))


def _current(windows: Iterable[tuple[str, Window]], at_ms: int) -> Iterable[tuple[str, Window]]:
    for name, each in windows:
        yield name, each if at_ms < each.end_ms else _begun(each.period, at_ms)


def _begun(period: Period, at_ms: int) -> Window:
    begin_ms, end_ms = bounds_at(period, at_ms)
    return Window(period=period, begin_ms=begin_ms, end_ms=end_ms)
