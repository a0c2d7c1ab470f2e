"""Which parts of Lark terminals match nothing: an intersection can be empty though none of its parts is."""

from collections.abc import Mapping

from compiler_pool.form.emptiness import is_empty_language
from compiler_pool.form.languages import EVERY_STRING, Among, Language, Matching, both, either, excluding
from compiler_pool.form.spending import ExpansionSpending
from compiler_pool.kinds.texts import fixed_tree
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
)
from registry.kinds.rust_sets import with_rust_sets
from registry.pattern_syntax import EMPTY, Choice, PatternNode, Repeat, Sequence


class Terminals:
    """The languages of the terminals of one grammar, as far as they have one here."""

    def __init__(self, definitions: Mapping[str, Definition], spending: ExpansionSpending) -> None:
        self._definitions = definitions
        self._spending = spending
        self._known: dict[str, Language | None] = {}

    def is_empty(self, alternative: Alternative) -> bool:
        """Whether it is certain that no text is in all conjuncts. Raises `ExpansionSpentError`."""
        if len(alternative.conjuncts) == 1 and not any(isinstance(i, Complement) for i in alternative.conjuncts[0]):
            return False  # what is plainly empty is found without looking at languages
        found = self._alternative(alternative)
        return found is not None and is_empty_language(found, self._spending)

    def _alternative(self, alternative: Alternative) -> Language | None:
        """What is not known is left out of an intersection, which can only make it larger."""
        found = [self._items(items) for items in alternative.conjuncts]
        return both(*(each for each in found if each is not None))

    def _alternatives(self, alternatives: tuple[Alternative, ...]) -> Language | None:
        found: list[Language] = []
        for alternative in alternatives:
            parts = [self._items(items) for items in alternative.conjuncts]
            known = [each for each in parts if each is not None]
            if len(known) < len(parts):
                return None
            found.append(both(*known))
        return either(*found)

    def _items(self, items: Items) -> Language | None:
        if len(items) == 1:
            return self._item(items[0])
        trees = [_tree(self._item(item)) for item in items]
        kept = tuple(tree for tree in trees if tree is not None)
        return Matching(tree=Sequence(parts=kept)) if len(kept) == len(trees) else None

    def _item(self, item: Item) -> Language | None:
        self._spending.step()
        match item:
            case Literal(text=text, ignore_case=False):
                return Matching(tree=fixed_tree(text) if text else EMPTY)
            case Expression(node=node, ignore_case=False):
                return Matching(tree=with_rust_sets(node))
            case Reference(name=name):
                return self._named(name)
            case Group(alternatives=alternatives):
                return self._alternatives(alternatives)
            case Repetition(item=inner, minimum=minimum, maximum=maximum):
                tree = _tree(self._item(inner))
                return None if tree is None else Matching(tree=Repeat(node=tree, minimum=minimum, maximum=maximum))
            case Complement(item=inner):
                found = self._item(inner)
                return None if found is None else both(EVERY_STRING, excluding(found))
            case Literal() | Expression() | EmbeddedSchema() | Substring():
                return None

    def _named(self, name: str) -> Language | None:
        if name not in self._known:
            self._known[name] = None
            definition = self._definitions[name]
            if definition.is_terminal:
                self._known[name] = self._alternatives(definition.alternatives)
        return self._known[name]


def _tree(language: Language | None) -> "PatternNode | None":
    """The language as one tree, if it is one without complements and intersections."""
    match language:
        case Matching(tree=tree):
            return tree
        case Among(texts=texts) if texts:
            return Choice(branches=tuple(map(fixed_tree, texts)))
        case _:
            return None
