"""Whether a formula holds for a value: yes, no, or not known (`None`) where only the judge could tell."""

from collections.abc import Callable, Iterable
from decimal import Decimal
from fractions import Fraction
from typing import Final, TypeAlias

from registry.algebra.evaluated import settled
from registry.algebra.formulas import (
    All,
    Any,
    AtLeast,
    AtMost,
    Atom,
    Cases,
    EachItem,
    EachMember,
    EachName,
    ExactlyOne,
    Formula,
    Has,
    InFormat,
    ItemsAtLeast,
    ItemsAtMost,
    LongerOrEqual,
    Matches,
    Matching,
    MembersAtLeast,
    MembersAtMost,
    Multiple,
    Named,
    OneOf,
    Others,
    Scope,
    ShorterOrEqual,
    SomeItem,
    SomeMember,
    SomeName,
    Unique,
    Unsettled,
    Wants,
)
from registry.algebra.keyword_formulas import KeywordFormulas, type_of
from registry.algebra.terms import TermId, Terms
from registry.contract import JsonValue
from registry.errors import UnsupportedPatternError
from registry.pattern_program import pattern_program
from registry.text import value_text

Ternary: TypeAlias = bool | None

_MAX_REMEMBERED: Final = 100_000

FormatOracle: TypeAlias = Callable[[str, str], Ternary]
"""Whether a string is in a format; `None` where that cannot be said."""


def format_not_known(_name: str, _text: str) -> Ternary:
    """The oracle of who cannot tell."""
    return None


def opposite(truth: Ternary) -> Ternary:
    """Not known stays not known."""
    return None if truth is None else not truth


def all_of(truths: Iterable[Ternary]) -> Ternary:
    """Whether all hold: false as soon as one does not."""
    result: Ternary = True
    for truth in truths:
        if truth is False:
            return False
        if truth is None:
            result = None
    return result


def any_of(truths: Iterable[Ternary]) -> Ternary:
    """Whether some hold."""
    return opposite(all_of(opposite(truth) for truth in truths))


def finds(pattern: str, text: str) -> Ternary:
    """Whether the pattern finds a match, by the program that the judge runs."""
    try:
        return pattern_program(pattern).search(text) is not None
    except UnsupportedPatternError:
        return None


class _NotKnownError(Exception):
    """Only the judge could tell."""


class Truth:
    """Evaluates formulas over the terms of one comparison."""

    def __init__(self, terms: Terms, formulas: KeywordFormulas, format_oracle: FormatOracle) -> None:
        self.num_asked = 0
        """How often a term was evaluated: what the evaluations cost."""
        self._terms = terms
        self._formulas = formulas
        self._format_oracle = format_oracle
        self._remembered: dict[tuple[TermId, int], tuple[JsonValue, Ternary]] = {}
        self._found: dict[tuple[str, str], Ternary] = {}

    def allows(self, term: TermId, value: JsonValue) -> Ternary:
        """Whether the term allows the value, which is never changed.

        Solvers share the parts of what they make: a part that a value holds a thousand times is evaluated once.
        """
        self.num_asked += 1
        if not isinstance(value, list | dict):
            return self.of(self._formulas.of(term, type_of(value)), value)
        key = (term, id(value))
        known = self._remembered.get(key)
        if known is None:
            truth = self.of(self._formulas.of(term, type_of(value)), value)
            if len(self._remembered) >= _MAX_REMEMBERED:
                self._remembered.clear()
            # The value is kept beside the answer, so that no other one takes its place in memory.
            known = self._remembered[key] = (value, truth)
        return known[1]

    def finds(self, pattern: str, name: str) -> Ternary:
        """Whether a pattern finds a match in a member's name: the same ones are asked of object after object."""
        key = (pattern, name)
        if key not in self._found:
            if len(self._found) >= _MAX_REMEMBERED:
                self._found.clear()
            self._found[key] = finds(pattern, name)
        return self._found[key]

    def in_scope(self, scope: Scope, name: str) -> Ternary:
        """Whether a member of that name is in the scope."""
        match scope:
            case Named():
                return scope.name == name
            case Matching():
                return self.finds(scope.pattern, name)
            case Others():
                if name in scope.names:
                    return False
                return all_of(opposite(self.finds(pattern, name)) for pattern in scope.patterns)

    def wanted(self, wanted: Wants, value: JsonValue) -> Ternary:
        """Whether the value is as it is wanted."""
        allowed = self.allows(wanted.term, value)
        return allowed if wanted.positive else opposite(allowed)

    def of(self, formula: Formula, value: JsonValue) -> Ternary:
        """Whether the formula, made for the value's type, holds for it."""
        match formula:
            case Wants():
                return self.wanted(formula, value)
            case All(parts=parts):
                return all_of(self.of(part, value) for part in parts)
            case Any(parts=parts):
                return any_of(self.of(part, value) for part in parts)
            case Cases(cases=cases):
                return any_of(self.of(All(parts=case), value) for case in cases)
            case ExactlyOne(terms=terms, positive=positive):
                each = [self.allows(term, value) for term in terms]
                num_sure = sum(truth is True for truth in each)
                if num_sure > 1:
                    return not positive
                return None if None in each else (num_sure == 1) == positive
            case Unsettled(term=term, keyword=keyword, positive=positive):
                held = self._unevaluated(term, keyword, value)
                return held if positive else opposite(held)
            case OneOf(texts=texts, positive=positive):
                return (value_text(value) in texts) == positive
            case _:
                return self._atom(formula, value)

    def _unevaluated(self, term: TermId, keyword: str, value: JsonValue) -> Ternary:
        """An `unevaluated…` keyword on one value: for that it is settled which conditions hold."""
        try:
            return self.of(settled(self._terms, term, keyword, lambda condition: self._known(condition, value)), value)
        except _NotKnownError:
            return None

    def _known(self, condition: Formula, value: JsonValue) -> bool:
        held = self.of(condition, value)
        if held is None:
            raise _NotKnownError
        return held

    def _atom(self, atom: Atom, value: JsonValue) -> Ternary:
        match value:
            case str():
                return self._string(atom, value)
            case list():
                return self._array(atom, value)
            case dict():
                return self._object(atom, value)
            case int() | Decimal():
                return _number(atom, Fraction(value))
            case _:
                raise AssertionError(atom)

    def _string(self, atom: Atom, value: str) -> Ternary:
        match atom:
            case LongerOrEqual(length=length):
                return len(value) >= length
            case ShorterOrEqual(length=length):
                return len(value) <= length
            case Matches(pattern=pattern, positive=positive):
                found = finds(pattern, value)
                return found if positive else opposite(found)
            case InFormat(name=name, positive=positive):
                held = self._format_oracle(name, value)
                return held if positive else opposite(held)
            case _:
                raise AssertionError(atom)

    def _array(self, atom: Atom, value: list[JsonValue]) -> Ternary:
        match atom:
            case EachItem(start=start, stop=stop, wanted=wanted):
                return all_of(self.wanted(wanted, item) for item in value[start:stop])
            case SomeItem(start=start, stop=stop, wanted=wanted):
                return any_of(self.wanted(wanted, item) for item in value[start:stop])
            case ItemsAtLeast(count=count, term=None):
                return len(value) >= count
            case ItemsAtMost(count=count, term=None):
                return len(value) <= count
            case ItemsAtLeast(count=count, term=int() as term) | ItemsAtMost(count=count, term=int() as term):
                held = [self.allows(term, item) for item in value]
                least, most = sum(truth is True for truth in held), sum(truth is not False for truth in held)
                if isinstance(atom, ItemsAtLeast):
                    return True if least >= count else (False if most < count else None)
                return True if most <= count else (False if least > count else None)
            case Unique(positive=positive):
                return (len({value_text(item) for item in value}) == len(value)) == positive
            case _:
                raise AssertionError(atom)

    def _object(self, atom: Atom, value: dict[str, JsonValue]) -> Ternary:
        match atom:
            case Has(name=name, positive=positive):
                return (name in value) == positive
            case MembersAtLeast(count=count):
                return len(value) >= count
            case MembersAtMost(count=count):
                return len(value) <= count
            case EachMember(scope=scope, wanted=wanted):
                return all_of(
                    any_of((opposite(self.in_scope(scope, name)), self.wanted(wanted, member)))
                    for name, member in value.items()
                )
            case SomeMember(scope=scope, wanted=wanted):
                return any_of(
                    all_of((self.in_scope(scope, name), self.wanted(wanted, member))) for name, member in value.items()
                )
            case EachName(wanted=wanted):
                return all_of(self.wanted(wanted, name) for name in value)
            case SomeName(wanted=wanted):
                return any_of(self.wanted(wanted, name) for name in value)
            case _:
                raise AssertionError(atom)


def _number(atom: Atom, value: Fraction) -> bool:
    match atom:
        case AtLeast(bound=bound, is_open=is_open):
            return value > bound or (value == bound and not is_open)
        case AtMost(bound=bound, is_open=is_open):
            return value < bound or (value == bound and not is_open)
        case Multiple(step=step, positive=positive):
            return ((value if step == 1 else value / step).denominator == 1) == positive
        case _:
            raise AssertionError(atom)
