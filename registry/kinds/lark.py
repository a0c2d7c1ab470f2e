"""A Lark grammar as a contract, in the dialect of llguidance 1.9.1: the whole output is one parse of `start`.

The canonical form takes spelling away and does no logic: comments, blanks, names, unused definitions, imports (which
become the terminals they stand for), one spelling for strings, expressions and repetitions. What is one lexeme stays
one lexeme, and alternatives keep their order, because both decide what the engine's lexer reads.
"""

from collections.abc import Mapping

from policy.rejection import RejectionCode
from registry.contract import CanonicalContract, ContractKind, JsonValue
from registry.kinds.faults import place, refuse, text_of
from registry.kinds.grammar import Alternative, Definition, Reference, items_of
from registry.kinds.grammar_names import reach
from registry.kinds.lark_ignores import ignores_anything
from registry.kinds.lark_parser import LarkParser, LarkText
from registry.kinds.lark_rules import START, LarkRules
from registry.kinds.lark_text import LarkWriter
from registry.kinds.parts import Parts
from registry.kinds.shortest import shortest_texts
from registry.kinds.terms import Terms


def read_lark(value: JsonValue, terms: Terms) -> CanonicalContract:
    """The contract that a Lark text is. Raises `ContractRejectedError`."""
    text = text_of(value, "Lark grammar")
    parts = Parts(terms)
    parts.check("max_grammar_bytes", len(text.encode()), "The size of the grammar")
    found = LarkParser(text, terms, parts).parse()
    LarkRules(text, found).check()
    definitions = found.definitions
    ignored = [name for _, alternatives in found.ignores for name in _names(alternatives)]
    reached = reach(definitions, [START, *ignored])
    parts.check("max_path", reached.depth, "The longest chain of rules and terminals", keyword=START)
    _check_ignores(text, found)
    used = {name: definitions[name] for name in reached.order}
    _check_shortest(used, parts)
    return parts.finish(
        ContractKind.LARK,
        written := _written(used, found),
        text=written,
        depth=reached.depth,
        num_rules=len(used),
        num_references=reached.num_references,
        is_recursive=reached.is_recursive,
    )


def _names(alternatives: tuple[Alternative, ...]) -> list[str]:
    return [item.name for item in items_of(alternatives) if isinstance(item, Reference)]


def _check_ignores(text: str, found: LarkText) -> None:
    for position, alternatives in found.ignores:
        if ignores_anything(alternatives, found.definitions):
            message = f"`%ignore` at {place(text, position)} matches nearly anything: nothing would be demanded."
            refuse(RejectionCode.UNSUPPORTED_VALUE, message, keyword="%ignore")


def _check_shortest(used: Mapping[str, Definition], parts: Parts) -> None:
    least = shortest_texts(used).get(START)
    if least is None:
        refuse(RejectionCode.UNSATISFIABLE, "No finite text is a parse of `start`.", keyword=START)
    parts.check("max_shortest_instance_bytes", least, "The shortest text", keyword=START)


def _written(used: Mapping[str, Definition], found: LarkText) -> str:
    names = {START: START}
    num_terminals = 0
    for name, definition in used.items():
        if definition.is_terminal:
            names[name] = f"T{num_terminals}"
            num_terminals += 1
        elif name != START:
            names[name] = f"r{len(names) - num_terminals}"
    writer = LarkWriter(names)
    lines = [writer.definition(definition) for definition in used.values()]
    lines.extend(f"%ignore {writer.alternatives(alternatives)}" for _, alternatives in found.ignores)
    return "\n".join(lines)
