"""A GBNF grammar as a contract: llama.cpp's notation, in which the whole output is derived from `root`.

Its terminals are characters, so the canonical form may join neighbouring texts; alternatives keep their order. It is
not rewritten as Lark: there, terminals are lexemes and the longest one wins, which is another language.
"""

from collections.abc import Mapping

from policy.rejection import RejectionCode
from registry.contract import CanonicalContract, ContractKind, JsonValue
from registry.kinds.faults import place, refuse, shown, text_of
from registry.kinds.gbnf_characters import write_character
from registry.kinds.gbnf_parser import GbnfParser
from registry.kinds.grammar import (
    Alternative,
    Definition,
    Expression,
    Group,
    Item,
    Literal,
    Reference,
    Repetition,
    references_of,
)
from registry.kinds.grammar_names import reach
from registry.kinds.parts import Parts
from registry.kinds.regex_text import quantifier
from registry.kinds.shortest import shortest_texts
from registry.kinds.terms import Terms
from registry.pattern_syntax import ANY, Characters

ROOT = "root"


def read_gbnf(value: JsonValue, terms: Terms) -> CanonicalContract:
    """The contract that a GBNF text is. Raises `ContractRejectedError`."""
    text = text_of(value, "GBNF grammar")
    parts = Parts(terms)
    parts.check("max_grammar_bytes", len(text.encode()), "The size of the grammar")
    definitions = GbnfParser(text, parts).parse()
    if ROOT not in definitions:
        refuse(RejectionCode.UNRESOLVED_REFERENCE, "A grammar starts with the rule `root`.", keyword=ROOT)
    _check_names(text, definitions)
    reached = reach(definitions, [ROOT])
    parts.check("max_path", reached.depth, "The longest chain of rules", keyword=ROOT)
    used = {name: definitions[name] for name in reached.order}
    least = shortest_texts(used).get(ROOT)
    if least is None:
        refuse(RejectionCode.UNSATISFIABLE, "No finite text is derived from `root`.", keyword=ROOT)
    parts.check("max_shortest_instance_bytes", least, "The shortest text", keyword=ROOT)
    names = {name: f"r{number}" if number else ROOT for number, name in enumerate(used)}
    written = "\n".join(f"{names[name]} ::= {_alternatives(d.alternatives, names)}" for name, d in used.items())
    return parts.finish(
        ContractKind.GBNF,
        written,
        text=written,
        depth=reached.depth,
        num_rules=len(used),
        num_references=reached.num_references,
        is_recursive=reached.is_recursive,
    )


def _check_names(text: str, definitions: Mapping[str, Definition]) -> None:
    for definition in definitions.values():
        for reference in references_of(definition):
            if reference.name not in definitions:
                message = f"The rule {shown(reference.name)} at {place(text, reference.position)} is not defined."
                refuse(RejectionCode.UNRESOLVED_REFERENCE, message, keyword=definition.name)


def _alternatives(alternatives: tuple[Alternative, ...], names: Mapping[str, str]) -> str:
    return " | ".join(" ".join(_item(item, names) for item in a.conjuncts[0]) for a in alternatives)


def _item(item: Item, names: Mapping[str, str]) -> str:
    match item:
        case Literal():
            return '"' + "".join(write_character(character, in_class=False) for character in item.text) + '"'
        case Expression(node=Characters() as node):
            return "." if node == ANY else _class(node)
        case Reference():
            return names[item.name]
        case Group():
            return f"({_alternatives(item.alternatives, names)})"
        case Repetition():
            inner = _item(item.item, names)
            return (f"({inner})" if isinstance(item.item, Repetition) else inner) + quantifier(
                item.minimum, item.maximum
            )
        case _:
            raise AssertionError("GBNF has no other items")


def _class(node: Characters) -> str:
    parts = ["^" if node.negated else ""]
    for low, high in node.ranges:
        first, last = (write_character(chr(end), in_class=True) for end in (low, high))
        parts.append(first if low == high else f"{first}-{last}")
    return f"[{''.join(parts)}]"
