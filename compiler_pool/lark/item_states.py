"""Arrays by states as rules: a state is what may still come, up to the closing bracket.

States that are many in a row, and counts of items, are written by halves: a rule for 2^k items from one state to
another is two rules for 2^(k-1). So neither the rules nor what the engine holds at one place grow with the length.
"""

from collections.abc import Callable
from typing import Final

from compiler_pool.form.nodes import ItemMachine, ItemMove, Items, ItemState, NodeId
from compiler_pool.lark.grammar import LarkRules
from compiler_pool.lark.repeats import one_of

MAX_CHAIN: Final = 48
"""Rules that end within each other at one closing bracket: each is an item in the engine's row there."""

_COMMA: Final = '","'


def write_item_machine(name: str, node: ItemMachine, rules: LarkRules, of: Callable[[NodeId], str]) -> None:
    """Add the rule of a pruned machine."""
    _StateWriter(name, node, rules, of).write()


def places_as_states(node: Items) -> ItemMachine:
    """Items of a long prefix as states."""
    num_prefix = len(node.prefix)
    states = [
        ItemState(is_final=place >= node.at_least, moves=(ItemMove(item=item, target=place + 1),))
        for place, item in enumerate(node.prefix)
    ]
    repeated = () if node.rest is None else (ItemMove(item=node.rest, target=num_prefix),)
    states.append(ItemState(is_final=True, moves=repeated))
    is_bounded_by_states = node.rest is None
    return ItemMachine(
        states=tuple(states),
        at_least=node.at_least if node.at_least > num_prefix else 0,
        at_most=None if is_bounded_by_states else node.at_most,
    )


class _StateWriter:
    def __init__(self, name: str, node: ItemMachine, rules: LarkRules, of: Callable[[NodeId], str]) -> None:
        self._name = name
        self._node = node
        self._rules = rules
        self._of = of
        self._steps: list[dict[int, str]] = [self._step(state) for state in node.states]
        self._spans: dict[tuple[int, int], dict[int, str]] = {}
        self._tails: dict[tuple[int, int | None, int], str | None] = {}

    def write(self) -> None:
        node = self._node
        alternatives: list[str] = []
        if node.states[0].is_final and node.at_least == 0:
            alternatives.append('"]"')
        least = max(node.at_least - 1, 0)
        most = None if node.at_most is None else node.at_most - 1
        if most is None and least == 0 and self._is_deep():
            # Past as many items as there are states, only loops go on.
            least_and_most: list[tuple[int, int | None]] = [(0, len(node.states)), (len(node.states) + 1, None)]
        else:
            least_and_most = [(least, most)]
        if most is None or most >= 0:
            for target, item in self._steps[0].items():
                for low, high in least_and_most:
                    tail = self._tail(low, high, target)
                    if tail is not None:
                        alternatives.append(f"{item} {tail}")
        self._rules.rule(self._name, f'"[" {one_of(alternatives)}')

    def _step(self, state: ItemState) -> dict[int, str]:
        """By state after it, one more item."""
        items: dict[int, list[str]] = {}
        for move in state.moves:
            items.setdefault(move.target, []).append(self._of(move.item))
        return {target: one_of(listed) for target, listed in items.items()}

    def _is_deep(self) -> bool:
        """Whether more rules than `MAX_CHAIN` could end within each other."""
        return len(self._node.states) > MAX_CHAIN

    def _tail(self, least: int, most: int | None, state: int) -> str | None:
        """The rule of `least` to `most` more items from a state, each after a comma, and the bracket; None if none."""
        key = (least, most, state)
        if key not in self._tails:
            bound = "e" if most is None else most
            own = f"{self._name}_t{least}_{bound}_{state}"
            # Only a tail without bounds leads back to itself; such states have been pruned to those with an end.
            self._tails[key] = self._rules.rule_name(own) if (least, most) == (0, None) else None
            body = self._body(least, most, state)
            self._tails[key] = self._rules.rule(own, body) if body else None
        return self._tails[key]

    def _body(self, least: int, most: int | None, state: int) -> str:
        if most is None and least == 0:
            return self._endless(state)
        if most == 0:
            return '"]"' if self._node.states[state].is_final else ""
        size = (least or most or 0).bit_length() - 1
        count = 1 << size
        alternatives: list[str] = []
        if least == 0:
            shorter = self._tail(0, count - 1, state)
            alternatives += [] if shorter is None else [shorter]
        for target, span in self._span(size, state).items():
            tail = self._tail(max(least - count, 0), None if most is None else most - count, target)
            if tail is not None:
                alternatives.append(f"{span} {tail}")
        return " | ".join(alternatives)

    def _endless(self, state: int) -> str:
        """Any number of items: those that change nothing are a repeat, so that no rule ends within itself."""
        steps = dict(self._steps[state])
        loop = steps.pop(state, None)
        ends = ['"]"'] if self._node.states[state].is_final else []
        for target, item in steps.items():
            tail = self._tail(0, None, target)
            assert tail is not None
            ends.append(f"{_COMMA} {item} {tail}")
        return one_of(ends) if loop is None else f"({_COMMA} {loop})* {one_of(ends)}"

    def _span(self, size: int, state: int) -> dict[int, str]:
        """By state after them, 2^size items from a state, each after a comma."""
        key = (size, state)
        if key not in self._spans:
            bodies: dict[int, list[str]] = {}
            if size == 0:
                bodies = {target: [f"{_COMMA} {item}"] for target, item in self._steps[state].items()}
            else:
                for middle, first in self._span(size - 1, state).items():
                    for target, second in self._span(size - 1, middle).items():
                        bodies.setdefault(target, []).append(f"{first} {second}")
            self._spans[key] = {
                target: self._rules.rule(f"{self._name}_s{size}_{state}_{target}", " | ".join(listed))
                for target, listed in bodies.items()
            }
        return self._spans[key]
