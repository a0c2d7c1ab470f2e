"""A grammar of texts, its lexemes settled, as Lark."""

from compiler_pool.form.languages import Both, Except, Language, Matching, both
from compiler_pool.kinds.texts import (
    Embedded,
    InOrder,
    OneOf,
    Passage,
    Piece,
    Repeated,
    TextGrammar,
    TextNode,
    Use,
    fixed_tree,
)
from compiler_pool.lark.grammar import LarkRules
from compiler_pool.lark.strings import raw_terminal
from registry.pattern_syntax import ANY, EMPTY, Choice, PatternNode, Repeat, Sequence

_EMPTY_TEXT = '""'
_ANYTHING = Repeat(node=ANY, minimum=0, maximum=None)
_SOMETHING = Repeat(node=ANY, minimum=1, maximum=None)


def write_texts(grammar: TextGrammar, rules: LarkRules) -> str:
    """Add the rules of a grammar; answers the name of its root."""
    names = {name: rules.rule_name(f"r{number}") for number, name in enumerate(grammar.rules)}
    writer = _Writer(names, rules)
    for number, node in enumerate(grammar.rules.values()):
        rules.rule(f"r{number}", writer.alternatives(node))
    return names[grammar.root]


class _Writer:
    def __init__(self, names: dict[str, str], rules: LarkRules) -> None:
        self._names = names
        self._rules = rules

    def alternatives(self, node: TextNode) -> str:
        """What stands after a rule's colon, or between parentheses."""
        parts = node.parts if isinstance(node, OneOf) else (node,)
        return " | ".join(self._sequence(part) for part in parts)

    def _sequence(self, node: TextNode) -> str:
        if not isinstance(node, InOrder):
            return self._item(node)
        return " ".join(self._item(part) for part in node.parts) or _EMPTY_TEXT

    def _item(self, node: TextNode) -> str:
        match node:
            case Piece(tree=tree):
                return _EMPTY_TEXT if tree == EMPTY else raw_terminal(Matching(tree=tree), self._rules)
            case Passage():
                return raw_terminal(passage_language(node), self._rules)
            case Embedded(rule=rule):
                return rule
            case Use(rule=rule):
                return self._names[rule]
            case InOrder() | OneOf():
                return f"({self.alternatives(node)})"
            case Repeated(part=part, minimum=minimum, maximum=maximum):
                return f"({self.alternatives(part)}){_quantifier(minimum, maximum)}" if maximum != 0 else _EMPTY_TEXT


def _quantifier(minimum: int, maximum: int | None) -> str:
    match (minimum, maximum):
        case (0, None):
            return "*"
        case (1, None):
            return "+"
        case (0, 1):
            return "?"
        case (_, None):
            return f"{{{minimum},}}"
        case _:
            return f"{{{minimum},{maximum}}}"


def passage_language(passage: Passage) -> Language:
    """Free text with the mark that ends it. No text of it is the beginning of another: it ends of itself."""
    end = () if passage.end is None else (fixed_tree(passage.end),)
    most = passage.max_characters
    free: PatternNode = _ANYTHING if most is None else Repeat(node=ANY, minimum=0, maximum=most)
    parts: list[Language] = [Matching(tree=Sequence(parts=(free, *end)))]
    if passage.marks:
        # Before its end no mark is complete; without end there is none at all.
        after = _ANYTHING if passage.end is None else _SOMETHING
        parts.append(Except(part=Matching(tree=Sequence(parts=(_ANYTHING, _any_of(passage.marks), after)))))
    if passage.excluded:
        tree = Sequence(parts=(_ANYTHING, _any_of(passage.excluded), _ANYTHING, *end))
        parts.append(Except(part=Matching(tree=tree)))
    return both(*parts) if len(parts) > 1 else Both(parts=tuple(parts))


def _any_of(texts: tuple[str, ...]) -> PatternNode:
    trees = tuple(fixed_tree(text) for text in texts)
    return trees[0] if len(trees) == 1 else Choice(branches=trees)
