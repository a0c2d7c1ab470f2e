"""Earley's recogniser over networks: whether a text is derived from a rule, whatever the grammar looks like.

Left recursion, empty rules and ambiguity are all the same to it. Time grows with the cube of the text at worst; the
process it runs in is killed when its time is over, and then there is no verdict.
"""

from collections.abc import Iterator
from typing import TypeAlias

from gateway.validation.kinds.networks import Enter, Networks, Pass, Scan, Step
from gateway.validation.kinds.reading import Reading, Terminal, places
from registry.kinds.parameter_values import NO_PARAMETER, Parameter

_Item: TypeAlias = tuple[int, int, Parameter]
"""A state, the stage at which its rule was entered, and the rule's parameter."""
_Entry: TypeAlias = tuple[str, Parameter]


def recognises(networks: Networks, root: str, text: str) -> bool:
    """Whether the whole text is derived from `root`."""
    return _Recogniser(networks, root, text).run()


class _Recogniser:
    """Works in stages: the first before any lexeme, where nothing is skipped; then one for each place in the text, the
    first of which an empty lexeme leads to."""

    def __init__(self, networks: Networks, root: str, text: str) -> None:
        self._networks = networks
        self._root: _Entry = (root, NO_PARAMETER)
        self._reading = Reading(text)
        self._items: list[set[_Item]] = [set() for _ in range(len(text) + 2)]
        self._waiting: list[dict[_Entry, list[_Item]]] = [{} for _ in range(len(text) + 2)]

    def run(self) -> bool:
        self._items[0].add((self._networks.starts[self._root[0]], 0, NO_PARAMETER))
        goal, ends = len(self._items) - 2, 0
        for at in range(goal + 2):
            if self._settle(at):
                ends |= 1 << _place(at)
            if at <= goal:
                self._items[at] = set()  # never asked for again
        # What may stand between lexemes may also stand after the last one.
        return any(self._after_skipping(end) >> goal & 1 for end in places(ends))

    def _settle(self, at: int) -> bool:
        """Follow everything that costs no further character; whether the root can end here."""
        agenda = list(self._items[at])
        ended: set[_Entry] = set()
        is_root_over = False
        while agenda:
            item = agenda.pop()
            state, origin, parameter = item
            reached: list[_Item] = []
            rule = self._networks.finals.get(state)
            if rule is not None:
                entry = (rule, parameter)
                is_root_over |= entry == self._root and origin == 0
                if origin == at:
                    ended.add(entry)
                reached += self._waiting[origin].get(entry, ())
            for step in self._networks.steps[state]:
                reached += self._after(step, item, at, ended)
            for other in reached:
                if other not in self._items[at]:
                    self._items[at].add(other)
                    agenda.append(other)
        return is_root_over

    def _after(self, step: Step, item: _Item, at: int, ended: set[_Entry]) -> list[_Item]:
        """What a step leads to here; what it leads to further on is noted there."""
        _, origin, parameter = item
        after = (step.target, origin, parameter)
        match step:
            case Pass(condition=condition):
                return [after] if condition is None or condition(parameter) else []
            case Enter(rule=name, argument=argument):
                entered = (name, argument(parameter))
                self._waiting[at].setdefault(entered, []).append(after)
                inside = (self._networks.starts[name], at, entered[1])
                # A rule that was over as soon as it began does not end again for who comes later.
                return [inside, after] if entered in ended else [inside]
            case Scan(terminal=terminal):
                stages = [end + 1 for end in self._ends(terminal, at)]
                for stage in stages:
                    if stage != at:
                        self._items[stage].add(after)
                return [after] if at in stages else []

    def _ends(self, terminal: Terminal, at: int) -> Iterator[int]:
        starts = self._after_skipping(_place(at)) if at else 1
        return places(self._reading.ends_after(terminal, starts))

    def _after_skipping(self, at: int) -> int:
        skipped = self._networks.skipped
        found = new = 1 << at
        while skipped is not None and new:
            new = self._reading.ends_after(skipped, new) & ~found
            found |= new
        return found


def _place(stage: int) -> int:
    return max(stage - 1, 0)
