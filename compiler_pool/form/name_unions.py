"""Kinds of undeclared names that lead to the same, taken together: one language in place of many.

Six patterns can make sixty kinds. Where an object's rules tell only some of them apart, a language for each kind is
dear: an engine follows all of them at once through every character of a name.
"""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import TypeVar

from compiler_pool.form.languages import EVERY_STRING, Among, Both, Either, Except, Language, both, either, excluding
from compiler_pool.form.making import Making
from compiler_pool.form.name_classes import NameClass
from compiler_pool.form.simplifying import simplified
from compiler_pool.form.strings import pattern_language, string_language
from registry.algebra.formulas import Wants
from registry.algebra.keyword_formulas import JsonType

Outcome = TypeVar("Outcome", bound=Hashable)
_Trait = str | Wants
"""A pattern that finds a match, or a wish that a name is as."""
_Traits = frozenset[_Trait]


class NameUnions:
    """Languages of several kinds of names of one object together, each made once."""

    def __init__(
        self, classes: Sequence[NameClass], outside: Iterable[NameClass], declared: Sequence[str], making: Making
    ) -> None:
        """`outside` are the kinds besides `classes` that may have names: no language may hold those."""
        self._making = making
        self._declared = declared
        self._inside = list(map(_traits, classes))
        self._outside = list(map(_traits, outside))
        self._traits = list(dict.fromkeys(trait for traits in (*self._inside, *self._outside) for trait in traits))
        self._known: dict[frozenset[_Traits], Language] = {}
        self._of_traits: dict[_Trait, Language] = {}

    def by_outcome(self, outcomes: Iterable[tuple[NameClass, Outcome]]) -> Iterator[tuple[Language, Outcome]]:
        """The language of all names that have an outcome, for each. Raises `ExpansionSpentError`."""
        alike: dict[Outcome, list[NameClass]] = {}
        for one, outcome in outcomes:
            alike.setdefault(outcome, []).append(one)
        for outcome, classes in alike.items():
            yield self._language(classes), outcome

    def _language(self, classes: list[NameClass]) -> Language:
        if len(classes) == 1:
            return classes[0].language
        together = frozenset(map(_traits, classes))
        if together not in self._known:
            apart = either(*(one.language for one in classes))
            num_apart = _num_leaves(apart)
            whole = apart if num_apart == len(classes) else self._united(together)
            # Kinds that have nothing in common are said best one by one: each needs no other to be told from.
            self._known[together] = whole if _num_leaves(whole) < num_apart else apart
        return self._known[together]

    def _united(self, together: frozenset[_Traits]) -> Language:
        others = [traits for traits in (*self._inside, *self._outside) if traits not in together]
        telling = self._telling(together, others)
        parts = dict.fromkeys(
            traits & telling for traits in self._inside if traits in together
        )  # in the order of the kinds, for the same text every time
        whole = either(*(self._of_kind(held, telling) for held in parts))
        return simplified(whole, self._making.spending)

    def _telling(self, together: frozenset[_Traits], others: list[_Traits]) -> _Traits:
        """Traits that tell these kinds from all others: as few as are found by leaving out one after the other."""
        telling = frozenset(self._traits)
        for trait in self._traits:
            self._making.spending.step(1 + (len(together) + len(others)) // 4)
            fewer = telling - {trait}
            if {traits & fewer for traits in together}.isdisjoint(traits & fewer for traits in others):
                telling = fewer
        return telling

    def _of_kind(self, held: _Traits, telling: _Traits) -> Language:
        """The undeclared names with exactly these of the traits that are telling."""
        parts = [
            self._of_trait(trait) if trait in held else excluding(self._of_trait(trait))
            for trait in self._traits
            if trait in telling
        ]
        patterns = [trait for trait in self._traits if trait in telling and isinstance(trait, str)]
        finds = self._making.solver.truth.finds
        taken = tuple(
            name
            for name in self._declared
            if all(bool(finds(pattern, name)) == (pattern in held) for pattern in patterns)
        )
        return both(*(parts or [EVERY_STRING]), *((excluding(Among(texts=taken)),) if taken else ()))

    def _of_trait(self, trait: _Trait) -> Language:
        if trait not in self._of_traits:
            self._of_traits[trait] = (
                pattern_language(trait)
                if isinstance(trait, str)
                else string_language(self._making.flat([trait], JsonType.STRING), self._making)
            )
        return self._of_traits[trait]


def _num_leaves(language: Language) -> int:
    match language:
        case Both(parts=parts) | Either(parts=parts):
            return sum(map(_num_leaves, parts))
        case Except(part=part):
            return _num_leaves(part)
        case _:
            return 1


def _traits(one: NameClass) -> _Traits:
    return frozenset((*one.patterns, *one.wishes))
