"""Alternatives told apart at a glance: by a member that must be there and is another constant in each."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from registry.algebra.formulas import Wants
from registry.algebra.terms import Term, TermId, Terms
from registry.text import value_text

_MAX_VALUES: Final = 256
"""Constants of one member that are compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tagged:
    """The members that a term requires, and those that it holds to constants, by name."""

    required: frozenset[str]
    constants: Mapping[str, frozenset[str]]


class MemberTags:
    """The tags of terms, each read once."""

    def __init__(self, terms: Terms) -> None:
        self._terms = terms
        self._known: dict[TermId, _Tagged] = {}

    def are_apart(self, one: TermId, other: TermId, beside: Iterable[Wants]) -> bool:
        """Whether both hold a member that must be there to constants, and have none in common."""
        first, second = self._of(one), self._of(other)
        shared = first.constants.keys() & second.constants.keys()
        if not shared:
            return False
        required = first.required | second.required
        for want in beside:
            required |= self._of(want.term).required if want.positive else frozenset()
        return any(first.constants[name].isdisjoint(second.constants[name]) for name in shared & required)

    def _of(self, number: TermId) -> _Tagged:
        if number not in self._known:
            self._known[number] = self._read(self._terms[number])
        return self._known[number]

    def _read(self, term: Term) -> _Tagged:
        names = term.assertions.get("required")
        constants: dict[str, frozenset[str]] = {}
        for name, target in term.of("properties").items():
            assertions = self._terms[target].assertions
            listed = [assertions["const"]] if "const" in assertions else assertions.get("enum")
            if isinstance(listed, list) and len(listed) <= _MAX_VALUES:
                constants[str(name)] = frozenset(map(value_text, listed))
        return _Tagged(
            required=frozenset(map(str, names)) if isinstance(names, list) else frozenset(), constants=constants
        )
