"""Parametric rules as plain ones: a rule for each parameter that it can be entered with.

The engine looks at a condition only when it comes to it, so a grammar can lead to where no condition holds. As plain
rules, what leads there is seen, and left out like any other alternative from which nothing is derived.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from compiler_pool.form.spending import ExpansionSpending
from registry.kinds.grammar import (
    Alternative,
    Complement,
    Definition,
    EmbeddedSchema,
    Expression,
    Group,
    Item,
    Literal,
    Reference,
    Repetition,
    Substring,
)
from registry.kinds.parameter_values import NO_PARAMETER, Parameter, argument, condition

MAX_INSTANCES: Final = 512
"""Rules that are made. A grammar with more keeps its parameters: they are what keeps it small."""


def without_parameters(
    definitions: Mapping[str, Definition], root: str, spending: ExpansionSpending
) -> dict[str, Definition] | None:
    """The same texts without parameters; `None` if there are too many, or none to begin with.

    Raises `ExpansionSpentError`.
    """
    if not any(definition.is_parametric for definition in definitions.values()):
        return None
    return _Expansion(definitions, spending).run(root)


class _Expansion:
    def __init__(self, definitions: Mapping[str, Definition], spending: ExpansionSpending) -> None:
        self._definitions = definitions
        self._spending = spending
        self._pending: list[tuple[str, Parameter]] = []
        self._seen: set[tuple[str, Parameter]] = set()

    def run(self, root: str) -> dict[str, Definition] | None:
        """Rules are made as they are come to."""
        self._name(root, NO_PARAMETER)
        found: dict[str, Definition] = {}
        while self._pending:
            if len(self._seen) > MAX_INSTANCES:
                return None
            name, parameter = self._pending.pop(0)
            definition = self._definitions[name]
            made = replace(
                definition,
                name=self._name(name, parameter),
                alternatives=self._alternatives(definition.alternatives, parameter),
                is_parametric=False,
            )
            found[made.name] = made
        # What only `%ignore` needs is no parametric rule: it is a terminal.
        return {**{name: each for name, each in self._definitions.items() if each.is_terminal}, **found}

    def _name(self, name: str, parameter: Parameter) -> str:
        if self._definitions[name].is_terminal:
            return name
        if (name, parameter) not in self._seen:
            self._seen.add((name, parameter))
            self._pending.append((name, parameter))
        return f"{name}p{parameter}" if self._definitions[name].is_parametric else name

    def _alternatives(self, alternatives: tuple[Alternative, ...], own: Parameter) -> tuple[Alternative, ...]:
        kept: list[Alternative] = []
        for alternative in alternatives:
            holds = condition(alternative.condition)
            if holds is None or holds(own):
                conjuncts = tuple(tuple(self._item(item, own) for item in items) for items in alternative.conjuncts)
                kept.append(Alternative(conjuncts=conjuncts))
        return tuple(kept)

    def _item(self, item: Item, own: Parameter) -> Item:
        self._spending.step()
        match item:
            case Reference(name=name):
                given = argument(item.argument)(own)
                return replace(item, name=self._name(name, given), argument=None)
            case Group(alternatives=alternatives):
                return Group(alternatives=self._alternatives(alternatives, own))
            case Repetition(item=inner):
                return replace(item, item=self._item(inner, own))
            case Literal() | Expression() | EmbeddedSchema() | Substring() | Complement():
                return item
