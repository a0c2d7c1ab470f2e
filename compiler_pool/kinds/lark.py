"""A Lark grammar lowered: the same lexemes and rules without what leads nowhere, its schemas lowered like any other."""

from collections.abc import Mapping
from dataclasses import replace

from compiler_pool.form.emptiness import matches_nothing
from compiler_pool.form.spending import ExpansionSpending
from compiler_pool.kinds.embedding import Embedding
from compiler_pool.kinds.lark_instances import without_parameters
from compiler_pool.kinds.lark_terminals import Terminals
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
from registry.kinds.rust_sets import with_rust_sets


def lark_rules(
    canonical_text: str, embedding: Embedding, spending: ExpansionSpending
) -> tuple[tuple[str, str], ...] | None:
    """Lines of Lark text: what stands before the colon, and after it. `None`: no finite text is a parse of `start`.

    Raises `ContractRejectedError` if the text is no canonical grammar, and `ExpansionSpentError`.
    """
    found = lark_definitions(canonical_text)
    expanded = without_parameters(found.definitions, START, spending) or found.definitions
    definitions = _Pruning(expanded, spending).fruitful()
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


class _Pruning:
    """Leaves out what has no text, until nothing changes."""

    def __init__(self, definitions: Mapping[str, Definition], spending: ExpansionSpending) -> None:
        self._definitions = definitions
        self._terminals = Terminals(definitions, spending)
        self._known: set[str] = set()

    def fruitful(self) -> dict[str, Definition]:
        """The definitions that have a text, without their alternatives that have none."""
        users: dict[str, list[str]] = {}
        for name, definition in self._definitions.items():
            for reference in references_of(definition):
                users.setdefault(reference.name, []).append(name)
        pending = [*self._definitions]
        while pending:
            name = pending.pop()
            if name not in self._known and self._alternatives(self._definitions[name].alternatives):
                self._known.add(name)
                pending.extend(users.get(name, ()))
        return {
            name: replace(definition, alternatives=self._alternatives(definition.alternatives))
            for name, definition in self._definitions.items()
            if name in self._known
        }

    def _alternatives(self, alternatives: tuple[Alternative, ...]) -> tuple[Alternative, ...]:
        kept = (self._alternative(alternative) for alternative in alternatives)
        return tuple(alternative for alternative in kept if alternative is not None)

    def _alternative(self, alternative: Alternative) -> Alternative | None:
        conjuncts = [self._items(items) for items in alternative.conjuncts]
        kept = tuple(items for items in conjuncts if items is not None)
        if len(kept) < len(conjuncts) or self._terminals.is_empty(alternative):
            return None
        return replace(alternative, conjuncts=kept)

    def _items(self, items: Items) -> Items | None:
        pruned = [self._item(item) for item in items]
        kept = tuple(item for item in pruned if item is not None)
        return kept if len(kept) == len(pruned) else None

    def _item(self, item: Item) -> Item | None:
        match item:
            case Literal() | EmbeddedSchema() | Substring():
                return item
            case Complement():
                alone = Alternative(conjuncts=((item,),))
                return None if self._terminals.is_empty(alone) else item
            case Expression(node=node):
                return None if matches_nothing(with_rust_sets(node)) else item
            case Reference(name=name):
                return item if name in self._known else None
            case Group(alternatives=alternatives):
                kept = self._alternatives(alternatives)
                return Group(alternatives=kept) if kept else None
            case Repetition(item=inner, minimum=minimum):
                pruned = self._item(inner)
                if pruned is None:
                    return Literal(text="") if minimum == 0 else None
                return replace(item, item=pruned)
