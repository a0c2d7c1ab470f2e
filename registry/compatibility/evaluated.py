"""`unevaluatedProperties` and `unevaluatedItems`: which subschemas hold decides what they speak of.

So the values are split by which of the conditional subschemas hold (core 11.2 and 11.3): in each case it is settled
which names, patterns and positions have been looked at, and the keyword is an ordinary one.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import product
from typing import Final

from registry.compatibility.formulas import (
    TRUE,
    All,
    Cases,
    EachItem,
    EachMember,
    Formula,
    Has,
    Others,
    Wants,
)
from registry.compatibility.terms import Term, TermId, Terms

MAX_CONDITIONS: Final = 6
"""Conditional subschemas of one keyword: twice the cases for each."""


class TooManyConditionsError(Exception):
    """More than `MAX_CONDITIONS` subschemas decide what an `unevaluated…` speaks of."""


@dataclass(slots=True, kw_only=True)
class _Looked:
    """What has been looked at in one case."""

    names: set[str] = field(default_factory=set)
    patterns: set[str] = field(default_factory=set)
    num_items: int = 0
    found: list[TermId] = field(default_factory=list)
    """`contains` looks at the items that it finds."""
    everything: bool = False


_Local = Callable[[Term, _Looked], None]


def member_cases(terms: Terms, number: TermId) -> Formula:
    """The formula of `unevaluatedProperties`. Raises `TooManyConditionsError`."""
    wanted = terms[number].child("unevaluatedProperties")
    assert wanted is not None

    def body(looked: _Looked) -> Formula:
        if looked.everything:
            return TRUE
        scope = Others(names=frozenset(looked.names), patterns=frozenset(looked.patterns))
        return EachMember(scope=scope, wanted=Wants(term=wanted, positive=True))

    return _cases(terms, number, _look_at_members, body)


def item_cases(terms: Terms, number: TermId) -> Formula:
    """The formula of `unevaluatedItems`. Raises `TooManyConditionsError`."""
    wanted = terms[number].child("unevaluatedItems")
    assert wanted is not None

    def body(looked: _Looked) -> Formula:
        if looked.everything:
            return TRUE
        target = terms.any_of([*looked.found, wanted]) if looked.found else wanted
        return EachItem(start=looked.num_items, stop=None, wanted=Wants(term=target, positive=True))

    return _cases(terms, number, _look_at_items, body)


def _cases(terms: Terms, number: TermId, local: _Local, body: Callable[[_Looked], Formula]) -> Formula:
    conditions: dict[Formula, None] = {}
    _collect_conditions(terms, number, local, conditions)
    if len(conditions) > MAX_CONDITIONS:
        raise TooManyConditionsError
    cases: list[tuple[Formula, Formula]] = []
    for truths in product((True, False), repeat=len(conditions)):
        verdicts = dict(zip(conditions, truths, strict=True))
        looked = _Looked()
        _look(terms, number, verdicts, looked, local, is_outermost=True)
        guard = All(parts=tuple(_guard(condition, holds=holds) for condition, holds in verdicts.items()))
        cases.append((guard, body(looked)))
    return Cases(cases=tuple(cases))


def _guard(condition: Formula, *, holds: bool) -> Formula:
    match condition:
        case Wants(term=term):
            return Wants(term=term, positive=holds)
        case Has(name=name):
            return Has(name=name, positive=holds)
        case _:
            raise AssertionError(condition)


def _collect_conditions(terms: Terms, number: TermId, local: _Local, conditions: dict[Formula, None]) -> None:
    """Cycles in place are refused by the registry, so this ends."""
    term = terms[number]
    for keyword in ("anyOf", "oneOf", "if"):
        for target in term.of(keyword).values():
            conditions[Wants(term=target, positive=True)] = None
    brought = term.of("dependentSchemas") if local is _look_at_members else {}
    for name in brought:
        conditions[Has(name=str(name), positive=True)] = None
    if len(conditions) > MAX_CONDITIONS:
        raise TooManyConditionsError
    for keyword in ("allOf", "anyOf", "oneOf", "if", "then", "else"):
        for target in term.of(keyword).values():
            _collect_conditions(terms, target, local, conditions)
    for target in brought.values():
        _collect_conditions(terms, target, local, conditions)


def _look(
    terms: Terms, number: TermId, verdicts: dict[Formula, bool], looked: _Looked, local: _Local, *, is_outermost: bool
) -> None:
    term = terms[number]
    if not is_outermost and ("unevaluatedProperties" in term.children and local is _look_at_members):
        looked.everything = True
    if not is_outermost and ("unevaluatedItems" in term.children and local is _look_at_items):
        looked.everything = True
    local(term, looked)

    def go(target: TermId) -> None:
        _look(terms, target, verdicts, looked, local, is_outermost=False)

    for target in term.of("allOf").values():
        go(target)
    for keyword in ("anyOf", "oneOf", "if"):
        for target in term.of(keyword).values():
            if verdicts[Wants(term=target, positive=True)]:
                go(target)
    condition = term.child("if")
    if condition is not None:
        branch = term.child("then" if verdicts[Wants(term=condition, positive=True)] else "else")
        if branch is not None:
            go(branch)
    brought = term.of("dependentSchemas") if local is _look_at_members else {}
    for name, target in brought.items():
        if verdicts[Has(name=str(name), positive=True)]:
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
