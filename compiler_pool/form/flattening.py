"""Formulas as `All` and `Any` over atoms alone: terms opened, `oneOf` and `if` written out, what is plain decided.

The result is monotone in its atoms: making one of them true never makes it false. What a grammar cannot say may
therefore be put down as true, and only ever widens it.
"""

from collections.abc import Collection, Iterable, Mapping
from itertools import combinations
from typing import Final

from compiler_pool.form.apartness import Apartness
from compiler_pool.form.spending import ExpansionSpending
from registry.algebra.exclusions import split_exclusions
from registry.algebra.formulas import (
    FALSE,
    TRUE,
    All,
    Any,
    AtLeast,
    AtMost,
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
    MembersAtLeast,
    MembersAtMost,
    Multiple,
    OneOf,
    ShorterOrEqual,
    SomeItem,
    SomeMember,
    SomeName,
    Unique,
    Unsettled,
    Wants,
    negated,
)
from registry.algebra.keyword_formulas import JsonType, KeywordFormulas
from registry.algebra.solver import Solver
from registry.algebra.terms import TermId

_OPPOSITES: Final[Mapping[type, type]] = {
    EachMember: SomeMember,
    EachItem: SomeItem,
    EachName: SomeName,
    AtLeast: AtMost,
    LongerOrEqual: ShorterOrEqual,
    ItemsAtLeast: ItemsAtMost,
    MembersAtLeast: MembersAtMost,
}
"""Kinds of atoms by which each atom of another kind is denied: one look from either side is enough."""
_OWN_OPPOSITES: Final = frozenset(
    {Wants, Multiple, Matches, InFormat, OneOf, Unique, Has, Unsettled, ExactlyOne, Cases}
)
"""Kinds that are denied by their own."""
_OPENED: Final = frozenset({Wants, All, Any, Cases, ExactlyOne, OneOf})
"""Kinds that are not flat as they are."""


def every(parts: Iterable[Formula]) -> Formula:
    """The conjunction of flat formulas, simplified."""
    kept: dict[Formula, None] = {}
    pending = list(parts)[::-1]
    while pending:
        part = pending.pop()
        if isinstance(part, All):
            pending.extend(reversed(part.parts))
        elif part == FALSE:
            return FALSE
        else:
            kept[part] = None
    if _clashes(kept):
        return FALSE
    return next(iter(kept)) if len(kept) == 1 else All(parts=tuple(kept))


def some(parts: Iterable[Formula]) -> Formula:
    """The disjunction of flat formulas, simplified."""
    kept: dict[Formula, None] = {}
    pending = list(parts)[::-1]
    while pending:
        part = pending.pop()
        if isinstance(part, Any):
            pending.extend(reversed(part.parts))
        elif part == TRUE:
            return TRUE
        else:
            kept[part] = None
    if _clashes(kept):
        return TRUE
    return next(iter(kept)) if len(kept) == 1 else Any(parts=tuple(kept))


def _clashes(parts: Collection[Formula]) -> bool:
    """Whether an atom and its opposite are both there."""
    if len(parts) < 2:
        return False
    kinds = set(map(type, parts))
    # The opposite of most atoms is of another kind: where none of that kind is there, none needs to be made.
    suspects = kinds & _OWN_OPPOSITES
    suspects.update(kind for kind, opposite in _OPPOSITES.items() if kind in kinds and opposite in kinds)
    if not suspects:
        return False
    return any(type(part) in suspects and negated(part) in parts for part in parts)


class Flattening:
    """Flat formulas over one set of terms. What a term opens to is kept where it does not depend on what is beside."""

    def __init__(self, solver: Solver, formulas: KeywordFormulas, spending: ExpansionSpending) -> None:
        self.formulas = formulas
        self.apartness = Apartness(solver)
        self.spending = spending
        self.unlike = solver.unlike
        self.known: dict[tuple[Wants, JsonType], Formula] = {}

    def flat(self, formulas: Iterable[Formula], json_type: JsonType) -> Formula:
        """The conjunction of the formulas for values of one type."""
        listed = tuple(formulas)
        return _Opening(self, [part for part in listed if isinstance(part, Wants)], json_type).all_of(listed)


class _Opening:
    """One conjunction being opened. Every value of it is as all of `wanted` wants it."""

    def __init__(self, shared: Flattening, wanted: Collection[Wants], json_type: JsonType) -> None:
        self._shared = shared
        self._wanted = wanted
        self._known_beside: frozenset[Wants] | None = None
        self._type = json_type
        self._local: dict[Wants, Formula] = {}
        self._depends = False
        """Whether what was opened since this was last cleared holds only beside the rest of the conjunction."""

    def all_of(self, formulas: Iterable[Formula]) -> Formula:
        """The conjunction; what comes after a part that never holds is not opened."""
        parts: list[Formula] = []
        num_flat = 0
        for formula in formulas:
            if type(formula) in _OPENED:
                part = self._open(formula)
            else:
                part = formula
                num_flat += 1
            if part == FALSE:
                return FALSE
            parts.append(part)
        self._shared.spending.step(num_flat)
        return parts[0] if len(parts) == 1 else every(parts)

    def _open(self, formula: Formula) -> Formula:
        self._shared.spending.step()
        match formula:
            case Wants():
                return self._term(formula)
            case All(parts=parts):
                return self.all_of(parts)
            case Any(parts=parts):
                return some(self._open(part) for part in parts)
            case Cases(cases=cases):
                return self._cases(cases)
            case ExactlyOne(terms=terms, positive=True):
                return self._exactly_one(terms)
            case ExactlyOne(terms=terms):
                return self._none_or_several(terms)
            case OneOf(positive=False) if self._type is JsonType.OBJECT:
                return self._unlike(formula)
            case _:
                return formula

    def _term(self, wanted: Wants) -> Formula:
        key = (wanted, self._type)
        if key in self._shared.known:
            return self._shared.known[key]
        if wanted in self._local:
            self._depends = True
            return self._local[wanted]
        before, self._depends = self._depends, False
        own = self._shared.formulas.of if wanted.positive else self._shared.formulas.of_refusal
        opened = self._open(own(wanted.term, self._type))
        if self._depends:
            self._local[wanted] = opened
        else:
            self._shared.known[key] = opened
        self._depends = self._depends or before
        return opened

    def _cases(self, cases: tuple[tuple[Formula, Formula], ...]) -> Formula:
        if len(cases) == 2:
            (guard, body), (other_guard, other_body) = cases
            opened, other = self._open(body), self._open(other_body)
            # The opposite of a guard need not be written out beside a case that allows everything.
            if opened == TRUE:
                return some((self._open(guard), other))
            if other == TRUE:
                return some((self._open(other_guard), opened))
            return some((every((self._open(guard), opened)), every((self._open(other_guard), other))))
        return some(self.all_of(case) for case in cases)

    def _exactly_one(self, terms: tuple[TermId, ...]) -> Formula:
        able = self._able(terms)
        others: dict[int, list[Wants]] = {at: [] for at in able}
        for (at, (term, _)), (place, (other, _)) in combinations(able.items(), 2):
            if not self._are_apart(term, other):
                others[at].append(Wants(term=other, positive=False))
                others[place].append(Wants(term=term, positive=False))
        return some([every((opened, self.all_of(others[at]))) for at, (_, opened) in able.items()])

    def _none_or_several(self, terms: tuple[TermId, ...]) -> Formula:
        able = list(self._able(terms).values())
        none = self.all_of(Wants(term=term, positive=False) for term in terms)
        several = [
            every((opened, other_opened))
            for at, (term, opened) in enumerate(able)
            for other, other_opened in able[at + 1 :]
            if not self._are_apart(term, other)
        ]
        return some((none, *several))

    def _able(self, terms: tuple[TermId, ...]) -> dict[int, tuple[TermId, Formula]]:
        """The alternatives that allow a value of the type at all, by place: one may stand there twice."""
        opened = ((at, term, self._open(Wants(term=term, positive=True))) for at, term in enumerate(terms))
        return {at: (term, formula) for at, term, formula in opened if formula != FALSE}

    def _are_apart(self, one: TermId, other: TermId) -> bool:
        apartness = self._shared.apartness
        if apartness.holds(one, other, frozenset(), self._type):
            return True
        beside = self._beside()
        if not beside:
            return False
        self._depends = True
        return apartness.holds(one, other, beside, self._type)

    def _beside(self) -> frozenset[Wants]:
        """What every value of the conjunction is known to satisfy. Seldom asked for."""
        if self._known_beside is None:
            self._known_beside = self._shared.apartness.plain(self._wanted)
        return self._known_beside

    def _unlike(self, listed: OneOf) -> Formula:
        """Excluded objects, said part by part; as they stand where that would be too much.

        Excluded arrays stay as they are: a machine of items follows them all at once.
        """
        split = split_exclusions([listed], self._shared.unlike)
        return listed if split is None else self.all_of(split[1])
