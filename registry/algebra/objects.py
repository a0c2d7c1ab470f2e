"""An object with some members, without others, each as all keywords that reach its name want it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import Final, Protocol, TypeAlias

from registry.algebra.budgeting import Spending
from registry.algebra.formulas import (
    EachMember,
    EachName,
    Formula,
    Has,
    LongerOrEqual,
    Matches,
    Matching,
    MembersAtLeast,
    MembersAtMost,
    Named,
    OneOf,
    Others,
    Scope,
    SomeMember,
    SomeName,
    Unsettled,
    Wants,
)
from registry.algebra.outcomes import Empty, Found, Outcome, Unsure, worst
from registry.algebra.truth import Ternary, Truth, all_of
from registry.contract import JsonValue
from registry.text import value_text

MAX_FREE_PATTERNS: Final = 6
"""Patterns that a new name may match or not: twice the kinds of name for each."""
MAX_MEMBERS: Final = 400
"""An object with more is not built."""
MAX_CHOICES: Final = 2_000
"""Ways to say which member is the one that some keyword asks for."""
_NEW_NAMES: Final = ("extra", "other", "x", "new")

_ANY_MEMBER: Final = Others(names=frozenset(), patterns=frozenset())


class MemberSolver(Protocol):
    """What an object asks of the solver of whole goals."""

    truth: Truth
    spending: Spending

    def solve(self, goal: frozenset[Wants]) -> Outcome:
        """A value of a member."""

    def solve_string(self, formulas: Iterable[Formula]) -> Outcome:
        """A name of a member."""

    def unlike(self, value: JsonValue) -> Wants:
        """Every other value."""


@dataclass(slots=True, kw_only=True)
class _Asked:
    """A member that must be there: the scopes it lies in, how its value and its name are wanted."""

    scopes: list[Scope] = field(default_factory=list)
    values: set[Wants] = field(default_factory=set)
    names: set[Wants] = field(default_factory=set)


_Key: TypeAlias = str | int
"""A name; or the number of a name that is not chosen yet."""


def solve_object(atoms: Iterable[Formula], solver: MemberSolver) -> Outcome:
    """An object for which all atoms hold."""
    return _Objects(atoms, solver).solve()


class _Objects:
    def __init__(self, atoms: Iterable[Formula], solver: MemberSolver) -> None:
        self._solver = solver
        self._named: dict[str, list[Wants]] = {}
        self._matching: list[tuple[str, Wants]] = []
        self._others: list[tuple[Others, Wants]] = []
        self._names: list[Wants] = []
        self._has: dict[str, None] = {}
        self._lacks: set[str] = set()
        self._asked: list[_Asked] = []
        self._least, self._most = 0, 1 << 60
        self._excluded: set[str] = set()
        self._known: dict[str, None] = {}
        for atom in atoms:
            self._take(atom)

    def _take(self, atom: Formula) -> None:  # noqa: C901, PLR0912 - one case for each kind of atom
        match atom:
            case Has(name=name, positive=True):
                self._has[name] = None
            case Has(name=name):
                self._lacks.add(name)
            case MembersAtLeast(count=count):
                self._least = max(self._least, count)
            case MembersAtMost(count=count):
                self._most = min(self._most, count)
            case EachMember(scope=Named(name=name), wanted=wanted):
                self._named.setdefault(name, []).append(wanted)
            case EachMember(scope=Matching(pattern=pattern), wanted=wanted):
                self._matching.append((pattern, wanted))
            case EachMember(scope=Others() as scope, wanted=wanted):
                self._others.append((scope, wanted))
                self._known.update(dict.fromkeys(sorted(scope.names)))
            case SomeMember(scope=scope, wanted=wanted):
                self._asked.append(_Asked(scopes=[scope], values={wanted}))
                if isinstance(scope, Others):
                    self._known.update(dict.fromkeys(sorted(scope.names)))
                elif isinstance(scope, Named):
                    self._known[scope.name] = None
            case EachName(wanted=wanted):
                self._names.append(wanted)
            case SomeName(wanted=wanted):
                self._asked.append(_Asked(scopes=[_ANY_MEMBER], names={wanted}))
            case OneOf(texts=texts):
                self._excluded.update(texts)
            case Unsettled():
                # Left out: what is found is checked, and what is empty without it is empty with it.
                pass
            case _:
                raise AssertionError(atom)

    def solve(self) -> Outcome:
        self._known = dict.fromkeys((*self._has, *self._named, *self._known, *sorted(self._lacks)))
        outcomes: list[Outcome] = []
        options = [list(self._options(number, asked)) for number, asked in enumerate(self._asked)]
        for count, choice in enumerate(product(*options)):
            if count >= MAX_CHOICES:
                return Unsure(reason="too many members could be the one that is asked for")
            self._solver.spending.step()
            outcome = self._with(choice)
            if isinstance(outcome, Found):
                return outcome
            outcomes.append(outcome)
        return worst(outcomes, "no member can be the one that is asked for")

    def _options(self, number: int, asked: _Asked) -> Iterator[_Key]:
        """Which member it may be: a new name first, because it disturbs nothing else."""
        scope = asked.scopes[0]
        if isinstance(scope, Named):
            yield scope.name
            return
        yield from range(number, -1, -1)
        yield from (name for name in self._known if self._solver.truth.in_scope(scope, name) is not False)

    def _with(self, choice: tuple[_Key, ...]) -> Outcome:
        """The object in which each member that is asked for is the one that was chosen for it."""
        asked: dict[_Key, _Asked] = {name: _Asked() for name in self._has}
        for key, one in zip(choice, self._asked, strict=True):
            together = asked.setdefault(key, _Asked())
            together.scopes += one.scopes
            together.values |= one.values
            together.names |= one.names
        if len(asked) > self._most:
            return Empty(reason=f"{len(asked)} members are asked for, and at most {self._most} may be there")
        members: dict[str, JsonValue] = {}
        goals: dict[str, frozenset[Wants]] = {}
        unsure: list[Outcome] = []
        for key, one in asked.items():
            outcome = self._known_member(key, one) if isinstance(key, str) else self._new_member(one, {*members})
            match outcome:
                case Empty() if isinstance(key, str) or isinstance(self._new_member(one, set()), Empty):
                    return outcome
                case Empty() | Unsure():
                    # An earlier new member may have taken the only name that would do.
                    unsure.append(Unsure(reason=outcome.reason))
                case Found(value=list() as pair):
                    name = str(pair[0])
                    members[name] = pair[1]
                    goals[name] = self._demand(name) | one.values
        if unsure:
            return unsure[0]
        filled = self._fill(members, self._least)
        if self._excluded and isinstance(filled, Found) and value_text(filled.value) in self._excluded:
            return self._otherwise(members, goals)
        return filled

    def _known_member(self, name: str, asked: _Asked) -> Outcome:
        if name in self._lacks:
            return Empty(reason=f"the member {_short(name)} must be there and must not")
        named = self._is_name(name, asked)
        if named is False:
            return Empty(reason=f"no member may have the name {_short(name)}")
        outcome = self._solver.solve(self._demand(name) | asked.values)
        match outcome:
            case Empty(reason=reason):
                return Empty(reason=f"the member {_short(name)}: {reason}")
            case Found(value=value) if named is True:
                return Found(value=[name, value])
            case _:
                return Unsure(reason=f"the member {_short(name)} may be possible")

    def _is_name(self, name: str, asked: _Asked) -> Ternary:
        wishes = (self._solver.truth.wanted(wanted, name) for wanted in (*self._names, *asked.names))
        return all_of((*(self._solver.truth.in_scope(scope, name) for scope in asked.scopes), *wishes))

    def _demand(self, name: str) -> frozenset[Wants]:
        """How all keywords that surely speak of the member want its value."""
        return frozenset(
            (
                *self._named.get(name, ()),
                *(wanted for pattern, wanted in self._matching if self._solver.truth.finds(pattern, name)),
                *(wanted for scope, wanted in self._others if self._solver.truth.in_scope(scope, name)),
            )
        )

    def _new_member(self, asked: _Asked, taken: set[str]) -> Outcome:
        """A member whose name no keyword says: by which patterns it matches, all kinds of name are tried."""
        settled: dict[str, bool] = {}
        for scope in asked.scopes:
            wished = [(scope.pattern, True)] if isinstance(scope, Matching) else []
            wished += [(pattern, False) for pattern in scope.patterns] if isinstance(scope, Others) else []
            for pattern, holds in wished:
                if settled.setdefault(pattern, holds) != holds:
                    return Empty(reason="a name would have to match a pattern and not to")
        sure = {wanted for pattern, wanted in self._matching if settled.get(pattern)}
        sure |= {wanted for scope, wanted in self._others if all(settled.get(p) is False for p in scope.patterns)}
        outcome = self._solver.solve(frozenset(asked.values | sure))
        if isinstance(outcome, Empty):
            return Empty(reason=f"a further member: {outcome.reason}")
        free = sorted(
            {
                pattern
                for pattern in (*(p for p, _ in self._matching), *(p for s, _ in self._others for p in s.patterns))
                if pattern not in settled
            }
        )
        outcomes: list[Outcome] = []
        for truths in product((False, True), repeat=min(len(free), MAX_FREE_PATTERNS)):
            cell = settled | dict(zip(free, truths, strict=False)) | dict.fromkeys(free[MAX_FREE_PATTERNS:], False)
            outcome = self._in_cell(cell, asked, taken)
            if isinstance(outcome, Found):
                return outcome
            outcomes.append(outcome)
        if len(free) > MAX_FREE_PATTERNS:
            return Unsure(reason="too many patterns speak of a name")
        return worst(outcomes, "no further member is possible")

    def _in_cell(self, cell: dict[str, bool], asked: _Asked, taken: set[str]) -> Outcome:
        wanted = {one for pattern, one in self._matching if cell[pattern]}
        wanted |= {one for scope, one in self._others if not any(cell[pattern] for pattern in scope.patterns)}
        outcome = self._solver.solve(frozenset(wanted | asked.values))
        if not isinstance(outcome, Found):
            return outcome
        used = tuple(sorted(value_text(name) for name in {*self._known, *taken}))
        formulas: list[Formula] = [Matches(pattern=pattern, positive=holds) for pattern, holds in cell.items()]
        formulas += [OneOf(texts=used, positive=False)] if used else []
        formulas += [*self._names, *asked.names]
        for name in (*_NEW_NAMES, f"extra{len(taken)}"):
            if all(self._solver.truth.of(formula, name) is True for formula in formulas):
                return Found(value=[name, outcome.value])
        named = self._solver.solve_string([*formulas, LongerOrEqual(length=1)])
        if not isinstance(named, Found):
            named = self._solver.solve_string(formulas)
        match named:
            case Found(value=value):
                return Found(value=[value, outcome.value])
            case _:
                return named

    def _fill(self, members: dict[str, JsonValue], least: int) -> Outcome:
        """The object with as many more members as it needs."""
        filled = dict(members)
        unsure: list[Outcome] = []
        for name in self._known:
            if len(filled) >= least:
                break
            if name not in filled and name not in self._lacks:
                outcome = self._known_member(name, _Asked())
                if isinstance(outcome, Unsure):
                    unsure.append(outcome)
                elif isinstance(outcome, Found) and isinstance(outcome.value, list):
                    filled[name] = outcome.value[1]
        while len(filled) < least:
            if len(filled) >= MAX_MEMBERS:
                return Unsure(reason="the object would have too many members")
            outcome = self._new_member(_Asked(scopes=[_ANY_MEMBER]), {*filled})
            match outcome:
                case Found(value=list() as pair):
                    filled[str(pair[0])] = pair[1]
                case _ if unsure:
                    return unsure[0]
                case Empty():
                    return Empty(reason=f"{least} members are asked for, and only {len(filled)} are possible")
                case _:
                    return outcome
        if len(filled) > self._most:
            return Empty(reason=f"at least {least} and at most {self._most} members are asked for")
        return Found(value=filled)

    def _otherwise(self, members: dict[str, JsonValue], goals: dict[str, frozenset[Wants]]) -> Outcome:
        """Another object than those that are excluded."""
        for name, value in members.items():
            outcome = self._solver.solve(goals[name] | {self._solver.unlike(value)})
            if isinstance(outcome, Found):
                changed = self._fill(members | {name: outcome.value}, self._least)
                if isinstance(changed, Found) and value_text(changed.value) not in self._excluded:
                    return changed
        larger = self._fill(members, max(len(members), self._least) + 1)
        if isinstance(larger, Found) and value_text(larger.value) not in self._excluded:
            return larger
        return Unsure(reason="an object that is not excluded was not found")


def _short(name: str) -> str:
    return value_text(name if len(name) <= 40 else name[:40] + "…")
