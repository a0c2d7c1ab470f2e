"""A GBNF grammar lowered: its rules as rules of texts, because its terminals are characters and not lexemes."""

from compiler_pool.form.spending import ExpansionSpending
from compiler_pool.kinds.texts import (
    NOTHING,
    Piece,
    Repeated,
    TextGrammar,
    TextNode,
    Use,
    fixed,
    in_order,
    one_of,
)
from registry.kinds.gbnf import ROOT
from registry.kinds.grammar import Alternative, Definition, Expression, Group, Item, Literal, Reference, Repetition
from registry.kinds.rereading import gbnf_definitions


def gbnf_texts(canonical_text: str, spending: ExpansionSpending) -> TextGrammar:
    """The texts of a canonical GBNF grammar. Raises `ContractRejectedError` if it is none."""
    definitions = gbnf_definitions(canonical_text)
    spending.step(len(definitions))
    return TextGrammar(rules={name: _definition(found) for name, found in definitions.items()}, root=ROOT)


def _definition(definition: Definition) -> TextNode:
    return _alternatives(definition.alternatives)


def _alternatives(alternatives: tuple[Alternative, ...]) -> TextNode:
    return one_of(*(in_order(*map(_item, alternative.conjuncts[0])) for alternative in alternatives))


def _item(item: Item) -> TextNode:
    match item:
        case Literal(text=text):
            return fixed(text)
        case Expression(node=node):
            return Piece(tree=node)
        case Reference(name=name):
            return Use(rule=name)
        case Group(alternatives=alternatives):
            return _alternatives(alternatives)
        case Repetition(item=inner, minimum=minimum, maximum=maximum):
            part = _item(inner)
            return NOTHING if part == NOTHING else Repeated(part=part, minimum=minimum, maximum=maximum)
        case _:
            raise AssertionError("GBNF has no other items")
