"""From what a ledger says of an account to what is told of it."""

from datetime import UTC, datetime

from gateway.budgets.ledger import Standing, WindowStanding
from gateway.budgets.protocol import LevelState, WindowState
from policy.budget import WindowLimits
from policy.periods import CalendarMonth, Span
from policy.prices import spelled, usd_of


def level_state(standing: Standing) -> LevelState:
    """An account as it stands."""
    name, limits = standing.account.name, standing.account.limits
    return LevelState(
        level=name.level.value,
        subject=name.subject or None,
        max_concurrent_requests=limits.max_concurrent_requests,
        running_requests=standing.num_running,
        max_concurrent_streams=limits.max_concurrent_streams,
        running_streams=standing.num_streams,
        windows=[_window(*pair) for pair in zip(limits.windows, standing.windows, strict=True)],
    )


def _window(limits: WindowLimits, window: WindowStanding) -> WindowState:
    return WindowState(
        seconds=limits.period.seconds if isinstance(limits.period, Span) else None,
        period="month" if isinstance(limits.period, CalendarMonth) else None,
        began_at=_moment(window.begin_ms),
        ends_at=_moment(window.end_ms),
        max_requests=limits.max_requests,
        used_requests=window.num_requests,
        max_tokens=limits.max_tokens,
        used_tokens=window.taken.tokens,
        max_usd=None if limits.max_nano_usd is None else spelled(usd_of(limits.max_nano_usd)),
        used_usd=spelled(usd_of(window.taken.nano_usd)),
        max_compile_cpu_ms=limits.max_compile_cpu_ms,
        used_compile_cpu_ms=window.taken.compile_cpu_us / 1000,
        max_unique_contracts=limits.max_unique_digests,
        used_unique_contracts=window.num_digests,
    )


def _moment(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)
