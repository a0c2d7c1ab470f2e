"""A Lark grammar lowered: the same lexemes and rules without what leads nowhere, its schemas lowered like any other."""

from collections.abc import Mapping
from dataclasses import replace

from compiler_pool.form.emptiness import matches_nothing
from compiler_pool.kinds.embedding import Embedding
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
    references_of,
)
from registry.kinds.lark_rules import START
from registry.kinds.lark_text import LarkWriter
from registry.kinds.rereading import lark_definitions


def lark_rules(canonical_text: str, embedding: Embedding) -> tuple[tuple[str, str], ...] | None:
    """Lines of Lark text: what stands before the colon, and after it. `None`: no finite text is a parse of `start`.

    Raises `ContractRejectedError` if the text is no canonical grammar.
    """
    found = lark_definitions(canonical_text)
    definitions = _fruitful(found.definitions)
    if START not in definitions:
        return None
    kept: dict[str, Definition] = {}
    ignored = [alternatives for _, alternatives in found.ignores]
    pending = [START, *(name for each in ignored for name in _names(each))]
    while pending:
        name = pending.pop(0)
        if name not in kept:
            kept[name] = definitions[name]
            pending.extend(reference.name for reference in references_of(definitions[name]))
    writer = _Writer({name: name for name in kept}, embedding)
    lines = [writer.line(definition) for definition in kept.values()]
    lines.extend(("%ignore", writer.alternatives(each)) for each in ignored)
    return tuple(lines)


def _names(alternatives: tuple[Alternative, ...]) -> list[str]:
    ignored = Definition(name="", position=0, alternatives=alternatives)
    return [reference.name for reference in references_of(ignored)]


class _Writer(LarkWriter):
    """Writes canonical text, but for schemas: those are rules of their own."""

    def __init__(self, names: Mapping[str, str], embedding: Embedding) -> None:
        super().__init__(names)
        self._embedding = embedding
        self._num_schemas = 0

    def line(self, definition: Definition) -> tuple[str, str]:
        """A definition, in two halves."""
        head, _, body = self.definition(definition).partition(": ")
        return head, body

    def _item(self, item: Item) -> str:
        if isinstance(item, EmbeddedSchema):
            name = f"%json {self._num_schemas}"
            self._num_schemas += 1
            return self._embedding.schema(item.contract.schema, "", name=name).rule
        return super()._item(item)


def _fruitful(definitions: Mapping[str, Definition]) -> dict[str, Definition]:
    """Those that have a text, without their alternatives that have none. Complements are taken to have one."""
    users: dict[str, list[str]] = {}
    for name, definition in definitions.items():
        for reference in references_of(definition):
            users.setdefault(reference.name, []).append(name)
    found: dict[str, Definition] = {}
    pending = [*definitions]
    known: set[str] = set()
    while pending:
        name = pending.pop()
        if name not in known and _alternatives(definitions[name].alternatives, known):
            known.add(name)
            pending.extend(users.get(name, ()))
    for name in known:
        definition = definitions[name]
        found[name] = replace(definition, alternatives=_alternatives(definition.alternatives, known))
    return {name: found[name] for name in definitions if name in found}


def _alternatives(alternatives: tuple[Alternative, ...], known: set[str]) -> tuple[Alternative, ...]:
    kept = (_alternative(alternative, known) for alternative in alternatives)
    return tuple(alternative for alternative in kept if alternative is not None)


def _alternative(alternative: Alternative, known: set[str]) -> Alternative | None:
    conjuncts = [_items(items, known) for items in alternative.conjuncts]
    kept = tuple(items for items in conjuncts if items is not None)
    return replace(alternative, conjuncts=kept) if len(kept) == len(conjuncts) else None


def _items(items: Items, known: set[str]) -> Items | None:
    pruned = [_item(item, known) for item in items]
    kept = tuple(item for item in pruned if item is not None)
    return kept if len(kept) == len(pruned) else None


def _item(item: Item, known: set[str]) -> Item | None:
    match item:
        case Literal() | EmbeddedSchema() | Substring() | Complement():
            return item
        case Expression(node=node):
            return None if matches_nothing(node) else item
        case Reference(name=name):
            return item if name in known else None
        case Group(alternatives=alternatives):
            kept = _alternatives(alternatives, known)
            return Group(alternatives=kept) if kept else None
        case Repetition(item=inner, minimum=minimum):
            pruned = _item(inner, known)
            if pruned is None:
                return Literal(text="") if minimum == 0 else None
            return replace(item, item=pruned)
