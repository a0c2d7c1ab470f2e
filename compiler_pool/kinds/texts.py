"""Languages of texts, rule by rule, before it is decided where one lexeme ends and the next begins.

The engine reads lexemes: at each place the longest text that any lexeme allowed there can match. A grammar of
characters means something else, so grammars are written down here first, and `lexing` finds lexemes that change
nothing.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from registry.pattern_syntax import Characters, PatternNode, Sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """Texts that a tree without anchors matches as a whole."""

    tree: PatternNode


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """Free text up to the first of several fixed texts.

    `end` is the one that ends it, and belongs to it; it is one of `marks`, none of which occurs before. Without `end`
    the text goes on to the end of the output. Of the text before `end`, no part is one of `excluded`, and it has at
    most `max_characters`.
    """

    marks: tuple[str, ...]
    end: str | None
    excluded: tuple[str, ...] = ()
    max_characters: int | None = None
    pointer: str = ""
    """Of the format that lets it be free."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedded:
    """JSON, by a rule that stands elsewhere. `starts` are the characters that a text of it may begin with."""

    rule: str
    starts: str
    pointer: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class InOrder:
    """One after the other; the empty text if there are none."""

    parts: "tuple[TextNode, ...]"


@dataclass(frozen=True, slots=True, kw_only=True)
class OneOf:
    """The texts of any part; none if there are none."""

    parts: "tuple[TextNode, ...]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeated:
    """`minimum` to `maximum` times (`None`: without bound)."""

    part: "TextNode"
    minimum: int
    maximum: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """The texts of a rule."""

    rule: str


TextNode: TypeAlias = Piece | Passage | Embedded | InOrder | OneOf | Repeated | Use
Leaf: TypeAlias = Piece | Passage | Embedded

NOTHING: Final = InOrder(parts=())
"""The empty text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextGrammar:
    """Rules by name, and the one that the whole output is derived from."""

    rules: Mapping[str, TextNode]
    root: str


def fixed(text: str) -> TextNode:
    """Exactly one text."""
    if not text:
        return NOTHING
    return Piece(tree=fixed_tree(text))


def fixed_tree(text: str) -> PatternNode:
    """The tree that matches exactly one text."""
    characters = tuple(Characters(ranges=((ord(character),) * 2,)) for character in text)
    return characters[0] if len(characters) == 1 else Sequence(parts=characters)


def in_order(*parts: TextNode) -> TextNode:
    """One after the other, without what adds nothing."""
    flat: list[TextNode] = []
    for part in parts:
        flat.extend(part.parts if isinstance(part, InOrder) else (part,))
    return flat[0] if len(flat) == 1 else InOrder(parts=tuple(flat))


def one_of(*parts: TextNode) -> TextNode:
    """Any of the parts, each once."""
    flat: list[TextNode] = []
    for part in parts:
        flat.extend(part.parts if isinstance(part, OneOf) else (part,))
    kept = tuple(dict.fromkeys(flat))
    return kept[0] if len(kept) == 1 else OneOf(parts=kept)


def uses(node: TextNode) -> Iterator[str]:
    """The rules that a node refers to. Without recursion."""
    pending = [node]
    while pending:
        match pending.pop():
            case Use(rule=rule):
                yield rule
            case InOrder(parts=parts) | OneOf(parts=parts):
                pending.extend(reversed(parts))
            case Repeated(part=part):
                pending.append(part)
            case Piece() | Passage() | Embedded():
                pass
