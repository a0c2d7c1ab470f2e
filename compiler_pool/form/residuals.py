"""What is left to hold of an object while its members are read: formulas by number, simplified, equal ones once.

Formulas are monotone in their literals, so a literal that is put down as false only ever narrows what is left. That is
what makes it right to follow some of the ways in which a formula can come true, each on its own.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final, NewType, TypeAlias

from compiler_pool.form.spending import ExpansionSpending
from registry.algebra.formulas import FALSE, All, Any, Formula, Wants, negated, refused

Residual = NewType("Residual", int)

NEVER: Final = Residual(0)
ALWAYS: Final = Residual(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """The member that is being read has a value that is wanted so."""

    wanted: Wants


Literal: TypeAlias = Formula | Claim
"""An atom of objects, or a claim."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Conjunction:
    parts: tuple[Residual, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Disjunction:
    parts: tuple[Residual, ...]


_Shape: TypeAlias = Literal | _Conjunction | _Disjunction


@dataclass(frozen=True, slots=True, kw_only=True)
class _Join:
    """How parts are joined: one that is `decisive` decides, none at all is `idle`."""

    shape: type[_Conjunction] | type[_Disjunction]
    inner: type[_Conjunction] | type[_Disjunction]
    """The other kind: what its parts are joined by, if they are joined themselves."""
    decisive: Residual
    idle: Residual


_AND: Final = _Join(shape=_Conjunction, inner=_Disjunction, decisive=NEVER, idle=ALWAYS)
_OR: Final = _Join(shape=_Disjunction, inner=_Conjunction, decisive=ALWAYS, idle=NEVER)


PARTS_PER_STEP: Final = 8
"""Parts of formulas that are looked at at the cost of about one step."""


class Residuals:
    """All residual formulas of one machine. They are only ever added."""

    def __init__(self, spending: ExpansionSpending) -> None:
        self._spending = spending
        self._num_unpaid = 0
        self._shapes: list[_Shape] = [_Disjunction(parts=()), _Conjunction(parts=())]
        self._atoms: dict[Literal, Residual] = {}
        self._joins: dict[tuple[type, tuple[Residual, ...]], Residual] = {
            (_Disjunction, ()): NEVER, (_Conjunction, ()): ALWAYS,
        }  # fmt: skip
        self._literals: list[frozenset[Residual]] = [frozenset(), frozenset()]
        """By residual, the literals that it holds."""
        self._opposites: dict[Residual, Residual] = {}
        self._claims: set[Residual] = set()

    def literal(self, literal: Literal) -> Residual:
        """The residual of one atom or claim."""
        known = self._atoms.get(literal)
        if known is None:
            known = self._atoms[literal] = self._add(literal, None)
            if isinstance(literal, Claim):
                self._claims.add(known)
            opposite = Claim(wanted=refused(literal.wanted)) if isinstance(literal, Claim) else negated(literal)
            other = NEVER if opposite == FALSE else self._atoms.get(opposite)
            if other is not None and other != NEVER:
                self._opposites[known], self._opposites[other] = other, known
        return known

    def of(self, formula: Formula) -> Residual:
        """The residual of a flat formula."""
        return self._of(formula, {})

    def _of(self, formula: Formula, known: dict[int, Residual]) -> Residual:
        if not isinstance(formula, All | Any):
            return self.literal(formula)
        # Parts that stand in many places are read in one; all of them live as long as the whole does.
        found = known.get(id(formula))
        if found is None:
            join = _AND if isinstance(formula, All) else _OR
            found = known[id(formula)] = self._joined([self._of(part, known) for part in formula.parts], join)
        return found

    def formula(self, residual: Residual) -> Formula:
        """The flat formula that it stands for. It holds no claim."""
        shape = self._shapes[residual]
        match shape:
            case _Conjunction(parts=parts):
                return All(parts=tuple(map(self.formula, parts)))
            case _Disjunction(parts=parts):
                return Any(parts=tuple(map(self.formula, parts)))
            case Claim():
                raise AssertionError(shape)
            case _:
                return shape

    def literals(self, residual: Residual) -> frozenset[Residual]:
        """The literals in it."""
        return self._literals[residual]

    def claims(self, residual: Residual) -> list[Residual]:
        """The claims in it, in order."""
        return sorted(self._literals[residual] & self._claims)

    def claimed(self, residual: Residual) -> list[Wants]:
        """The claims among its conjuncts."""
        shapes = (self._shapes[one] for one in self.conjuncts(residual) if one in self._claims)
        return [shape.wanted for shape in shapes if isinstance(shape, Claim)]

    def shape(self, literal: Residual) -> Literal:
        """What a literal says."""
        shape = self._shapes[literal]
        assert not isinstance(shape, _Conjunction | _Disjunction)
        return shape

    def conjuncts(self, residual: Residual) -> tuple[Residual, ...]:
        """What it is the conjunction of: itself alone, if it is none."""
        shape = self._shapes[residual]
        return shape.parts if isinstance(shape, _Conjunction) else (residual,)

    def disjuncts(self, residual: Residual) -> tuple[Residual, ...]:
        """What it is the disjunction of: itself alone, if it is none."""
        shape = self._shapes[residual]
        return shape.parts if isinstance(shape, _Disjunction) else (residual,)

    def all_of(self, parts: Iterable[Residual]) -> Residual:
        """The conjunction."""
        return self._joined(parts, _AND)

    def any_of(self, parts: Iterable[Residual]) -> Residual:
        """The disjunction."""
        return self._joined(parts, _OR)

    def implies(self, one: Residual, other: Residual) -> bool:
        """Whether it is plain that the second holds wherever the first does."""
        return one in (other, NEVER) or other == ALWAYS or self.all_of((one, other)) == one

    def replaced(self, residual: Residual, by: Mapping[Residual, Residual]) -> Residual:
        """The residual with literals replaced."""
        return self._replaced(residual, by, by.keys(), {})

    def replacing(self, by: Mapping[Residual, Residual]) -> Callable[[Residual], Residual]:
        """The same for many residuals, which share what they have in common."""
        known: dict[Residual, Residual] = {}
        return lambda residual: self._replaced(residual, by, by.keys(), known)

    def _replaced(
        self,
        residual: Residual,
        by: Mapping[Residual, Residual],
        touched: Iterable[Residual],
        known: dict[Residual, Residual],
    ) -> Residual:
        if self._literals[residual].isdisjoint(touched):
            return residual
        if residual not in known:
            match self._shapes[residual]:
                case _Conjunction(parts=parts):
                    self._pay(len(parts))
                    known[residual] = self.all_of(self._each(parts, by, touched, known, NEVER))
                case _Disjunction(parts=parts):
                    self._pay(len(parts))
                    known[residual] = self.any_of(self._each(parts, by, touched, known, ALWAYS))
                case _:
                    known[residual] = by[residual]
        return known[residual]

    def _each(
        self,
        parts: tuple[Residual, ...],
        by: Mapping[Residual, Residual],
        touched: Iterable[Residual],
        known: dict[Residual, Residual],
        decisive: Residual,
    ) -> Iterator[Residual]:
        for part in parts:
            is_whole = self._literals[part].isdisjoint(touched)
            made = part if is_whole else self._replaced(part, by, touched, known)
            yield made
            if made == decisive:
                return

    def _joined(self, parts: Iterable[Residual], join: _Join) -> Residual:
        """The parts joined. What a part alone decides within the others is decided there: `a` and (`a` or `b`) is `a`,
        `a` and (not `a` or `b`) is `a` and `b`."""
        is_settled = False
        kept: dict[Residual, None] = {}
        while not is_settled:
            kept = self._opened(parts, join)
            self._pay(len(kept))
            opposites = {self._opposites[part] for part in kept if part in self._opposites}
            if join.decisive in kept or not opposites.isdisjoint(kept):
                return join.decisive
            inner = [part for part in kept if isinstance(self._shapes[part], join.inner)]
            changed = [
                (part, left) for part in inner if (left := self._decided(part, kept.keys(), opposites, join)) != (part,)
            ]
            is_settled = not changed
            if changed:
                become = dict(changed)
                parts = [left for part in kept for left in become.get(part, (part,))]
        if len(kept) <= 1:
            return next(iter(kept), join.idle)
        numbers = tuple(sorted(kept))
        key = (join.shape, numbers)
        known = self._joins.get(key)
        if known is None:
            known = self._joins[key] = self._add(join.shape(parts=numbers), numbers)
        return known

    def _opened(self, parts: Iterable[Residual], join: _Join) -> dict[Residual, None]:
        """The parts, with those of parts that are joined in the same way; no more once one decides."""
        kept: dict[Residual, None] = {}
        for part in parts:
            shape = self._shapes[part]
            if isinstance(shape, join.shape):
                kept.update(dict.fromkeys(shape.parts))
            else:
                kept[part] = None
            if part == join.decisive:
                break
        return kept

    def _decided(
        self, part: Residual, beside: AbstractSet[Residual], opposites: AbstractSet[Residual], join: _Join
    ) -> tuple[Residual, ...]:
        """What is left of a part beside the others: itself mostly, nothing, or less."""
        other = _OR if join is _AND else _AND
        shape = self._shapes[part]
        if not isinstance(shape, _Conjunction | _Disjunction) or part == join.decisive:
            return (part,)
        if not beside.isdisjoint(shape.parts):
            return ()
        if opposites.isdisjoint(shape.parts):
            return (part,)
        return (self._joined((one for one in shape.parts if one not in opposites), other),)

    def _pay(self, num_parts: int) -> None:
        self._num_unpaid += 1 + num_parts
        if self._num_unpaid >= PARTS_PER_STEP:
            self._spending.step(self._num_unpaid // PARTS_PER_STEP)
            self._num_unpaid %= PARTS_PER_STEP

    def _add(self, shape: _Shape, parts: tuple[Residual, ...] | None) -> Residual:
        self._pay(0 if parts is None else len(parts))
        number = Residual(len(self._shapes))
        self._shapes.append(shape)
        literals = (self._literals[part] for part in parts or ())
        self._literals.append(frozenset({number}) if parts is None else frozenset().union(*literals))
        return number
