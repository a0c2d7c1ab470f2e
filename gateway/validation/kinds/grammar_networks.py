"""Networks of the grammars that Lark and GBNF texts are.

A Lark grammar is judged as the grammar that it is: any way of reading lexemes will do. The engine takes the longest
lexeme at each place, which allows no other texts, and sometimes fewer.
"""

from collections.abc import Mapping
from typing import Final

import re2

from gateway.validation.errors import UnjudgeableContractError
from gateway.validation.judge import Judge
from gateway.validation.kinds.json_texts import Json
from gateway.validation.kinds.networks import Enter, Networks, Scan
from gateway.validation.kinds.reading import Terminal
from gateway.validation.kinds.terminals import (
    Fixed,
    InAll,
    InAny,
    InARow,
    Named,
    Outside,
    Pattern,
    Run,
    Shortest,
    Times,
)
from gateway.validation.verdict import Unjudged
from registry.kinds.grammar import (
    Alternative,
    Complement,
    Definition,
    EmbeddedSchema,
    Expression,
    Group,
    Item,
    Items,
    Literal,
    Reference,
    Repetition,
    Substring,
    items_of,
)
from registry.kinds.parameter_values import argument, condition
from registry.kinds.rust_sets import with_rust_sets
from registry.pattern_syntax import Characters, Sequence

_WORDS: Final = re2.compile(r"[\p{L}\p{M}\p{N}\p{Pc}]+|\s+|[^\p{L}\p{M}\p{N}\p{Pc}\s]+")
"""The engine's words, runs of white space, and runs of anything else."""


def grammar_networks(
    definitions: Mapping[str, Definition], ignored: tuple[tuple[Alternative, ...], ...] = ()
) -> Networks:
    """The networks of all rules. Raises `UnjudgeableContractError`."""
    return _Building(definitions).networks(ignored)


class _Building:
    def __init__(self, definitions: Mapping[str, Definition]) -> None:
        self._definitions = definitions
        self._networks = Networks()
        self._lexemes: dict[str, Terminal] = {}

    def networks(self, ignored: tuple[tuple[Alternative, ...], ...]) -> Networks:
        for name, definition in self._definitions.items():
            if _is_lexeme(definition):
                self._lexemes[name] = self._lexeme(definition)
        for name, definition in self._definitions.items():
            if not _is_lexeme(definition):
                start, end = self._networks.rule(name)
                self._alternatives(definition.alternatives, start, end)
        if ignored:
            self._networks.skipped = InAny(parts=tuple(map(self._terminal_of, ignored)))
        return self._networks

    def _alternatives(self, alternatives: tuple[Alternative, ...], source: int, target: int) -> None:
        for alternative in alternatives:
            at = source
            if alternative.condition is not None:
                at = self._networks.state()
                self._networks.free(source, at, condition(alternative.condition))
            self._sequence(alternative.conjuncts[0], at, target)

    def _sequence(self, items: Items, source: int, target: int) -> None:
        at = source
        for item in items:
            after = self._networks.state()
            self._item(item, at, after)
            at = after
        self._networks.free(at, target)

    def _item(self, item: Item, source: int, target: int) -> None:
        match item:
            case Literal(text=""):
                self._networks.free(source, target)  # no lexeme: nothing is skipped after it
            case Reference(name=name) if name not in self._lexemes:
                step = Enter(rule=name, argument=argument(item.argument), target=target)
                self._networks.step(source, step)
            case Group(alternatives=alternatives) if not _is_regular(item):
                self._alternatives(alternatives, source, target)
            case Repetition(item=inner, minimum=minimum, maximum=maximum):
                # Not as one terminal, even where it is regular: between two turns something may be skipped.
                def once(at: int, after: int) -> None:
                    self._item(inner, at, after)

                self._networks.times(source, target, minimum, maximum, once)
            case _:
                self._networks.step(source, Scan(terminal=self._terminal(item), target=target))

    def _lexeme(self, definition: Definition) -> Terminal:
        found = self._terminal_of(definition.alternatives)
        if definition.suffix is not None:
            return Shortest(part=found, then=self._terminal(definition.suffix))
        return Shortest(part=found) if definition.is_lazy else found

    def _terminal_of(self, alternatives: tuple[Alternative, ...]) -> Terminal:
        parts = tuple(
            InAll(parts=tuple(InARow(parts=tuple(map(self._terminal, items))) for items in alternative.conjuncts))
            for alternative in alternatives
        )
        return parts[0] if len(parts) == 1 else InAny(parts=parts)

    def _terminal(self, item: Item) -> Terminal:
        match item:
            case Literal(text=text, ignore_case=True):
                characters = tuple(Characters(ranges=((ord(character),) * 2,)) for character in text)
                return Pattern(Sequence(parts=characters), ignore_case=True)
            case Literal(text=text):
                return Fixed(text=text)
            case Expression(node=node, ignore_case=ignore_case):
                return Pattern(with_rust_sets(node), ignore_case=ignore_case)
            case Reference(name=name):
                return Named(name=name, defined=self._lexemes)
            case EmbeddedSchema(contract=contract):
                return _json(contract.text)
            case Substring(value=value):
                return Run(pieces=_pieces(value))
            case Group(alternatives=alternatives):
                return self._terminal_of(alternatives)
            case Repetition(item=inner, minimum=minimum, maximum=maximum):
                return Times(part=self._terminal(inner), minimum=minimum, maximum=maximum)
            case Complement(item=inner):
                return Outside(part=self._terminal(inner))


def _is_lexeme(definition: Definition) -> bool:
    return definition.is_terminal or definition.is_lazy or definition.suffix is not None


def _is_regular(group: Group) -> bool:
    """Whether everything in the group is one lexeme anyway: it has several conjuncts."""
    return any(len(alternative.conjuncts) > 1 for alternative in group.alternatives) and not any(
        isinstance(item, EmbeddedSchema) for item in items_of(group.alternatives)
    )


def _json(schema_text: str) -> Terminal:
    judge = Judge.prepare(schema_text)
    if isinstance(judge, Unjudged):
        raise UnjudgeableContractError(judge.message)
    return Json(judge)


def _pieces(value: object) -> tuple[str, ...]:
    """Given pieces, or the words of a text with what stands between them."""
    return tuple(map(str, value)) if isinstance(value, list) else tuple(_WORDS.findall(str(value)))
