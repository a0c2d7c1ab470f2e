"""`unevaluatedProperties` and `unevaluatedItems`: which subschemas hold decides what they speak of.

So the values are split by which of the conditional subschemas hold (core 11.2 and 11.3): in each case it is settled
which names, patterns and positions have been looked at, and the keyword is an ordinary one.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import product
from typing import Final

from registry.algebra.formulas import (
    TRUE,
    All,
    Cases,
    EachItem,
    EachMember,
    Formula,
    Has,
    Others,
    Unsettled,
    Wants,
)
from registry.algebra.terms import Term, TermId, Terms

MAX_CONDITIONS: Final = 6
"""Conditional subschemas of one keyword: twice the cases for each."""


@dataclass(slots=True, kw_only=True)
class _Looked:
    """What has been looked at in one case."""

    names: set[str] = field(default_factory=set)
    patterns: set[str] = field(default_factory=set)
    num_items: int = 0
    found: list[TermId] = field(default_factory=list)
    """`contains` looks at the items that it finds."""
    everything: bool = False


_MEMBERS: Final = "unevaluatedProperties"
_IN_PLACE: Final = ("allOf", "anyOf", "oneOf", "if", "then", "else", "dependentSchemas")
_LOOKING: Final = {
    _MEMBERS: frozenset({"properties", "patternProperties", "additionalProperties", "unevaluatedProperties"}),
    "unevaluatedItems": frozenset({"prefixItems", "items", "contains", "unevaluatedItems"}),
}


def unevaluated_formula(terms: Terms, number: TermId, keyword: str, *, max_conditions: int = MAX_CONDITIONS) -> Formula:
    """The formula of an `unevaluated…` keyword: its cases, or one that is left unsettled."""
    conditions = _conditions(terms, number, keyword)
    if len(conditions) > max_conditions:
        return Unsettled(term=number, keyword=keyword, positive=True)
    cases: list[tuple[Formula, Formula]] = []
    for truths in product((True, False), repeat=len(conditions)):
        verdicts = dict(zip(conditions, truths, strict=True))
        guard = All(parts=tuple(_guard(condition, holds=holds) for condition, holds in verdicts.items()))
        cases.append((guard, settled(terms, number, keyword, verdicts.__getitem__)))
    return Cases(cases=tuple(cases))


def settled(terms: Terms, number: TermId, keyword: str, holds: Callable[[Formula], bool]) -> Formula:
    """What the keyword says of a value for which it is known which conditions hold."""
    wanted = terms[number].child(keyword)
    assert wanted is not None
    looked = _Looked()
    _look(terms, number, holds, looked, keyword, is_outermost=True)
    if looked.everything:
        return TRUE
    if keyword == _MEMBERS:
        scope = Others(names=frozenset(looked.names), patterns=frozenset(looked.patterns))
        return EachMember(scope=scope, wanted=Wants(term=wanted, positive=True))
    target = terms.any_of([*looked.found, wanted]) if looked.found else wanted
    return EachItem(start=looked.num_items, stop=None, wanted=Wants(term=target, positive=True))


def _guard(condition: Formula, *, holds: bool) -> Formula:
    match condition:
        case Wants(term=term):
            return Wants(term=term, positive=holds)
        case Has(name=name):
            return Has(name=name, positive=holds)
        case _:
            raise AssertionError(condition)


def _conditions(terms: Terms, number: TermId, keyword: str) -> list[Formula]:
    """The subschemas and names that decide. Cycles in place are refused by the registry, so this ends."""
    found: dict[Formula, None] = {}
    can_look = _Lookers(terms, keyword)
    pending = [number]
    seen: set[TermId] = set()
    while pending:
        term = terms[pending.pop()]
        found.update(dict.fromkeys(Wants(term=target, positive=True) for target in can_look.deciding(term)))
        beneath = [t for one in ("allOf", "anyOf", "oneOf", "if", "then", "else") for t in term.of(one).values()]
        brought = term.of("dependentSchemas") if keyword == _MEMBERS else {}
        found.update(dict.fromkeys(Has(name=str(n), positive=True) for n, t in brought.items() if can_look.of(t)))
        for target in (*beneath, *brought.values()):
            if target not in seen:
                seen.add(target)
                pending.append(target)
    return list(found)


class _Lookers:
    """Which subschemas can look at a member or an item at all; of the others it does not matter whether they hold."""

    def __init__(self, terms: Terms, keyword: str) -> None:
        self._terms = terms
        self._looking = _LOOKING[keyword]
        self._known: dict[TermId, bool] = {}

    def of(self, number: TermId) -> bool:
        """Whether the term, or one that applies in its place, has a keyword that looks."""
        if number not in self._known:
            term = self._terms[number]
            self._known[number] = not self._looking.isdisjoint(term.children) or any(
                self.of(target) for applicator in _IN_PLACE for target in term.of(applicator).values()
            )
        return self._known[number]

    def deciding(self, term: Term) -> list[TermId]:
        """The conditional subschemas of a term whose verdict matters."""
        found = [t for applicator in ("anyOf", "oneOf") for t in term.of(applicator).values() if self.of(t)]
        condition = term.child("if")
        branches = [t for applicator in ("if", "then", "else") for t in term.of(applicator).values()]
        return [*found, condition] if condition is not None and any(map(self.of, branches)) else found


def _look(
    terms: Terms,
    number: TermId,
    holds: Callable[[Formula], bool],
    looked: _Looked,
    keyword: str,
    *,
    is_outermost: bool,
) -> None:
    term = terms[number]
    if not is_outermost and keyword in term.children:
        looked.everything = True
    local = _look_at_members if keyword == _MEMBERS else _look_at_items
    local(term, looked)
    can_look = _Lookers(terms, keyword)

    def go(target: TermId) -> None:
        if can_look.of(target):
            _look(terms, target, holds, looked, keyword, is_outermost=False)

    for target in term.of("allOf").values():
        go(target)
    for target in can_look.deciding(term):
        is_condition = target == term.child("if")
        if holds(Wants(term=target, positive=True)):
            go(target)
            branch = term.child("then")
        else:
            branch = term.child("else")
        if is_condition and branch is not None:
            go(branch)
    brought = term.of("dependentSchemas") if keyword == _MEMBERS else {}
    for name, target in brought.items():
        if can_look.of(target) and holds(Has(name=str(name), positive=True)):
            go(target)


def _look_at_members(term: Term, looked: _Looked) -> None:
    looked.names |= set(map(str, term.of("properties")))
    looked.patterns |= set(map(str, term.of("patternProperties")))
    looked.everything |= "additionalProperties" in term.children


def _look_at_items(term: Term, looked: _Looked) -> None:
    looked.num_items = max(looked.num_items, len(term.of("prefixItems")))
    looked.everything |= "items" in term.children
    found = term.child("contains")
    if found is not None:
        looked.found.append(found)
