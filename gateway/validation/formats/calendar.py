"""Dates, times and durations of RFC 3339: grammar first, then the calendar."""

import re
from calendar import monthrange

import re2

# Nothing in it repeats without a bound, so the standard library's engine is linear too, and quicker on ten characters.
_DATE = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
_TIME = re2.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.[0-9]+)?(?:[Zz]|([+-])([0-9]{2}):([0-9]{2}))")
_DURATION = re2.compile(
    # RFC 3339, appendix A: units in order, none skipped in the middle, weeks alone.
    r"P(?:[0-9]+W"
    r"|(?:[0-9]+D|[0-9]+M(?:[0-9]+D)?|[0-9]+Y(?:[0-9]+M(?:[0-9]+D)?)?)(?:T(?:[0-9]+S|[0-9]+M(?:[0-9]+S)?|[0-9]+H(?:[0-9]+M(?:[0-9]+S)?)?))?"
    r"|T(?:[0-9]+S|[0-9]+M(?:[0-9]+S)?|[0-9]+H(?:[0-9]+M(?:[0-9]+S)?)?))"
)

# The Gregorian calendar repeats every 400 years, so year 0 of RFC 3339 has a stand-in that the library knows.
_CALENDAR_CYCLE_YEARS = 400
_MINUTES_PER_DAY = 24 * 60


def is_date(text: str) -> bool:
    """`full-date` of RFC 3339 section 5.6, and a day that exists."""
    match = _DATE.fullmatch(text)
    if match is None:
        return False
    year, month, day = (int(part) for part in match.groups())
    if not 1 <= month <= 12:
        return False
    _, num_days = monthrange(year or _CALENDAR_CYCLE_YEARS, month)
    return 1 <= day <= num_days


def is_time(text: str) -> bool:
    """`full-time` of RFC 3339 section 5.6; a sixtieth second exists only in the last UTC minute of a day."""
    match = _TIME.fullmatch(text)
    if match is None:
        return False
    hour_text, minute_text, second_text, sign, offset_hour_text, offset_minute_text = match.groups()
    hour, minute, second = int(hour_text), int(minute_text), int(second_text)
    if hour > 23 or minute > 59 or second > 60:
        return False
    offset = 0
    if sign is not None:
        offset_hour, offset_minute = int(offset_hour_text), int(offset_minute_text)
        if offset_hour > 23 or offset_minute > 59:
            return False
        offset = offset_hour * 60 + offset_minute
    if second < 60:
        return True
    utc_minute = hour * 60 + minute - (offset if sign == "+" else -offset)
    return utc_minute % _MINUTES_PER_DAY == _MINUTES_PER_DAY - 1


def is_date_time(text: str) -> bool:
    """`date-time` of RFC 3339 section 5.6; the separator may be in lower case, but is no space."""
    return len(text) > 10 and text[10] in "Tt" and is_date(text[:10]) and is_time(text[11:])


def is_duration(text: str) -> bool:
    """`duration` of RFC 3339, appendix A."""
    return _DURATION.fullmatch(text) is not None
