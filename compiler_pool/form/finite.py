"""The values of a goal one by one, where they are few: constants, booleans, null, some numbers and strings."""

from collections.abc import Iterable, Iterator
from decimal import Decimal
from fractions import Fraction
from itertools import islice

from compiler_pool.form.cases import listed_values
from compiler_pool.form.languages import NO_STRING, Among
from compiler_pool.form.making import Goal, Making
from compiler_pool.form.number_sets import NumberRange, members, num_members
from compiler_pool.form.numbers import number_set
from compiler_pool.form.strings import pattern_language, string_language
from registry.algebra.formulas import (
    FALSE,
    All,
    Any,
    Formula,
    InFormat,
    ItemsAtMost,
    Matches,
    MembersAtMost,
)
from registry.algebra.keyword_formulas import JsonType
from registry.contract import JsonValue
from registry.errors import UnsupportedPatternError
from registry.parsing import parse_json
from registry.text import value_text

_LIKELY_ENDLESS_FIRST = (
    JsonType.STRING, JsonType.NUMBER, JsonType.OBJECT, JsonType.ARRAY, JsonType.BOOLEAN, JsonType.NULL,
)  # fmt: skip


def finite_values(goal: Goal, making: Making, at_most: int) -> list[JsonValue] | None:
    """All values that satisfy the goal, each once; `None` where they are more than `at_most`, or cannot be listed.

    Exact: no value is missing and none is too many. Arrays and objects are listed only from constants, and where they
    have to be empty. Raises `ExpansionSpentError`.
    """
    found: dict[str, JsonValue] = {}
    for json_type in _LIKELY_ENDLESS_FIRST:
        flat = making.flat(goal, json_type)
        if flat == FALSE:
            continue
        candidates = _candidates(json_type, flat, making, at_most)
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


def _candidates(json_type: JsonType, flat: Formula, making: Making, at_most: int) -> Iterable[JsonValue] | None:
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
            return _composed(json_type, flat, making)


def _composed(json_type: JsonType, flat: Formula, making: Making) -> Iterable[JsonValue] | None:
    texts, others = listed_values(flat, making.spending)
    values: list[JsonValue] = [parse_json(text, max_bytes=1 << 26, max_nesting=512) for text in texts]
    if others == FALSE:
        return values
    parts = others.parts if isinstance(others, All) else (others,)
    if json_type is JsonType.ARRAY:
        return [*values, []] if ItemsAtMost(count=0) in parts else None
    return [*values, {}] if MembersAtMost(count=0) in parts else None


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
        values += [_number(value) for value in islice(_members(part, making), at_most + 1)]
        if len(values) > at_most:
            return None
    return values


def _members(part: NumberRange, making: Making) -> Iterator[Fraction]:
    return iter([part.point]) if part.point is not None else members(part, making.spending.step)


def _number(value: Fraction) -> JsonValue:
    """The value as a number of JSON: its denominator has no other prime factors than 2 and 5."""
    if value.denominator == 1:
        return value.numerator
    digits = 0
    while (value * 10**digits).denominator != 1:
        digits += 1
    return Decimal((value * 10**digits).numerator).scaleb(-digits)
