"""What must hold between the definitions of a Lark grammar: names exist, terminals are regular, parameters fit."""

from collections.abc import Iterator, Mapping
from typing import Final, NoReturn

from policy.rejection import RejectionCode
from registry.kinds.faults import place, refuse, shown
from registry.kinds.grammar import (
    Alternative,
    Complement,
    Definition,
    EmbeddedSchema,
    Group,
    Item,
    Reference,
    Repetition,
    items_of,
    references_of,
)
from registry.kinds.grammar_names import find_cycle
from registry.kinds.lark_parser import LarkText

START: Final = "start"


class LarkRules:
    """Judges the definitions of one text."""

    def __init__(self, text: str, found: LarkText) -> None:
        self._text = text
        self._found = found

    def check(self) -> None:
        """Raise `ContractRejectedError` at the first definition that cannot be."""
        definitions = self._found.definitions
        start = definitions.get(START)
        if start is None or start.is_terminal:
            refuse(RejectionCode.UNRESOLVED_REFERENCE, "A grammar starts with the rule `start`.", keyword=START)
        if start.is_parametric:
            self._fail(start.position, "`start` is given no parameter", START)
        for definition in definitions.values():
            self._check_names(definition)
            is_regular = definition.is_terminal or definition.is_lazy or definition.suffix is not None
            self._check_context(definition.alternatives, definition.name, is_regular=is_regular)
            if definition.suffix is not None:
                suffix = Alternative(conjuncts=((definition.suffix,),))
                self._check_context((suffix,), definition.name, is_regular=True)
            self._check_parameters(definition)
        for position, alternatives in self._found.ignores:
            ignored = Definition(name="%ignore", position=position, alternatives=alternatives, is_terminal=True)
            self._check_names(ignored)
            self._check_context(alternatives, "%ignore", is_regular=True)
            self._check_parameters(ignored)
        self._check_recursion(definitions)

    def _check_names(self, definition: Definition) -> None:
        for reference in references_of(definition):
            if reference.name not in self._found.definitions:
                message = f"{shown(reference.name)} at {self._place(reference.position)} is not defined."
                refuse(RejectionCode.UNRESOLVED_REFERENCE, message, keyword=definition.name)

    def _check_context(self, alternatives: tuple[Alternative, ...], name: str, *, is_regular: bool) -> None:
        for item, regular in _in_context(alternatives, is_regular=is_regular):
            match item:
                case Reference() if regular and not self._found.definitions[item.name].is_terminal:
                    self._fail(item.position, f"{shown(item.name)} is a rule, and only terminals can stand here", name)
                case EmbeddedSchema() if regular:
                    message = f"`%json` cannot stand in the terminal {shown(name)}: it is no regular language."
                    refuse(RejectionCode.UNSUPPORTED_KEYWORD, message, keyword="%json")
                case Group() if not regular:
                    self._check_conjunctions(item.alternatives, name)
                case _:
                    pass
        if not is_regular:
            self._check_conjunctions(alternatives, name)

    def _check_conjunctions(self, alternatives: tuple[Alternative, ...], name: str) -> None:
        if any(len(alternative.conjuncts) > 1 for alternative in alternatives):
            message = f"`&` in the rule {shown(name)}: only terminals, with names in upper case, can be intersected."
            refuse(RejectionCode.UNSUPPORTED_KEYWORD, message, keyword="&")

    def _check_parameters(self, definition: Definition) -> None:
        name = definition.name
        is_parametric = definition.is_parametric
        if is_parametric and (definition.is_lazy or definition.suffix is not None):
            self._fail(definition.position, f"The rule {shown(name)} has a parameter and cannot be lazy", name)
        if not is_parametric and any(a.condition for a in definition.alternatives):
            self._fail(definition.position, f"{shown(name)} has no parameter that `%if` could look at", name)
        if any(isinstance(item, Repetition) and _gives_more(item) for item in items_of(definition.alternatives)):
            self._fail(
                definition.position, f"A parameter that changes is given within a repetition in {shown(name)}", name
            )
        uses_parameter = any(a.condition for a in definition.alternatives)
        for reference in references_of(definition):
            target = self._found.definitions[reference.name]
            if target.is_parametric is not (reference.argument is not None):
                wants = "a" if target.is_parametric else "no"
                self._fail(reference.position, f"{shown(reference.name)} takes {wants} parameter", name)
            if reference.argument is not None and not reference.argument.isdigit():
                uses_parameter = True
                if not is_parametric:
                    self._fail(reference.position, f"{shown(name)} has no parameter to give on", name)
        if is_parametric and not uses_parameter:
            self._fail(definition.position, f"{shown(name)} does not use its parameter", name)

    def _check_recursion(self, definitions: Mapping[str, Definition]) -> None:
        cycle = find_cycle({name: d for name, d in definitions.items() if d.is_terminal})
        if cycle is not None:
            where = self._place(definitions[cycle].position)
            message = f"The terminal {shown(cycle)} at {where} leads back to itself; only rules can be recursive."
            refuse(RejectionCode.UNGUARDED_REF_CYCLE, message, keyword=cycle)

    def _place(self, at: int) -> str:
        return place(self._text, at)

    def _fail(self, at: int, message: str, name: str) -> NoReturn:
        refuse(RejectionCode.INVALID_GRAMMAR, f"{message} (at {self._place(at)}).", keyword=name)


def _in_context(alternatives: tuple[Alternative, ...], *, is_regular: bool) -> Iterator[tuple[Item, bool]]:
    """Every item, and whether it stands where everything is one lexeme: below `~` always."""
    stack: list[tuple[Item, bool]] = [(i, is_regular) for a in alternatives for c in a.conjuncts for i in c]
    while stack:
        item, regular = stack.pop()
        yield item, regular
        match item:
            case Group():
                stack.extend((i, regular) for a in item.alternatives for c in a.conjuncts for i in c)
            case Repetition():
                stack.append((item.item, regular))
            case Complement():
                stack.append((item.item, True))
            case _:
                pass


def _gives_more(repetition: Repetition) -> bool:
    """Whether a parameter other than the own one, or a number, is given within a repetition: the engine panics."""
    alternative = Alternative(conjuncts=((repetition.item,),))
    return any(
        isinstance(item, Reference)
        and item.argument is not None
        and item.argument != "_"
        and not item.argument.isdigit()
        for item in items_of((alternative,))
    )
