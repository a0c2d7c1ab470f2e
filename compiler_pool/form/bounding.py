"""Ends that a policy sets where the contract sets none, and which goals they narrow.

A bound is added to what a goal asks for, as though the contract had said it; so it narrows, and whatever is then left
without a text is pruned like anything else. Bounds that a contract sets itself are not touched.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from compiler_pool.form.emptiness import is_empty_language
from compiler_pool.form.formats.bounded import ENDLESS, bounded_format
from compiler_pool.form.languages import Language, Lengths, both
from compiler_pool.form.lengths import bounds_of
from compiler_pool.form.making import Goal, Making
from compiler_pool.form.nodes import (
    DistinctItems,
    ItemMachine,
    Items,
    MemberMachine,
    MemberMove,
    Node,
    Numbers,
    Strings,
)
from compiler_pool.form.simplifying import simplified
from compiler_pool.form.undeclared import without_undeclared
from policy.text_bounds import TextBounds
from registry.algebra.formulas import All, Any, Formula, InFormat, ItemsAtMost, ShorterOrEqual
from registry.algebra.keyword_formulas import JsonType

MakeNodes: TypeAlias = Callable[[Formula], list[Node]]


class TextBounding:
    """The bounds of one policy on one contract."""

    def __init__(self, bounds: TextBounds, making: Making) -> None:
        self.bounds = bounds
        self._making = making
        self._noted: dict[tuple[Goal, str], None] = {}
        self._holders: dict[Goal, None] = {}
        self._names: dict[Language, Language | None] = {}

    def noted(self) -> list[tuple[Goal, str]]:
        """Goals and the name of a bound that narrows their values, each pair once.

        What asks for nothing has no place in the contract: whatever holds such values stands for it.
        """
        found: dict[tuple[Goal, str], None] = {}
        for goal, name in self._noted:
            for at in (goal,) if goal or not self._holders else self._holders:
                found[at, name] = None
        return list(found)

    def held_by(self, goal: Goal) -> None:
        """Values of which nothing is asked are in the values of this goal."""
        if goal:
            self._holders[goal] = None

    def is_deepest(self, depth: int, goal: Goal) -> bool:
        """Whether no array and no object may stand inside so many others. Then the goal is noted."""
        if self.bounds.max_depth is None or depth < self.bounds.max_depth:
            return False
        self._note(goal, "max_depth")
        return True

    def nodes(self, goal: Goal, json_type: JsonType, flat: Formula, make: MakeNodes) -> list[Node]:
        """The nodes of a flat formula within the bounds. Raises `ExpansionSpentError`."""
        match json_type:
            case JsonType.STRING if self.bounds.max_string_length is not None:
                return self._strings(goal, flat, make, self.bounds.max_string_length)
            case JsonType.STRING if self.bounds.max_digits is not None and isinstance(flat, InFormat):
                return self._format(goal, flat, make, self.bounds.max_digits)
            case JsonType.ARRAY if self.bounds.max_items is not None:
                return self._arrays(goal, flat, make, self.bounds.max_items)
            case JsonType.OBJECT:
                return self._objects(goal, flat, make)
            case JsonType.NUMBER if self.bounds.max_digits is not None:
                nodes = make(flat)
                if any(isinstance(node, Numbers) and _has_open_end(node) for node in nodes):
                    self._note(goal, "max_digits")  # the writer keeps to it: digits are spelling
                return nodes
            case _:
                return make(flat)

    def _note(self, goal: Goal, name: str) -> None:
        self._noted[goal, name] = None

    def _strings(self, goal: Goal, flat: Formula, make: MakeNodes, longest: int) -> list[Node]:
        nodes = make(flat)
        if not any(isinstance(node, Strings) and bounds_of(node.contents).maximum is None for node in nodes):
            return nodes
        self._note(goal, "max_string_length")
        return make(All(parts=(flat, ShorterOrEqual(length=longest))))

    def _format(self, goal: Goal, flat: InFormat, make: MakeNodes, most: int) -> list[Node]:
        """A format by itself. Beside other wishes its digits are left: what the two leave might be nothing."""
        if not flat.positive or flat.name not in ENDLESS:
            return make(flat)
        self._note(goal, "max_digits")
        return [Strings(contents=bounded_format(flat.name, most))]

    def _arrays(self, goal: Goal, flat: Formula, make: MakeNodes, most: int) -> list[Node]:
        cases: list[Formula] = []
        is_free = False
        for case in self._making.cases(flat):
            if any(isinstance(atom, ItemsAtMost) and atom.term is None for atom in case):
                cases.append(All(parts=case))
            else:
                is_free = True
                cases.append(All(parts=(*case, ItemsAtMost(count=most))))
        if not is_free:
            return make(flat)
        nodes = make(Any(parts=tuple(cases)))
        if not nodes or any(_is_cut(node, most) for node in nodes):
            self._note(goal, "max_items")
        return nodes

    def _objects(self, goal: Goal, flat: Formula, make: MakeNodes) -> list[Node]:
        if self.bounds.max_undeclared is not None:
            closed = without_undeclared(goal, flat, self._making)
            if closed is not None:
                self._note(goal, "max_undeclared")
                return make(closed)
        nodes, longest = make(flat), self.bounds.max_string_length
        if longest is None:
            return nodes
        return [
            self._with_short_names(goal, node, longest) if isinstance(node, MemberMachine) else node for node in nodes
        ]

    def _with_short_names(self, goal: Goal, node: MemberMachine, longest: int) -> MemberMachine:
        states = []
        for state in node.states:
            moves: list[MemberMove] = []
            for move in state.moves:
                names = move.names
                if not isinstance(names, str) and bounds_of(names).maximum is None:
                    self._note(goal, "max_string_length")
                    short = self._short(names, longest)
                    if short is None:
                        continue
                    names = short
                moves.append(replace(move, names=names))
            states.append(replace(state, moves=tuple(moves)))
        return MemberMachine(states=tuple(states))

    def _short(self, names: Language, longest: int) -> Language | None:
        if names not in self._names:
            spending = self._making.spending
            short = simplified(both(names, Lengths(maximum=longest)), spending)
            self._names[names] = None if is_empty_language(short, spending) else short
        return self._names[names]


def _has_open_end(node: Numbers) -> bool:
    """Whether the digits of some range end nowhere: before the point without a bound, after it without a step."""
    return any(
        part.point is None and (part.low is None or part.high is None or part.step is None)
        for part in node.values.parts
    )


def _is_cut(node: Node, most: int) -> bool:
    """Whether arrays of more items may have been left out."""
    match node:
        case Items(rest=rest, at_most=at_most):
            return rest is not None and at_most == most
        case DistinctItems(texts=texts):
            return len(texts) > most
        case _:
            return isinstance(node, ItemMachine)
