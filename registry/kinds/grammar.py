"""A grammar as a tree: what Lark and GBNF texts say, without their spelling.

Every node is a value; positions are kept only where a name may turn out to be wrong.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from registry.contract import CanonicalContract, JsonValue
from registry.pattern_syntax import PatternNode


@dataclass(frozen=True, slots=True, kw_only=True)
class Literal:
    """A fixed text, in any case if `ignore_case`."""

    text: str
    ignore_case: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Expression:
    """A regular expression, matched as a whole, in any case if `ignore_case`."""

    node: PatternNode
    ignore_case: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """A rule or terminal by name, with the parameter that it is given."""

    name: str
    position: int
    argument: str | None = None
    """Canonical text of a parameter expression."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedSchema:
    """JSON that satisfies a schema."""

    contract: CanonicalContract


@dataclass(frozen=True, slots=True, kw_only=True)
class Substring:
    """A run of neighbouring pieces out of a text: of its words, or of given pieces."""

    keyword: str
    value: JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """One of several alternatives."""

    alternatives: "tuple[Alternative, ...]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Repetition:
    """An item `minimum` to `maximum` times; `None` is without bound."""

    item: "Item"
    minimum: int
    maximum: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Complement:
    """Every text that the item does not match."""

    item: "Item"


Item: TypeAlias = Literal | Expression | Reference | EmbeddedSchema | Substring | Group | Repetition | Complement
Items: TypeAlias = tuple[Item, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternative:
    """Texts that are in all of `conjuncts`, each of them a sequence; under a condition on the rule's parameter."""

    conjuncts: tuple[Items, ...]
    condition: str | None = None
    """Canonical text of a condition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """A rule, or a terminal: what is matched as one lexeme."""

    name: str
    position: int
    alternatives: tuple[Alternative, ...]
    is_terminal: bool = False
    is_parametric: bool = False
    is_lazy: bool = False
    """Ends at the first place where it can."""
    suffix: "Item | None" = None
    """What a lazy rule ends with."""


EMPTY_TEXT: Final = Literal(text="")


def items_of(alternatives: tuple[Alternative, ...]) -> Iterator[Item]:
    """Every item, groups and what stands in them included, in the order of the text. Without recursion."""
    stack: list[Item] = [item for a in reversed(alternatives) for c in reversed(a.conjuncts) for item in reversed(c)]
    while stack:
        item = stack.pop()
        yield item
        match item:
            case Group():
                stack.extend(i for a in reversed(item.alternatives) for c in reversed(a.conjuncts) for i in reversed(c))
            case Repetition() | Complement():
                stack.append(item.item)
            case _:
                pass


def references_of(definition: Definition) -> Iterator[Reference]:
    """Every use of a name in a definition, in the order of the text."""
    for item in items_of(definition.alternatives):
        if isinstance(item, Reference):
            yield item
    if isinstance(definition.suffix, Reference):
        yield definition.suffix
