"""The formats, where the official suite has no case."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.validation.formats.table import FORMATS
from registry.keywords import KNOWN_FORMATS


def test_every_format_of_the_specification_is_asserted() -> None:
    assert set(FORMATS) == set(KNOWN_FORMATS)


@given(st.dates())
def test_every_day_of_the_calendar_is_a_date(day: date) -> None:
    assert FORMATS["date"](day.isoformat())


@given(year=st.integers(0, 9999), month=st.integers(0, 19), day=st.integers(0, 39))
def test_a_date_is_a_day_that_exists(year: int, month: int, day: int) -> None:
    try:
        # 2000 and year 0 are both leap years of the same calendar.
        date(year or 2000, month, day)
        exists = True
    except ValueError:
        exists = False
    assert FORMATS["date"](f"{year:04}-{month:02}-{day:02}") is exists


@pytest.mark.parametrize(
    ("name", "text", "is_in_format"),
    [
        ("date", "2023-02-31", False),
        ("date", "2000-02-29", True),
        ("date", "1900-02-29", False),
        ("date", "0000-02-29", True),
        ("date-time", "2016-12-31T23:59:60Z", True),
        ("date-time", "2016-12-31T23:59:60.123+00:00", True),
        ("date-time", "2017-01-01T00:29:60+00:30", True),
        ("date-time", "2016-12-31T12:00:60Z", False),
        ("date-time", "2016-12-31 23:59:59Z", False),
        ("date-time", "2016-12-31t23:59:59z", True),
        ("date-time", "2016-12-31T23:59:59", False),
        ("date-time", "2016-12-31", False),
        ("date-time", "", False),
        ("time", "23:59:59.Z", False),
        ("duration", "P1Y2D", False),
        ("duration", "P1Y2M3DT4H5M6S", True),
        ("duration", "P1W1D", False),
        ("duration", "PT", False),
        ("duration", "P", False),
        ("duration", "PT1H6S", False),
        ("duration", "P0.5D", False),
        ("ipv4", "1.2.3", False),
        ("ipv4", "1.2.3.4.", False),
        ("ipv4", "01.2.3.4", False),
        ("ipv4", "1.2.3.4\n", False),
        ("ipv6", "::ffff:1.2.3.4", True),
        ("ipv6", "::1.2.3.4:5", False),
        ("ipv6", "fe80::1%eth0", False),
        ("hostname", "a" * 63, True),
        ("hostname", "a" * 64, False),
        ("hostname", ".".join(["a" * 49] * 5) + ".com", True),
        ("hostname", ".".join(["a" * 49] * 5) + ".comm", False),
        ("hostname", "straße.de", False),
        ("idn-hostname", "straße.de", True),
        ("idn-hostname", "xn--strae-oqa.de", True),
        ("idn-hostname", "a_b.de", False),
        ("email", "a@b", True),
        ("email", "a@@b", False),
        ("email", "x" * 64 + "@b", True),
        ("email", "x" * 65 + "@b", False),
        ("email", "a@[IPv6:::1]", True),
        ("email", "a@[IPv6:1]", False),
        ("email", "a@[tag:x]", True),
        ("email", 'a"b@c', False),
        ("email", "jürgen@example.com", False),
        ("idn-email", "jürgen@exämple.com", True),
        ("uri", "http://[::1]:80/", True),
        ("uri", "http://[1::2::3]/", False),
        ("uri", "http://[v1.x:y]/", True),
        ("uri", "http://a/%zz", False),
        ("uri", "http://a/\n", False),
        ("uri", "a:", True),
        ("uri", "//a", False),
        ("uri-reference", "//a", True),
        ("uri-reference", "", True),
        ("uri-reference", "a:b", True),
        ("uri-reference", "1:b", False),
        ("uri-reference", "./1:b", True),
        ("uri-reference", "#a#b", False),
        ("uri-reference", "ä", False),
        ("iri", "http://ä/ö?ü#ß", True),
        ("iri", "http://a/\ufffe", False),
        ("iri-reference", "ä", True),
        ("uri-template", "{+a:3,b*}", True),
        ("uri-template", "{a", False),
        ("uri-template", "{a}}", False),
        ("uuid", "00000000-0000-0000-0000-00000000000g", False),
        ("json-pointer", "/a\n~1", True),
        ("relative-json-pointer", "0-1/a", True),
        ("relative-json-pointer", "0+0#", True),
        ("regex", "(?<=a)b", True),
        ("regex", "(?<a>x)\\k<a>\\1", True),
        ("regex", "\\2(a)", False),
        ("regex", "\\k<b>(?<a>x)", False),
        ("regex", "(?<a>x)(?<a>y)", False),
        ("regex", "(?=a)*", False),
        ("regex", "a{2,1}", False),
        ("regex", "a{1", False),
        ("regex", "a**", False),
        ("regex", "a*??", False),
        ("regex", "[b-a]", False),
        ("regex", "[\\d-z]", False),
        ("regex", "[a-]", True),
        ("regex", "[\\b\\-]", True),
        ("regex", "\\u{110000}", False),
        ("regex", "\\ud83d\\ude00", True),
        ("regex", "\\p{L}\\P{Script=Greek}", True),
        ("regex", "\\p{", False),
        ("regex", "\\A", False),
        ("regex", "\\", False),
        ("regex", "\\00", False),
        ("regex", "x{99999999999999999999,99999999999999999999}", True),
        ("regex", ")", False),
        ("regex", "]", False),
        ("regex", "(?i)a", False),
        ("regex", "|", True),
        ("regex", "", True),
        ("regex", "(" * 5000 + ")" * 5000, True),
    ],
)
def test_a_format_is_what_its_specification_says(name: str, text: str, is_in_format: bool) -> None:  # noqa: FBT001
    assert FORMATS[name](text) is is_in_format


@given(st.sampled_from(sorted(FORMATS)), st.text())
def test_a_format_answers_for_any_text(name: str, text: str) -> None:
    assert FORMATS[name](text) in {True, False}
