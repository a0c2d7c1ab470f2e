"""The nodes of the intermediate form: languages of JSON texts, type by type, with objects and arrays as machines.

A machine reads members or items in the order in which they are generated; it is where presence, counts and conditions
end up. Nodes refer to each other by number, so recursion is a number like any other. Texts are compact: no whitespace,
one spelling per character of a string, members in a fixed order with undeclared ones last.
"""

from dataclasses import dataclass
from typing import NewType, TypeAlias

from compiler_pool.form.languages import Language
from compiler_pool.form.number_sets import NumberSet

NodeId = NewType("NodeId", int)


@dataclass(frozen=True, slots=True, kw_only=True)
class Literals:
    """Whole texts: constants that need no further structure, spelled as they are generated. Never empty."""

    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Strings:
    """JSON strings whose contents are in a language that is not empty."""

    contents: Language


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbers:
    """JSON numbers out of a set that is not empty."""

    values: NumberSet


@dataclass(frozen=True, slots=True, kw_only=True)
class Items:
    """Arrays: the items of `prefix` in order, then any number of `rest` (`None`: no more).

    `at_least` to `at_most` items in all (`None`: without bound); fewer than `prefix` has are as good as any.
    """

    prefix: tuple[NodeId, ...] = ()
    rest: NodeId | None = None
    at_least: int = 0
    at_most: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemMove:
    """One more item, and the state after it."""

    item: NodeId
    target: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemState:
    """Whether the array may end here, and what may come otherwise. Several moves may take the same item."""

    is_final: bool
    moves: tuple[ItemMove, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemMachine:
    """Arrays by states; the first is where every array begins. `at_least` to `at_most` items, beside what states say.

    A long count in states would be as many states; an engine counts it as it can.
    """

    states: tuple[ItemState, ...]
    at_least: int = 0
    at_most: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DistinctItems:
    """Arrays of different values out of `texts`, each at most once, in any order.

    `found_at_least` to `found_at_most` of them are out of the first `num_found` texts.
    """

    texts: tuple[str, ...]
    at_least: int = 0
    at_most: int | None = None
    num_found: int = 0
    found_at_least: int = 0
    found_at_most: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberMove:
    """One more member: its one name, or a language of names; its value; and the state after it."""

    names: str | Language
    value: NodeId
    target: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberState:
    """Whether the object may end here, and what may come otherwise.

    `skips` are states that are entered without a member: what may come there may come here. They lead to no cycle.
    """

    is_final: bool
    moves: tuple[MemberMove, ...] = ()
    skips: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberMachine:
    """Objects by states; the first is where every object begins."""

    states: tuple[MemberState, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnyOf:
    """The texts of any part; none if there are none."""

    parts: tuple[NodeId, ...]


Node: TypeAlias = Literals | Strings | Numbers | Items | ItemMachine | DistinctItems | MemberMachine | AnyOf


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """A contract's texts: nodes by number, and the one to begin with."""

    nodes: tuple[Node, ...]
    root: NodeId
