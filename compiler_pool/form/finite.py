"""The values of a goal one by one, where they are few: constants, booleans, null, integers between two bounds."""

from collections.abc import Iterable, Iterator
from decimal import Decimal
from fractions import Fraction
from math import ceil, floor, lcm
from typing import Final

from compiler_pool.form.making import Goal, Making
from registry.algebra.formulas import (
    FALSE,
    AtLeast,
    AtMost,
    Formula,
    ItemsAtMost,
    MembersAtMost,
    Multiple,
    OneOf,
    ShorterOrEqual,
)
from registry.algebra.keyword_formulas import JsonType
from registry.algebra.truth import all_of
from registry.contract import JsonValue
from registry.parsing import parse_json
from registry.text import value_text

_ALONE: Final[dict[JsonType, tuple[JsonValue, ...]]] = {
    JsonType.NULL: (None,),
    JsonType.BOOLEAN: (False, True),
}


def finite_values(goal: Goal, making: Making, at_most: int) -> list[JsonValue] | None:
    """All values that satisfy the goal, each once; `None` where they are more than `at_most`, or cannot be listed.

    Exact: no value is missing and none is too many. Arrays and objects are listed only from constants, and where they
    have to be empty; so are strings. Raises `ExpansionSpentError`.
    """
    found: dict[str, JsonValue] = {}
    for json_type in JsonType:
        flat = making.flat(goal, json_type)
        for atoms in () if flat == FALSE else making.cases(flat):
            values = _values(json_type, atoms, making, at_most)
            if values is None:
                return [] if making.is_empty(goal) else None
            found.update((value_text(value), value) for value in values)
            if len(found) > at_most:
                return None
    return list(found.values())


def _values(json_type: JsonType, atoms: tuple[Formula, ...], making: Making, at_most: int) -> list[JsonValue] | None:
    candidates = _candidates(json_type, atoms, at_most)
    if candidates is None:
        return None
    kept: list[JsonValue] = []
    for value in candidates:
        making.spending.step(1 + len(atoms))
        held = all_of(making.solver.truth.of(atom, value) for atom in atoms)
        if held is None:
            return None
        if held:
            kept.append(value)
            if len(kept) > at_most:
                return None
    return kept


def _candidates(json_type: JsonType, atoms: tuple[Formula, ...], at_most: int) -> Iterable[JsonValue] | None:
    """Values among which are all for which the atoms hold."""
    listed = [atom.texts for atom in atoms if isinstance(atom, OneOf) and atom.positive]
    if listed:
        return (parse_json(text, max_bytes=1 << 26, max_nesting=512) for text in min(listed, key=len))
    match json_type:
        case JsonType.NULL | JsonType.BOOLEAN:
            return _ALONE[json_type]
        case JsonType.NUMBER:
            return _numbers(atoms, at_most)
        case JsonType.STRING:
            return [""] if ShorterOrEqual(length=0) in atoms else None
        case JsonType.ARRAY:
            return [[]] if ItemsAtMost(count=0) in atoms else None
        case JsonType.OBJECT:
            return [{}] if MembersAtMost(count=0) in atoms else None


def _numbers(atoms: tuple[Formula, ...], at_most: int) -> Iterator[JsonValue] | None:
    """The multiples of all steps between the bounds."""
    low = max((atom.bound for atom in atoms if isinstance(atom, AtLeast)), default=None)
    high = min((atom.bound for atom in atoms if isinstance(atom, AtMost)), default=None)
    if low is None or high is None:
        return None
    if low >= high:
        return iter([_number(low)] if low == high else [])
    steps = [atom.step for atom in atoms if isinstance(atom, Multiple) and atom.positive]
    if not steps:
        return None
    denominator = lcm(*(step.denominator for step in steps))
    step = Fraction(lcm(*(int(step * denominator) for step in steps)), denominator)
    first, last = ceil(low / step), floor(high / step)
    # What is excluded from them is little: a constant or two for each atom.
    excluded = sum(len(atom.texts) for atom in atoms if isinstance(atom, OneOf))
    if last - first >= 2 * (at_most + excluded) + 2:
        return None
    return (_number(count * step) for count in range(first, last + 1))


def _number(value: Fraction) -> JsonValue:
    """The value as a number of JSON: its denominator has no other prime factors than 2 and 5."""
    if value.denominator == 1:
        return value.numerator
    digits = 0
    while (value * 10**digits).denominator != 1:
        digits += 1
    return Decimal((value * 10**digits).numerator).scaleb(-digits)
