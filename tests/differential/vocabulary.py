"""The few words of which random schemas and values are made: few, so that keywords meet each other."""

import random
from decimal import Decimal
from typing import Final

from registry.contract import JsonValue

NAMES: Final = ("a", "b", "c", "ab", "x1", "é", "a\tb", "")
"""Often the first ones; the others are there for their spelling."""

NUMBERS: Final = (
    -3, -1, 0, 1, 2, 3, 5, 8, 12, 100,
    Decimal("0.5"), Decimal("1.5"), Decimal("-2.25"), Decimal("0.1"), Decimal("0.3"), Decimal("0.30000000000000004"),
)  # fmt: skip

BIG_NUMBERS: Final = (
    2**53 - 1, 2**53, 2**53 + 1, -(2**53) - 1, 2**63 - 1, 2**63, -(2**63), 10**20, 10**40 + 1,
    Decimal("1e-10"), Decimal("0.00000000000000001"), Decimal("9007199254740993.5"), Decimal("-0.000123456789"),
)  # fmt: skip
"""What doubles, or 64 bits, do not hold, and what lies beside it."""

STEPS: Final = (
    1, 2, 3, 6, 7, 25, 100, Decimal("0.5"), Decimal("0.1"), Decimal("2.5"), Decimal("0.01"), Decimal("0.3"),
    Decimal("1e-6"),
)  # fmt: skip

STRINGS: Final = (
    "", "a", "b", "ab", "ba", "x1", "1", "abc", "aab", "é", "e\u0301", '"', "\\", "/", "\n", "\x00", "\x7f", "\u2028",
    "😀", "a b", "null", "-1", "bbbb",
)  # fmt: skip

PATTERNS: Final = (
    "a", "^a", "b$", "^[ab]+$", "^x", "[0-9]", "^.{2}$", "^$", "^(a|b)", "\\d", "^\\w+$", "\\s", "^[^a]*$", "a|b$",
    "^(?:ab?){1,2}$", "^\\u00e9", "\\p{L}", "^[\\x00-\\x1f]", "^.?$", "(a)(b)?", "^a.*b$", "[^\\d]",
    "^(?:a|ab|c)$", "^😀$",
)  # fmt: skip

IN_FORMAT: Final = {
    "date": ("2024-02-29", "2023-02-29", "2024-1-1", "0000-01-01"),
    "time": ("12:00:00Z", "23:59:60Z", "24:00:00Z", "12:00:00+25:00"),
    "date-time": ("2024-02-29T12:00:00Z", "2024-02-29T12:00:00", "1990-12-31T23:59:60Z"),
    "duration": ("P1D", "P", "PT1H", "P1W", "P1WT1H"),
    "email": ("a@b.cd", "a@", '"a b"@c.de', "a@[127.0.0.1]"),
    "hostname": ("a.b", "-a", "xn--a", "a..b"),
    "ipv4": ("10.0.0.1", "256.0.0.1", "1.2.3", "01.2.3.4"),
    "ipv6": ("::1", "::ffff:1.2.3.4", "1::2::3", "12345::"),
    "uri": ("a:b", "http://a/b?c#d", "//a", "a b:c"),
    "uri-reference": ("", "//a", "a b", "#a"),
    "uri-template": ("a{b}", "{", "{+a,b}"),
    "iri": ("a:é", "a"),
    "json-pointer": ("", "/a~0", "a", "/~"),
    "relative-json-pointer": ("0", "1#", "01", "0/a"),
    "uuid": ("2eb8aa08-aa98-11ea-b4aa-73b441d16380", "2eb8aa08"),
    "regex": ("a", "(", "[a]+", "\\d"),
}
"""By format, some strings that are in it or nearly."""

FORMATS: Final = tuple(IN_FORMAT)
TYPES: Final = ("null", "boolean", "integer", "number", "string", "array", "object")


def name(draw: random.Random, *, of: int = 5) -> str:
    """A member's name, mostly one of the first so many."""
    return draw.choice(NAMES[:of] if draw.random() < 0.9 else NAMES)


def names(draw: random.Random, most: int, *, of: int = 5) -> list[str]:
    """Different names, at least one."""
    return list(dict.fromkeys(name(draw, of=of) for _ in range(draw.randint(1, most))))


def number(draw: random.Random) -> JsonValue:
    """A number, mostly a small one."""
    return draw.choice(NUMBERS if draw.random() < 0.85 else BIG_NUMBERS)


def string(draw: random.Random) -> str:
    """A string, sometimes one that is nearly in a format."""
    if draw.random() < 0.12:
        return draw.choice(IN_FORMAT[draw.choice(FORMATS)])
    return draw.choice(STRINGS)


def value(draw: random.Random, depth: int) -> JsonValue:
    """Any value; at `depth` 0 it has no parts."""
    kind = draw.randint(0, 5 if depth > 0 else 3)
    match kind:
        case 0:
            return draw.choice((None, True, False))
        case 1:
            return number(draw)
        case 2:
            return string(draw)
        case 3:
            return draw.choice((1, 0, "a", "", True, None))
        case 4:
            return [value(draw, depth - 1) for _ in range(draw.randint(0, 3))]
        case _:
            return {each: value(draw, depth - 1) for each in names(draw, 3)} if draw.random() < 0.9 else {}
