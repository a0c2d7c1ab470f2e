"""Dates, times and durations of RFC 3339, the calendar and its leap seconds included."""

from typing import Final

from compiler_pool.form.formats.reading import matching
from compiler_pool.form.languages import Language, both, either

_DAY_28: Final = "(?:0[1-9]|1[0-9]|2[0-8])"
_YEAR: Final = "[0-9]{4}"
# Divisible by 4 and not by 100, or by 400 (year 0000 is).
_LEAP_YEAR: Final = "(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)"
_DATE: Final = (
    f"(?:{_YEAR}-(?:(?:0[1-9]|1[0-2])-{_DAY_28}|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)|{_LEAP_YEAR}-02-29)"
)
_HOUR: Final = "(?:[01][0-9]|2[0-3])"
_SIXTY: Final = "[0-5][0-9]"
_TWO: Final = "[0-9]{2}"
_FRACTION: Final = r"(?:\.[0-9]+)?"

_NUMBER: Final = "[0-9]+"
_CLOCK: Final = f"T(?:{_NUMBER}H(?:{_NUMBER}M(?:{_NUMBER}S)?)?|{_NUMBER}M(?:{_NUMBER}S)?|{_NUMBER}S)"
_DAYS: Final = f"(?:{_NUMBER}Y(?:{_NUMBER}M(?:{_NUMBER}D)?)?|{_NUMBER}M(?:{_NUMBER}D)?|{_NUMBER}D)"


def date() -> Language:
    """`full-date` of section 5.6, of days that exist."""
    return matching(_DATE)


def time() -> Language:
    """`full-time` of section 5.6; a sixtieth second exists only in the last UTC minute of a day."""
    return _time("", 0)


def date_time() -> Language:
    """`date-time` of section 5.6; the separator may be in lower case, but is no space."""
    return _time(f"{_DATE}[Tt]", len("0000-00-00T"))


def duration() -> Language:
    """`duration` of appendix A: no unit is skipped between two others, weeks stand alone."""
    return matching(f"P(?:{_DAYS}(?:{_CLOCK})?|{_CLOCK}|{_NUMBER}W)")


def _time(before: str, num_before: int) -> Language:
    """Times after what stands before them, which is so many characters long.

    A sixtieth second is at local time 23:59 plus the offset. As one expression that is a case for each of 2,880
    offsets; said digit by digit, it is 115.
    """
    usual = matching(f"{before}{_HOUR}:{_SIXTY}:{_SIXTY}{_FRACTION}(?:[Zz]|[+-]{_HOUR}:{_SIXTY})")
    at_utc = matching(f"{before}23:59:60{_FRACTION}[Zz]")
    after = f"[0-9Tt-]{{{num_before}}}"
    # East of UTC by whole hours: minute 59 of the hour before the offset's.
    whole = _leap(after, r"\+", [(f"{(23 + hour) % 24:02}:59", f"{hour:02}:00") for hour in range(24)])
    # By others: the minute before the offset's, in the same hour.
    hours_east = _leap(after, r"\+", [(f"{hour:02}", f"{hour:02}:{_TWO}") for hour in range(24)])
    units_east = _leap(
        after, r"\+", [(f"{_TWO}:[0-9]{(at - 1) % 10}", f"{_TWO}:[{0 if at else 1}-5]{at}") for at in range(10)]
    )
    tens_east = _leap(
        after,
        r"\+",
        [(f"{_TWO}:{at}[0-9]", f"{_TWO}:{at}[1-9]") for at in range(6)]
        + [(f"{_TWO}:{at - 1}[0-9]", f"{_TWO}:{at}0") for at in range(1, 6)],
    )
    # West of it: what the offset lacks to 23:59.
    hours_west = _leap(after, "-", [(f"{23 - hour:02}", f"{hour:02}:{_TWO}") for hour in range(24)])
    tens_west = _leap(after, "-", [(f"{_TWO}:{5 - at}[0-9]", f"{_TWO}:{at}[0-9]") for at in range(6)])
    units_west = _leap(after, "-", [(f"{_TWO}:[0-9]{9 - at}", f"{_TWO}:[0-9]{at}") for at in range(10)])
    leap = f"{before}{_HOUR}:{_SIXTY}:60{_FRACTION}"
    east = both(matching(rf"{leap}\+{_HOUR}:{_SIXTY}"), either(whole, both(hours_east, tens_east, units_east)))
    west = both(matching(f"{leap}-{_HOUR}:{_SIXTY}"), hours_west, tens_west, units_west)
    return either(usual, at_utc, east, west)


def _leap(after: str, sign: str, pairs: list[tuple[str, str]]) -> Language:
    """What begins a local time, with what its offset begins with; any digits between."""
    forms = "|".join(f"{local}[0-9:.]*{sign}{offset}" for local, offset in pairs)
    return matching(f"{after}(?:{forms})")
