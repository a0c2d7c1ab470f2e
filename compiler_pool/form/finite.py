"""The values of a goal one by one, where they are few: constants, booleans, null, some numbers, strings and arrays."""

from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import islice, product
from math import prod
from typing import Final

from compiler_pool.form.array_cases import ArrayCase, array_case
from compiler_pool.form.cases import listed_values
from compiler_pool.form.languages import NO_STRING, Among
from compiler_pool.form.making import Goal, Making
from compiler_pool.form.number_sets import NumberRange, members, num_members
from compiler_pool.form.number_texts import decimal_of
from compiler_pool.form.numbers import number_set
from compiler_pool.form.strings import pattern_language, string_language
from registry.algebra.formulas import (
    FALSE,
    All,
    Any,
    Formula,
    InFormat,
    Matches,
    MembersAtMost,
    Unsettled,
)
from registry.algebra.keyword_formulas import JsonType
from registry.contract import JsonValue
from registry.errors import UnsupportedPatternError
from registry.parsing import parse_json
from registry.text import value_text

_LIKELY_ENDLESS_FIRST = (
    JsonType.STRING, JsonType.NUMBER, JsonType.OBJECT, JsonType.ARRAY, JsonType.BOOLEAN, JsonType.NULL,
)  # fmt: skip


MAX_CANDIDATES: Final = 4
"""For each value that is asked for, so many are tried."""
MAX_PLACES: Final = 8
"""Of arrays that are listed."""
MAX_DEPTH: Final = 3
"""Of arrays within each other that are listed: a recursive one has no end."""


def finite_values(goal: Goal, making: Making, at_most: int, *, depth: int = 0) -> list[JsonValue] | None:
    """All values that satisfy the goal, each once; `None` where they are more than `at_most`, or cannot be listed.

    Exact: no value is missing and none is too many. Objects are listed only from constants, and where they have to be
    empty. Raises `ExpansionSpentError`.
    """
    found: dict[str, JsonValue] = {}
    for json_type in _LIKELY_ENDLESS_FIRST:
        flat = making.flat(goal, json_type)
        if flat == FALSE:
            continue
        candidates = _candidates(json_type, flat, making, at_most, depth)
        if candidates is None:
            return [] if making.is_empty(goal) else None
        for value in candidates:
            making.spending.step()
            held = making.solver.truth.of(flat, value)
            if held is None:
                return None
            if held:
                found[value_text(value)] = value
        if len(found) > at_most:
            return None
    return list(found.values())


def _candidates(
    json_type: JsonType, flat: Formula, making: Making, at_most: int, depth: int
) -> Iterable[JsonValue] | None:
    """Values among which are all for which the formula holds; `None` where they are not known to be few."""
    match json_type:
        case JsonType.NULL:
            return [None]
        case JsonType.BOOLEAN:
            return [False, True]
        case JsonType.NUMBER:
            return _numbers(flat, making, at_most)
        case JsonType.STRING:
            return _strings(flat, making)
        case JsonType.ARRAY | JsonType.OBJECT:
            texts, others = listed_values(flat, making.spending)
            values: list[JsonValue] = [parse_json(text, max_bytes=1 << 26, max_nesting=512) for text in texts]
            if others == FALSE:
                return values
            more = _arrays(others, making, at_most, depth) if json_type is JsonType.ARRAY else _empty_object(others)
            return None if more is None else [*values, *more]


def _empty_object(flat: Formula) -> Iterable[JsonValue] | None:
    parts = flat.parts if isinstance(flat, All) else (flat,)
    return [{}] if MembersAtMost(count=0) in parts else None


def _arrays(flat: Formula, making: Making, at_most: int, depth: int) -> Iterable[JsonValue] | None:
    """The arrays of few places that take few values each."""
    if depth >= MAX_DEPTH or any(isinstance(atom, Unsettled) for atom in _atoms(flat)):
        return None
    arrays: list[JsonValue] = []
    for atoms in making.cases(flat):
        case = array_case(atoms, making)
        if case is None:
            continue
        places = _places(case, making, at_most, depth)
        if places is None:
            return None
        for length in range(case.at_least, len(places) + 1):
            if len(arrays) + prod(map(len, places[:length])) > MAX_CANDIDATES * at_most:
                return None
            arrays += map(list, product(*places[:length]))
    return arrays


def _places(case: ArrayCase, making: Making, at_most: int, depth: int) -> list[list[JsonValue]] | None:
    """By place, the values that it takes, up to the last place that takes any."""
    places: list[list[JsonValue]] = []
    while case.at_most is None or len(places) < case.at_most:
        values = finite_values(case.demand(len(places)), making, at_most, depth=depth + 1)
        if values is None or len(places) == MAX_PLACES:
            return None
        if not values:
            break
        places.append(values)
    return places


def _strings(flat: Formula, making: Making) -> Iterable[JsonValue] | None:
    if not all(map(_is_plain, _atoms(flat))):
        return None
    language = string_language(flat, making)
    if language == NO_STRING:
        return []
    return language.texts if isinstance(language, Among) else None


def _is_plain(atom: Formula) -> bool:
    """Whether it is exactly known which strings the atom is for."""
    match atom:
        case InFormat():
            return False
        case Matches(pattern=pattern):
            try:
                pattern_language(pattern)
            except UnsupportedPatternError:
                return False
            return True
        case _:
            return True


def _atoms(flat: Formula) -> Iterator[Formula]:
    match flat:
        case All(parts=parts) | Any(parts=parts):
            for part in parts:
                yield from _atoms(part)
        case _:
            yield flat


def _numbers(flat: Formula, making: Making, at_most: int) -> Iterable[JsonValue] | None:
    charge = making.spending.step
    values: list[JsonValue] = []
    for part in number_set(flat, charge).parts:
        if num_members(part, charge, at_most=at_most) is None:
            return None
        values += [decimal_of(value) for value in islice(_members(part, making), at_most + 1)]
        if len(values) > at_most:
            return None
    return values


def _members(part: NumberRange, making: Making) -> Iterator[Fraction]:
    return iter([part.point]) if part.point is not None else members(part, making.spending.step)
