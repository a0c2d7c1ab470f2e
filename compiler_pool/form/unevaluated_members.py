"""`unevaluatedProperties` member by member, where too many subschemas decide what it speaks of to tell all cases.

Of one name it is plain which subschemas look at it, and when they do: so either one of them holds, or the member is as
the keyword wants it. That is one clause for each name, however many subschemas there are (core 11.3).
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations
from typing import Final, TypeAlias

from compiler_pool.form.making import Making
from registry.algebra.formulas import (
    TRUE,
    All,
    Any,
    EachMember,
    Formula,
    Has,
    Named,
    Others,
    Scope,
    Wants,
)
from registry.algebra.terms import Term, TermId
from registry.algebra.truth import finds

MAX_CONDITIONAL_PATTERNS: Final = 5
"""Patterns that are looked at in some cases only: names may match any of them, so there is a clause for each set."""
_KEYWORD: Final = "unevaluatedProperties"

_Way: TypeAlias = tuple[Formula, ...]
"""What must hold for a subschema to apply."""


@dataclass(slots=True, kw_only=True)
class _Looked:
    """When each name, each pattern and every member is looked at: in one of the ways that are listed."""

    names: dict[str, list[_Way]] = field(default_factory=dict)
    patterns: dict[str, list[_Way]] = field(default_factory=dict)
    everything: list[_Way] = field(default_factory=list)


def unevaluated_members(number: TermId, making: Making) -> Formula | None:
    """What the keyword of a term says of an object; `None` if that would take too many clauses.

    Raises `ExpansionSpentError`.
    """
    wanted = making.solver.terms[number].child(_KEYWORD)
    assert wanted is not None
    looked = _looked(number, making)
    if () in looked.everything:
        return TRUE
    always = frozenset(pattern for pattern, ways in looked.patterns.items() if () in ways)
    conditional = [pattern for pattern in looked.patterns if pattern not in always]
    if len(conditional) > MAX_CONDITIONAL_PATTERNS or any(finds(pattern, "") is None for pattern in looked.patterns):
        return None
    wish = Wants(term=wanted, positive=True)
    clauses = [_clause(Named(name=name), wish, _ways_of(name, looked)) for name in looked.names]
    for size in range(len(conditional) + 1):
        for chosen in combinations(conditional, size):
            # Names that match at most the chosen patterns: one of these must be looked at, or there is nothing to tell.
            others = Others(names=frozenset(looked.names), patterns=always | (set(conditional) - set(chosen)))
            ways = [way for pattern in chosen for way in looked.patterns[pattern]]
            clauses.append(_clause(others, wish, [*ways, *looked.everything]))
    return All(parts=tuple(clauses))


def _clause(scope: Scope, wish: Wants, ways: list[_Way]) -> Formula:
    """Members in the scope are as they are wanted, or one of the ways looks at them."""
    if () in ways:
        return TRUE
    return Any(parts=(EachMember(scope=scope, wanted=wish), *(All(parts=way) for way in ways)))


def _ways_of(name: str, looked: _Looked) -> list[_Way]:
    by_pattern = (way for pattern, ways in looked.patterns.items() if finds(pattern, name) for way in ways)
    return [*looked.names[name], *by_pattern, *looked.everything]


def _looked(number: TermId, making: Making) -> _Looked:
    looked = _Looked()
    pending: list[tuple[TermId, _Way]] = [(number, ())]
    seen: set[tuple[TermId, _Way]] = set()
    while pending:
        term_id, way = pending.pop()
        if (term_id, way) in seen:
            continue
        seen.add((term_id, way))
        making.spending.step(1 + len(way))
        term = making.solver.terms[term_id]
        for name in term.of("properties"):
            looked.names.setdefault(str(name), []).append(way)
        for pattern in term.of("patternProperties"):
            looked.patterns.setdefault(str(pattern), []).append(way)
        if "additionalProperties" in term.children or (_KEYWORD in term.children and term_id != number):
            looked.everything.append(way)
        pending.extend((target, (*way, *more)) for target, more in _beneath(term))
    return looked


def _beneath(term: Term) -> Iterator[tuple[TermId, _Way]]:
    """The subschemas that apply in place, each with what must hold for that."""
    for target in term.of("allOf").values():
        yield target, ()
    for keyword in ("anyOf", "oneOf"):
        for target in term.of(keyword).values():
            yield target, (Wants(term=target, positive=True),)
    condition = term.child("if")
    if condition is not None:
        holds, fails = Wants(term=condition, positive=True), Wants(term=condition, positive=False)
        yield condition, (holds,)
        for keyword, guard in (("then", holds), ("else", fails)):
            branch = term.child(keyword)
            if branch is not None:
                yield branch, (guard,)
    for name, target in term.of("dependentSchemas").items():
        yield target, (Has(name=str(name), positive=True),)
