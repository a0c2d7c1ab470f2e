"""Sets of numbers written as Lark: regular expressions of decimal texts, exact for any number of digits.

One terminal wherever that can be, since terminals that overlap take texts from each other: the engine reads the longest
one and does not come back. Multiples of 7 and the like have no short expression and become rules.
"""

import json
from collections.abc import Iterable
from fractions import Fraction
from typing import Final

from compiler_pool.form.digit_automata import DigitAutomaton
from compiler_pool.form.number_caps import capped, spelling_of
from compiler_pool.form.number_sets import NumberRange, NumberSet
from compiler_pool.form.number_texts import is_readable, listed_text, number_text
from compiler_pool.form.step_expressions import step_expressions
from compiler_pool.form.steps import StepWay, signed_automata, step_way
from compiler_pool.lark.grammar import LarkRules
from compiler_pool.lark.number_ranges import range_expressions

_READABLE_EXPONENT: Final = "(?:[0-9]{1,2}|[12][0-9]{2})"
"""Up to 299: with any digits that a policy allows, a number that doubles can hold. Few readers take all of them."""
_PLAIN: Final = f"-?(?:0|[1-9][0-9]*)(?:\\.[0-9]+)?(?:[eE][+-]?{_READABLE_EXPONENT})?"

_MAX_EXACT_DIGITS: Final = 15
"""Digits of integers that are all exact for the engine."""


def number_body(
    values: NumberSet,
    rules: LarkRules,
    *,
    name: str,
    max_digits: int | None = None,
    has_idle_zeros: bool = False,
) -> str:
    """The terminal that stands for the set, or the rule: it is called `name` then, and others have names that begin so.

    Integers have no fraction, and only the set of all numbers has exponents. Where a side of a range has no bound,
    there are at most `max_digits` digits before the point, and everywhere at most so many after it; more where nothing
    were left otherwise. With `has_idle_zeros`, 12.5 may as well be written 12.50, and 12 as 12.0, unless only integers
    are wanted.
    """
    return _NumberWriting(rules, name, max_digits, has_idle_zeros=has_idle_zeros).body(values)


class _NumberWriting:
    def __init__(self, rules: LarkRules, name: str, max_digits: int | None, *, has_idle_zeros: bool) -> None:
        self._rules = rules
        self._name = name
        self._max_digits = max_digits
        self._has_idle_zeros = has_idle_zeros

    def body(self, values: NumberSet) -> str:
        match step_way(values, _uncharged):
            case StepWay.EXPRESSIONS:
                return self._rules.terminal(self._terminal(values))
            case StepWay.MULTIPLES:
                limit = None if self._max_digits is None else min(self._max_digits, _MAX_EXACT_DIGITS)
                return self._rules.rule(self._name, _multiples(capped(values.parts[0], limit)))
            case StepWay.AUTOMATON:
                return self._rules.rule(self._name, self._automata(values))
            case StepWay.NONE:
                raise AssertionError(values)

    def _terminal(self, values: NumberSet) -> str:
        """One terminal: what is only between bounds in one expression, what is thinned out beside it."""
        plain: list[str] = []
        thinned: list[str] = []
        for part in values.parts:
            if part.point is not None:
                plain.append(_escaped(listed_text(part.point)))
            elif part == NumberRange():
                plain.append(self._any_number())
            else:
                ended = capped(part, self._max_digits)
                spelling = spelling_of(ended, self._max_digits, has_idle_zeros=self._has_idle_zeros)
                expressions = range_expressions(ended, spelling)
                marks = self._marks(ended)
                if marks:
                    thinned.append(" & ".join((_regex(expressions), *marks)))
                else:
                    plain += expressions
        if not thinned:
            return _regex(plain)
        if not plain and len(thinned) == 1:
            return thinned[0]
        return " | ".join([*([_regex(plain)] if plain else []), *(f"({each})" for each in thinned)])

    def _any_number(self) -> str:
        if self._max_digits is None:
            return _PLAIN
        whole = f"(?:0|[1-9][0-9]{{0,{self._max_digits - 1}}})"
        return f"-?{whole}(?:\\.[0-9]{{1,{self._max_digits}}})?(?:[eE][+-]?{_READABLE_EXPONENT})?"

    def _marks(self, part: NumberRange) -> list[str]:
        """What else the text must match, or must not: terminals to intersect with."""
        marks = []
        if part.step is not None and part.step != 1:
            marks += _expressions(part.step)
        marks += [f"~({' & '.join(_expressions(step))})" for step in part.avoided_steps]
        if part.excluded:
            marks.append("~" + _regex(self._spelled(value) for value in part.excluded))
        return marks

    def _spelled(self, value: Fraction) -> str:
        """All texts of a number that a range may write."""
        text = _escaped(number_text(value))
        if not self._has_idle_zeros:
            return text
        return text + ("0*" if "." in text else "(?:\\.0+)?")

    def _automata(self, values: NumberSet) -> str:
        """The rules of an automaton for each sign, zero, and what is too long for a text without an exponent."""
        above, below = signed_automata(values, max_digits=self._max_digits, has_idle_zeros=self._has_idle_zeros)
        found = []
        if above.finals:
            found.append(self._states(f"{self._name}_p", above))
        if below.finals:
            found.append(f'"-" {self._states(f"{self._name}_n", below)}')
        if Fraction(0) in values:
            found.append('"0"')
        points = (part.point for part in values.parts if part.point is not None)
        found += [f'"{listed_text(point)}"' for point in points if not is_readable(point)]
        return " | ".join(found)

    def _states(self, prefix: str, automaton: DigitAutomaton) -> str:
        """One rule for each state, which reads one character and goes on; answers the first."""
        for state, moves in enumerate(automaton.moves):
            by_target: dict[int, list[str]] = {}
            for character, target in moves.items():
                by_target.setdefault(target, []).append(character)
            alternatives = [
                f"{_character(characters)} {self._rules.rule_name(f'{prefix}{target}')}"
                for target, characters in by_target.items()
            ]
            if state in automaton.finals:
                alternatives.append('""')
            self._rules.rule(f"{prefix}{state}", " | ".join(alternatives))
        return self._rules.rule_name(f"{prefix}0")


def _multiples(part: NumberRange) -> str:
    """The engine's own multiples, which are exact for integers up to 2^53."""
    schema: dict[str, object] = {"type": "integer", "multipleOf": int(part.step or 1)}
    if part.low is not None:
        schema["minimum"] = int(part.low)
    if part.high is not None:
        schema["maximum"] = int(part.high)
    return f"%json {json.dumps(schema)}"


def _expressions(step: Fraction) -> list[str]:
    expressions = step_expressions(step)
    assert expressions is not None, step
    return [_regex([f"-?(?:{expression})"]) for expression in expressions]


def _regex(alternatives: Iterable[str]) -> str:
    return f"/{'|'.join(alternatives)}/"


def _character(characters: list[str]) -> str:
    return f'"{characters[0]}"' if len(characters) == 1 else f"/[{''.join(sorted(characters))}]/"


def _escaped(text: str) -> str:
    return text.replace(".", "\\.")


def _uncharged(_count: int) -> None:
    """Work that was charged for when the set was made."""
