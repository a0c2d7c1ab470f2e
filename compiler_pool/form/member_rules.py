"""What a conjunction says of every member outright, told apart from what hangs on other members."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from compiler_pool.form.making import Goal, Making
from compiler_pool.form.member_scopes import speaks_of
from compiler_pool.form.name_classes import NameClass
from registry.algebra.formulas import (
    All,
    EachMember,
    EachName,
    Formula,
    Has,
    Matching,
    Named,
    Others,
    Scope,
    SomeMember,
    Wants,
)
from registry.algebra.terms import Terms


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberRule:
    """Of one name: whether the member must, and whether it may, be there, and what its value must satisfy."""

    is_required: bool
    is_allowed: bool
    goal: Goal


@dataclass(slots=True, kw_only=True)
class MemberRules:
    """The rules of all members of an object, and the conjuncts that are no such rule."""

    making: Making
    rest: list[Formula] = field(default_factory=list)
    _required: set[str] = field(default_factory=set)
    _forbidden: set[str] = field(default_factory=set)
    _named: dict[str, list[Wants]] = field(default_factory=dict)
    _scoped: list[tuple[Scope, Wants]] = field(default_factory=list)
    _name_wishes: list[Wants] = field(default_factory=list)

    def take(self, flat: Formula) -> None:
        """The conjuncts of a formula, each once."""
        for part in flat.parts if isinstance(flat, All) else (flat,):
            match part:
                case Has(name=name, positive=True):
                    self._required.add(name)
                case Has(name=name):
                    self._forbidden.add(name)
                case EachMember(scope=Named(name=name), wanted=wanted):
                    self._named.setdefault(name, []).append(wanted)
                case SomeMember(scope=Named(name=name), wanted=wanted):
                    self._required.add(name)
                    self._named.setdefault(name, []).append(wanted)
                case EachMember(scope=scope, wanted=wanted):
                    self._scoped.append((scope, wanted))
                case EachName(wanted=wanted):
                    self._name_wishes.append(wanted)
                case _:
                    self.rest.append(part)

    def of(self, name: str) -> MemberRule:
        """The rule of a declared name."""
        goal = list(self._named.get(name, ()))
        truth = self.making.solver.truth
        goal += (wanted for scope, wanted in self._scoped if speaks_of(scope, name, truth))
        is_allowed = name not in self._forbidden and not self._is_hopeless(goal)
        if is_allowed and self._name_wishes:
            is_allowed = all(self.is_name_as(wanted, name) for wanted in self._name_wishes)
        return MemberRule(is_required=name in self._required, is_allowed=is_allowed, goal=frozenset(goal))

    def of_class(self, names: NameClass) -> MemberRule:
        """The rule of undeclared names of one kind."""
        goal = [wanted for scope, wanted in self._scoped if class_is_in(names, scope)]
        is_allowed = not self._is_hopeless(goal) and all(class_is_as(names, wanted) for wanted in self._name_wishes)
        return MemberRule(is_required=False, is_allowed=is_allowed, goal=frozenset(goal))

    def is_name_as(self, wanted: Wants, name: str) -> bool:
        """Whether the name is as it is wanted; what only the validator could tell is reported, and taken to be so."""
        held = self.making.solver.truth.wanted(wanted, name)
        if held is None:
            self.making.cannot("propertyNames", "whether a declared name is in this format is the validator's to say")
        return held is not False

    def _is_hopeless(self, goal: Iterable[Wants]) -> bool:
        """Whether some wish is plainly for no value at all."""
        terms = self.making.solver.terms
        return any(is_hopeless(wanted, terms) for wanted in goal)


def is_hopeless(wanted: Wants, terms: Terms) -> bool:
    """Whether it is plain that no value is as it is wanted."""
    term = terms[wanted.term]
    return term.allows_nothing if wanted.positive else term.allows_all


def is_plain(wanted: Wants, terms: Terms) -> bool:
    """Whether it is plain that every value is as it is wanted, or none is."""
    term = terms[wanted.term]
    return term.allows_nothing or term.allows_all


def class_is_in(names: NameClass, scope: Scope) -> bool:
    """Whether undeclared names of one kind are in the scope."""
    match scope:
        case Named():
            return False
        case Matching(pattern=pattern):
            return pattern in names.patterns
        case Others(patterns=patterns):
            return patterns.isdisjoint(names.patterns)


def class_is_as(names: NameClass, wanted: Wants) -> bool:
    """Whether undeclared names of one kind are as they are wanted."""
    return (Wants(term=wanted.term, positive=True) in names.wishes) == wanted.positive
