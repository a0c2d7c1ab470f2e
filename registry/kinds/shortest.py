"""The shortest text of a grammar, or that it has none: a least fixpoint, found as shortest paths are.

Intersections and complements are estimated from below (the longest conjunct; nothing at all), so a grammar that is
refused is rightly refused, and one that is empty for subtler reasons may pass.
"""

from collections.abc import Mapping
from heapq import heappop, heappush

from registry.kinds.grammar import (
    Alternative,
    Complement,
    Definition,
    EmbeddedSchema,
    Expression,
    Group,
    Item,
    Literal,
    Reference,
    Repetition,
    Substring,
)
from registry.kinds.pattern_sizes import shortest_match_bytes

_LARGE = 2**31
"""Sums stop growing here: longer than any limit allows."""


def shortest_texts(definitions: Mapping[str, Definition]) -> dict[str, int]:
    """Bytes of the shortest text of each definition; one that is missing has none. In n log n of their size."""
    network = _Network()
    for name, definition in definitions.items():
        network.define(name, definition)
    return network.solve()


class _Network:
    """Nodes that are a minimum, a maximum or a sum of others; each is settled once, the smallest first."""

    def __init__(self) -> None:
        self._users: list[list[int]] = []
        self._kinds: list[str] = []
        self._factors: list[int] = []
        self._waiting: list[int] = []
        self._values: list[int] = []
        self._names: dict[str, int] = {}
        self._heap: list[tuple[int, int]] = []

    def define(self, name: str, definition: Definition) -> None:
        root = self._alternatives(definition.alternatives)
        parts = [root] if definition.suffix is None else [root, self._item(definition.suffix)]
        self._link(self._named(name), parts)

    def solve(self) -> dict[str, int]:
        settled: dict[int, int] = {}
        while self._heap:
            value, node = heappop(self._heap)
            if node in settled:
                continue
            settled[node] = value
            for user in self._users[node]:
                self._offer(user, value)
        return {name: settled[node] for name, node in self._names.items() if node in settled}

    def _offer(self, user: int, value: int) -> None:
        self._waiting[user] -= 1
        if self._kinds[user] == "least":
            heappush(self._heap, (value, user))
            return
        if self._kinds[user] == "most":
            self._values[user] = max(self._values[user], value)
        else:
            self._values[user] = min(self._values[user] + value * self._factors[user], _LARGE)
        if self._waiting[user] == 0:
            heappush(self._heap, (self._values[user], user))

    def _node(self, kind: str, parts: list[int], *, factor: int = 1) -> int:
        number = self._empty(kind, factor)
        self._link(number, parts)
        return number

    def _empty(self, kind: str, factor: int = 1) -> int:
        self._users.append([])
        self._kinds.append(kind)
        self._factors.append(factor)
        self._waiting.append(0)
        self._values.append(0)
        return len(self._kinds) - 1

    def _link(self, number: int, parts: list[int]) -> None:
        self._waiting[number] = len(parts)
        for part in parts:
            self._users[part].append(number)
        if not parts and self._kinds[number] != "least":
            heappush(self._heap, (0, number))

    def _named(self, name: str) -> int:
        if name not in self._names:
            self._names[name] = self._empty("sum")
        return self._names[name]

    def _leaf(self, value: int | None) -> int:
        """A text of known length; `None` is none."""
        number = self._empty("least")
        if value is not None:
            heappush(self._heap, (value, number))
        return number

    def _alternatives(self, alternatives: tuple[Alternative, ...]) -> int:
        return self._node("least", [self._alternative(alternative) for alternative in alternatives])

    def _alternative(self, alternative: Alternative) -> int:
        sequences = [self._node("sum", [self._item(item) for item in items]) for items in alternative.conjuncts]
        return self._node("most", sequences)

    def _item(self, item: Item) -> int:
        match item:
            case Literal():
                return self._leaf(_least_literal(item))
            case Expression():
                least = shortest_match_bytes(item.node)
                # Another case may be shorter in bytes, never shorter than one byte for four.
                return self._leaf(least if least is None or not item.ignore_case else -(-least // 4))
            case Reference():
                return self._named(item.name)
            case EmbeddedSchema():
                return self._leaf(int(item.contract.profile.observed["max_shortest_instance_bytes"]))
            case Substring() | Complement():
                return self._leaf(0)
            case Group():
                return self._alternatives(item.alternatives)
            case Repetition():
                return (
                    self._leaf(0)
                    if item.minimum == 0
                    else self._node("sum", [self._item(item.item)], factor=item.minimum)
                )


def _least_literal(literal: Literal) -> int:
    # Without regard to case a character may have a shorter sibling (U+212A is `k`), never one of no bytes.
    return len(literal.text) if literal.ignore_case else len(literal.text.encode())
