"""What a comparison knows of the judge's formats without asking it: wider patterns, and strings worth a try.

A bound holds every string of its format, so that a proof may use it; an exact one holds no other. Tests hold both
against the judge. Samples prove nothing: each is judged.
"""

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from registry.full_match import full_match_tree
from registry.pattern_syntax import PatternNode

_OCTET: Final = "(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_DATE: Final = "[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])"
_TIME: Final = (
    r"(?:[01][0-9]|2[0-3]):[0-5][0-9]:(?:[0-5][0-9]|60)(?:\.[0-9]+)?(?:[Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])"
)
_CLOCK: Final = "T(?:[0-9]+S|[0-9]+M(?:[0-9]+S)?|[0-9]+H(?:[0-9]+M(?:[0-9]+S)?)?)"
_CALENDAR: Final = "(?:[0-9]+D|[0-9]+M(?:[0-9]+D)?|[0-9]+Y(?:[0-9]+M(?:[0-9]+D)?)?)"

EXACT: Final[Mapping[str, str]] = MappingProxyType(
    {
        "uuid": "^[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$",
        "ipv4": rf"^{_OCTET}(?:\.{_OCTET}){{3}}$",
        "duration": f"^P(?:[0-9]+W|{_CALENDAR}(?:{_CLOCK})?|{_CLOCK})$",
    }
)
"""Formats that are one pattern, no more and no less."""

BOUNDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "date": f"^{_DATE}$",
        "time": f"^{_TIME}$",
        "date-time": f"^{_DATE}[Tt]{_TIME}$",
        "ipv6": "^[0-9A-Fa-f:.]{2,45}$",
        "hostname": "^[0-9A-Za-z.-]{1,253}$",
        "email": "^[ -~]+@[ -~]+$",
        "uri": "^[A-Za-z][0-9A-Za-z+.-]*:[!-~]*$",
        "uri-reference": "^[!-~]*$",
        "json-pointer": r"^(?:/[^]*)?$",
    }
)
"""Patterns that hold all of a format, and more."""

WIDER: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {
        "uri": frozenset({"uri-reference", "iri", "iri-reference"}),
        "uri-reference": frozenset({"iri-reference"}),
        "iri": frozenset({"iri-reference"}),
    }
)
"""Formats that hold all of another, because their grammars are the other's with more in it."""

_SAMPLES: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "date": ("2026-01-31", "0000-02-29", "1999-12-31"),
        "date-time": ("2026-01-31T12:00:00Z", "1999-12-31t23:59:60z", "2026-01-31T12:00:00.123456789+01:00"),
        "duration": ("P1D", "P3W", "PT1S", "P1Y2M3DT4H5M6S"),
        "email": ("a@b.de", "x@example.com", '"a b"@example.com', "someone.with.a.long.name@mail.example.com"),
        "hostname": ("a", "example.com", "a-1.example", "x" * 63 + ".example"),
        "idn-email": ("a@b.de", "é@exämple.com"),
        "idn-hostname": ("a", "exämple.com"),
        "ipv4": ("0.0.0.0", "255.255.255.255"),  # noqa: S104 - a sample, nothing listens
        "ipv6": ("::", "2001:db8::1", "::ffff:1.2.3.4"),
        "iri": ("a:", "https://exämple.com/é"),
        "iri-reference": ("", "é", "https://exämple.com/é"),
        "json-pointer": ("", "/a", "/a/0/~0~1"),
        "regex": ("", "a", "^[a-z]+$", "(?=a)b"),
        "relative-json-pointer": ("0", "1/a", "2#"),
        "time": ("12:00:00Z", "23:59:60+00:00", "12:00:00.5-01:30"),
        "uri": ("a:", "https://example.com/a?b#c", "urn:x:1"),
        "uri-reference": ("", "a", "/a/b", "https://example.com/a?b#c"),
        "uri-template": ("", "a", "/a/{b}", "https://example.com/{+a}{?b*}"),
        "uuid": ("00000000-0000-0000-0000-000000000000", "A987FBC9-4BED-3078-CF07-9141BA07C9F3"),
    }
)
_OTHERS: Final = ("", " ", "a", "%", "{", "(", "[", "\\", "é", "~", "/~", "a b", "1", "\u0000")
"""Strings that few formats hold."""


@lru_cache(maxsize=64)
def exact_format(name: str) -> "PatternNode | None":
    """The tree of a format that is one pattern."""
    return full_match_tree(EXACT[name]) if name in EXACT else None


@lru_cache(maxsize=64)
def format_bound(name: str) -> "PatternNode | None":
    """The tree of a pattern that holds all of a format, if one is known."""
    return full_match_tree(BOUNDS[name]) if name in BOUNDS else None


def format_samples(name: str) -> tuple[str, ...]:
    """Strings in the format and off it."""
    return (*_SAMPLES.get(name, ()), *_OTHERS)
