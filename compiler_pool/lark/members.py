"""Objects as rules: one for each state of a machine, and whether it is reached before any member or after one.

The bracket or comma before a member is part of the member's first literal or terminal, because what is one token of
the engine's lexer in one place must not be two in another: it takes the longest that it finds.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from compiler_pool.form.languages import Language
from compiler_pool.form.nodes import MemberMachine, NodeId
from compiler_pool.form.spelling import spell_string
from compiler_pool.lark.grammar import LarkRules
from compiler_pool.lark.strings import literal, name_terminal


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """A state, before the first member or after one."""

    state: int
    is_first: bool

    def after(self, state: int, *, with_member: bool) -> "_Place":
        """A state that follows."""
        return _Place(state=state, is_first=self.is_first and not with_member)


_Alternative: TypeAlias = "tuple[str, _Place | None]"
"""What is written, and where it goes on."""


def write_members(name: str, node: MemberMachine, rules: LarkRules, of: Callable[[NodeId], str]) -> None:
    """Add the rule of a pruned machine, and rules of its own named from it."""
    _MemberWriter(name, node, rules, of).write()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Body:
    """What comes at a place: members that lead back to it, any number of them, and then one of the alternatives."""

    repeated: tuple[str, ...]
    alternatives: tuple[_Alternative, ...]

    def joined(self, alternatives: list[str]) -> str:
        """The body of a rule, the alternatives as they are written."""
        ends = " | ".join(dict.fromkeys(alternatives))
        if not self.repeated:
            return ends
        ends = ends if len(alternatives) == 1 else f"({ends})"
        # A repeat, and no rule that calls itself: at the end of an object nothing is left to be closed for each member.
        return f"({' | '.join(dict.fromkeys(self.repeated))})* {ends}"


class _MemberWriter:
    def __init__(self, name: str, node: MemberMachine, rules: LarkRules, of: Callable[[NodeId], str]) -> None:
        self._name = name
        self._states = node.states
        self._rules = rules
        self._of = of
        self._bodies: dict[_Place, _Body] = {}
        self._inlined: set[_Place] = set()

    def write(self) -> None:
        """All places that the first one reaches."""
        start = _Place(state=0, is_first=True)
        num_uses = self._read(start)
        # What is written in only one place, or is short, needs no rule of its own. Nothing goes in circles: what leads
        # back to itself is repeated, and what goes round through others has a way out somewhere.
        self._inlined = {
            place
            for place, body in self._bodies.items()
            if place != start and not body.repeated and len(body.alternatives) == 1
            and (num_uses[place] == 1 or body.alternatives[0][1] is None)
        }  # fmt: skip
        for place, body in self._bodies.items():
            if place not in self._inlined:
                self._rules.rule(self._rule(place), body.joined([self._line(one) for one in body.alternatives]))

    def _read(self, start: _Place) -> dict[_Place, int]:
        """Make the bodies of all places; answers how often each is referred to."""
        num_uses: dict[_Place, int] = {}
        pending = deque([start])
        while pending:
            place = pending.popleft()
            if place in self._bodies:
                continue
            self._bodies[place] = body = self._body(place)
            for _, target in body.alternatives:
                if target is not None:
                    num_uses[target] = num_uses.get(target, 0) + 1
                    pending.append(target)
        return num_uses

    def _body(self, place: _Place) -> _Body:
        state = self._states[place.state]
        repeated: list[str] = []
        alternatives: list[_Alternative] = []
        for move in state.moves:
            written = f"{self._named(move.names, '{' if place.is_first else ',')} {self._of(move.value)}"
            target = place.after(move.target, with_member=True)
            if target == place:
                repeated.append(written)
            else:
                alternatives.append((written, target))
        alternatives += [("", place.after(target, with_member=False)) for target in state.skips]
        if state.is_final:
            alternatives.append((literal("{}" if place.is_first else "}"), None))
        return _Body(repeated=tuple(repeated), alternatives=tuple(dict.fromkeys(alternatives)))

    def _named(self, names: str | Language, before: str) -> str:
        """A name with what stands before it and the colon."""
        if isinstance(names, str):
            return literal(f"{before}{spell_string(names)}:")
        return self._rules.terminal(f"{literal(before)} {name_terminal(names, self._rules)}")

    def _line(self, alternative: _Alternative) -> str:
        """One alternative, with what comes after it as far as that has no rule of its own."""
        written: list[str] = []
        rest: _Alternative | None = alternative
        while rest is not None:
            text, target = rest
            written.append(text)
            rest = None
            if target in self._inlined:
                rest = self._bodies[target].alternatives[0]
            elif target is not None:
                written.append(self._rules.rule_name(self._rule(target)))
        return " ".join(filter(None, written))

    def _rule(self, place: _Place) -> str:
        if place.state == 0 and place.is_first:
            return self._name
        return f"{self._name}_{place.state}{'f' if place.is_first else ''}"
