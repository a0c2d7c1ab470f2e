"""Arrays by states, written by halves: 2^k items from one state to another are two times 2^(k-1).

So neither the rules nor what the engine holds at one place grow with the length. What they grow with is the square of
the states that lead to each other in many ways.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from compiler_pool.form.nodes import ItemMachine
from compiler_pool.lark.grammar import LarkRules
from compiler_pool.lark.repeats import one_of

Steps = Sequence[Mapping[int, str]]
"""By state: by state after it, one more item."""

_COMMA: Final = '","'


def write_halves(name: str, node: ItemMachine, steps: Steps, rules: LarkRules) -> None:
    """Add the rule of a pruned machine, whatever its bounds are."""
    _HalvesWriter(name, node, steps, rules).write()


class _HalvesWriter:
    def __init__(self, name: str, node: ItemMachine, steps: Steps, rules: LarkRules) -> None:
        self._name = name
        self._node = node
        self._rules = rules
        self._steps = steps
        self._spans: dict[tuple[int, int], dict[int, str]] = {}
        self._tails: dict[tuple[int, int | None, int], str | None] = {}

    def write(self) -> None:
        node = self._node
        alternatives = ['"]"'] if node.states[0].is_final and node.at_least == 0 else []
        least = max(node.at_least - 1, 0)
        # Past as many items as there are states, only those that change nothing go on for ever.
        num_states = len(node.states)
        bounds: list[tuple[int, int | None]] = [(least, None if node.at_most is None else node.at_most - 1)]
        if node.at_most is None and least <= num_states:
            bounds = [(least, num_states), (num_states + 1, None)]
        for target, item in self._steps[0].items() if node.at_most != 0 else ():
            for low, high in bounds:
                tail = self._tail(low, high, target)
                if tail is not None:
                    alternatives.append(f"{item} {tail}")
        self._rules.rule(self._name, f'"[" {one_of(alternatives)}')

    def _tail(self, least: int, most: int | None, state: int) -> str | None:
        """The rule of `least` to `most` more items from a state, each after a comma, and the bracket; None if none."""
        key = (least, most, state)
        if key not in self._tails:
            own = f"{self._name}_t{least}_{'' if most is None else most}_{state}"
            # Only a tail without bounds leads back to itself; every state of a pruned machine has such a one.
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
        ends += [f"{_COMMA} {item} {self._tail(0, None, target)}" for target, item in steps.items()]
        return one_of(ends) if loop is None else f"({_COMMA} {loop})* {one_of(ends)}" if ends else ""

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
