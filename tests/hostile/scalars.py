"""Schemas of scalars that are small, and meant to grow as expressions: long literals, steps, formats with patterns."""

from collections.abc import Iterator

from tests.hostile.contract import KEYWORD, LIMIT, NONE, OK, REFUSED, TRIAL, Hostile, text, thicket


def hostile_scalars() -> Iterator[Hostile]:
    """All of them."""
    yield from _literals()
    yield from _steps()
    yield from _formats()


def _literals() -> Iterator[Hostile]:
    yield thicket(
        "30 long names that begin alike",
        lambda: {
            "properties": {"n" * 1000 + str(at): {"type": "integer"} for at in range(30)},
            "patternProperties": {"n.*3": {"minimum": 3}},
        },
    )
    yield thicket(
        "30 long constants under a pattern",
        lambda: {"enum": ["v" * 1000 + str(at) for at in range(30)], "pattern": "(v|w)*v(v|w){20}"},
    )
    yield thicket(
        "no long constant", lambda: {"type": "string", "not": {"enum": ["v" * 1000 + str(at) for at in range(30)]}}
    )


def _steps() -> Iterator[Hostile]:
    long = "1234567890" * 6 + "1234"
    yield text(
        "bounds of 64 digits, an odd step",
        f'{{"type":"integer","minimum":{long},"maximum":9{long[1:]},"multipleOf":997}}',
        OK,
        LIMIT,
        KEYWORD,
    )
    yield text(
        "bounds of 60 digits, a step of 60 places",
        f'{{"minimum":0.{long[:60]},"maximum":0.9{long[:58]},"multipleOf":1e-60}}',
        OK,
        LIMIT,
    )
    yield thicket("no multiple of 997", lambda: {"type": "integer", "not": {"multipleOf": 997}})
    yield thicket("steps of 7, 11 and 13 together", lambda: {"allOf": [{"multipleOf": each} for each in (7, 11, 13)]})
    yield thicket(
        "exactly one of 12 steps", lambda: {"type": "integer", "oneOf": [{"multipleOf": each} for each in range(2, 14)]}
    )
    yield thicket(
        "any of 30 steps within ranges of their own",
        lambda: {
            "type": "integer",
            "anyOf": [{"multipleOf": 900 + at, "minimum": at * 10**9, "maximum": (at + 3) * 10**9} for at in range(30)],
        },
    )
    yield thicket(
        "items of 20 prime steps",
        lambda: {
            "type": "array",
            "prefixItems": [
                {"type": "integer", "multipleOf": each}
                for each in (
                    907,
                    911,
                    919,
                    929,
                    937,
                    941,
                    947,
                    953,
                    967,
                    971,
                    977,
                    983,
                    991,
                    997,
                    883,
                    887,
                    881,
                    877,
                    863,
                    859,
                )
            ],
        },
    )


def _formats() -> Iterator[Hostile]:
    yield thicket(
        "an e-mail address under four patterns",
        lambda: {
            "type": "string",
            "format": "email",
            "minLength": 10,
            "maxLength": 100,
            "allOf": [{"pattern": each} for each in ("a.*b", "c.*d", "e.*f", "g.*h")],
        },
        REFUSED,
        TRIAL,
    )
    yield thicket(
        "six formats together",
        lambda: {
            "type": "string",
            "allOf": [
                {"format": each}
                for each in ("uri", "iri", "uri-reference", "iri-reference", "uri-template", "json-pointer")
            ],
        },
        NONE,
        REFUSED,
        TRIAL,
    )
    yield thicket(
        "no format at all",
        lambda: {
            "type": "string",
            "allOf": [
                {"not": {"format": each}}
                for each in ("uri", "email", "hostname", "date-time", "ipv6", "duration", "iri")
            ],
        },
        REFUSED,
        TRIAL,
    )
    yield thicket(
        "60 members of every format",
        lambda: {
            "properties": {
                f"{each}{at}": {"type": "string", "format": each, "maxLength": 90 + at}
                for at in range(6)
                for each in (
                    "uri",
                    "email",
                    "hostname",
                    "date-time",
                    "ipv6",
                    "duration",
                    "iri",
                    "uri-template",
                    "time",
                    "ipv4",
                )
            }
        },
        REFUSED,
        TRIAL,
    )
