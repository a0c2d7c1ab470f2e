"""Documents near a document: each part replaced, left out, doubled, or joined by another. Deterministic and bounded."""

from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Final

from registry.algebra.format_samples import format_samples
from registry.algebra.terms import Term, TermId, Terms
from registry.contract import JsonValue
from registry.text import value_text

MAX_HINTS: Final = 160
MAX_PLACES: Final = 200
"""Parts of one document that are varied."""
_MAX_HINT_LENGTH: Final = 2_000
_PLAIN: Final[tuple[JsonValue, ...]] = (
    None, True, False, 0, 1, -1, Decimal("0.5"), "", "a", "é", [], [0], [0, 0], {}, {"extra": 0},
)  # fmt: skip


def hints(terms: Terms) -> list[JsonValue]:
    """Values at the edges of what the terms' keywords say."""
    found: dict[str, JsonValue] = {}
    for number in range(len(terms)):
        for value in _edges(terms[TermId(number)]):
            found.setdefault(value_text(value), value)
            if len(found) >= MAX_HINTS:
                return list(found.values())
    return list(found.values())


def variations(document: JsonValue, values: list[JsonValue], names: Iterable[str]) -> Iterator[JsonValue]:
    """The document with one part other."""
    extra_names = tuple(names)
    for count, path in enumerate(_paths(document)):
        if count >= MAX_PLACES:
            return
        for part in _others(_at(document, path), values, extra_names):
            yield _with(document, path, part)


def _others(part: JsonValue, values: list[JsonValue], names: tuple[str, ...]) -> Iterator[JsonValue]:
    yield from (*values, *_PLAIN)
    few = (0, "a", None, *values[:8])
    match part:
        case dict():
            yield from ({n: v for n, v in part.items() if n != name} for name in part)
            yield from (part | {name: value} for name in names if name not in part for value in few)
        case list():
            for index in range(min(len(part), 16)):
                yield part[:index] + part[index + 1 :]
                yield [*part, part[index]]
            yield from ([*part, value] for value in few)
        case str():
            yield from (part + "a", part[:-1])
        case bool() | None:
            return
        case int() | Decimal():
            yield from (_sum(part, step) for step in (1, -1, Decimal("0.5"), Decimal("0.001")))


def names_in(terms: Terms) -> tuple[str, ...]:
    """The names that the terms speak of, and one that they do not."""
    names: dict[str, None] = {"extra": None}
    for number in range(len(terms)):
        term = terms[TermId(number)]
        names.update(dict.fromkeys(map(str, term.of("properties"))))
        required = term.assertions.get("required")
        names.update(dict.fromkeys(map(str, required)) if isinstance(required, list) else {})
    return tuple(names)[:MAX_HINTS]


def _sum(one: int | Decimal, two: int | Decimal) -> int | Decimal:
    total = Decimal(one) + Decimal(two)
    return int(total) if total == total.to_integral_value() else total


def _edges(term: Term) -> Iterator[JsonValue]:
    for keyword, value in term.assertions.items():
        match value:
            case list() if keyword == "enum":
                yield from value[:16]
            case _ if keyword == "const":
                yield value
            case bool():
                pass
            case int() | Decimal() if keyword.endswith(("inimum", "aximum")) or keyword == "multipleOf":
                yield from (value, _sum(value, 1), _sum(value, -1), _sum(value, Decimal("0.5")))
            case int() if keyword.endswith("Length") and value <= _MAX_HINT_LENGTH:
                yield from ("a" * length for length in (value - 1, value, value + 1) if length >= 0)
            case int() if keyword.endswith("Items") and value <= _MAX_HINT_LENGTH:
                items: list[JsonValue] = list(range(value + 1))
                yield from (items[: value - 1] if value else [], items[:value], items)
            case str() if keyword == "format":
                yield from format_samples(value)[:6]


def _paths(value: JsonValue, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """All places, the deepest first: there a change disturbs least."""
    if isinstance(value, dict):
        for name, member in value.items():
            yield from _paths(member, (*path, name))
    elif isinstance(value, list):
        for index, item in enumerate(value[:16]):
            yield from _paths(item, (*path, index))
    yield path


def _at(value: JsonValue, path: tuple[str | int, ...]) -> JsonValue:
    for token in path:
        if isinstance(value, dict):
            value = value[str(token)]
        elif isinstance(value, list):
            value = value[int(token)]
    return value


def _with(value: JsonValue, path: tuple[str | int, ...], part: JsonValue) -> JsonValue:
    if not path:
        return part
    token, rest = path[0], path[1:]
    if isinstance(value, dict):
        return value | {str(token): _with(value[str(token)], rest, part)}
    assert isinstance(value, list)
    index = int(token)
    return [*value[:index], _with(value[index], rest, part), *value[index + 1 :]]
