"""How long a budget holds before it begins anew: a span of time from its first use, or a calendar month (UTC)."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, NewType

Milliseconds = NewType("Milliseconds", int)
"""Since 1970-01-01T00:00:00Z, or a length of time."""

MAX_SPAN_SECONDS: Final = 366 * 86_400
SHORT_SPAN_SECONDS: Final = 120
"""A budget of no longer a window is a rate: waiting for its end is what a client's own retries can do."""

_MONTHS_A_YEAR: Final = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """So many seconds from the first use; then from the first use after that."""

    seconds: int

    def __post_init__(self) -> None:
        if not 1 <= self.seconds <= MAX_SPAN_SECONDS:
            raise ValueError(f"a window lasts from 1 to {MAX_SPAN_SECONDS} seconds")

    @property
    def spelling(self) -> str:
        """A name for the window, in stores and on the wire."""
        return str(self.seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class CalendarMonth:
    """From the first of a month, 00:00 UTC, to the next."""

    spelling: str = "month"


Period = Span | CalendarMonth


def bounds_at(period: Period, at_ms: int) -> tuple[int, int]:
    """Where a window that is first used at `at_ms` begins, and where it ends."""
    match period:
        case Span(seconds=seconds):
            return at_ms, at_ms + seconds * 1000
        case CalendarMonth():
            at = datetime.fromtimestamp(at_ms // 1000, UTC)
            begin = datetime(at.year, at.month, 1, tzinfo=UTC)
            is_last = at.month == _MONTHS_A_YEAR
            end = datetime(at.year + is_last, 1 if is_last else at.month + 1, 1, tzinfo=UTC)
            return round(begin.timestamp()) * 1000, round(end.timestamp()) * 1000


def is_rate(period: Period) -> bool:
    """Whether waiting for the end of the window is a matter of moments."""
    return isinstance(period, Span) and period.seconds <= SHORT_SPAN_SECONDS
