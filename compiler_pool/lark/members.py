"""Objects as rules: one for each state of a machine that more than one place leads to.

The bracket or comma before a member is part of the member's first literal or terminal, because what is one token of
the engine's lexer in one place must not be two in another: it takes the longest that it finds. So the first member is
written with its bracket where the object begins, whichever member it is, and states are written as they are after one.
"""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

from compiler_pool.form.languages import Language
from compiler_pool.form.nodes import MemberMachine, MemberMove, NodeId
from compiler_pool.form.spelling import spell_string
from compiler_pool.lark.grammar import LarkRules
from compiler_pool.lark.strings import literal, name_terminal

_BEGIN: Final = -1
"""Where no member has come yet. All other places are states, after a member."""
_END: Final = -2
"""Behind the closing bracket."""


def write_members(name: str, node: MemberMachine, rules: LarkRules, of: Callable[[NodeId], str]) -> None:
    """Add the rule of a pruned machine, and rules of its own named from it."""
    _MemberWriter(name, node, rules, of).write()


@dataclass(slots=True, kw_only=True)
class _Body:
    """What comes at a place: members that lead back to it, any number of them, and then a step to another place."""

    repeated: list[str] = field(default_factory=list)
    steps: dict[int, dict[str, None]] = field(default_factory=dict)
    """By the place that follows, what may be written before it."""

    def step(self, target: int, written: str) -> None:
        """One more way."""
        self.steps.setdefault(target, {})[written] = None

    def parts(self, target: int) -> Iterator[str]:
        """What is written up to the place that follows."""
        if self.repeated:
            # A repeat, and no rule that calls itself: at the end of an object nothing is left to close for each member.
            yield f"({' | '.join(dict.fromkeys(self.repeated))})*"
        written = [text for text in self.steps[target] if text]
        if len(written) < len(self.steps[target]):
            if written:
                yield f"({' | '.join(written)})?"
        else:
            yield written[0] if len(written) == 1 else f"({' | '.join(written)})"


class _MemberWriter:
    def __init__(self, name: str, node: MemberMachine, rules: LarkRules, of: Callable[[NodeId], str]) -> None:
        self._name = name
        self._states = node.states
        self._rules = rules
        self._of = of
        self._bodies: dict[int, _Body] = {}
        self._inlined: set[int] = set()
        self._names: dict[tuple[str, int], str] = {}

    def write(self) -> None:
        """All places that the first one reaches."""
        num_uses = self._read()
        # What is written in only one place, or is short, needs no rule of its own. Nothing goes in circles: what leads
        # back to itself is repeated, and what goes round through others has a way out somewhere.
        self._inlined = {
            place
            for place, body in self._bodies.items()
            if place != _BEGIN and len(body.steps) == 1
            and (num_uses[place] == 1 or (_END in body.steps and not body.repeated))
        }  # fmt: skip
        for place, body in self._bodies.items():
            if place not in self._inlined:
                self._rules.rule(self._rule(place), self._text(body))

    def _read(self) -> dict[int, int]:
        """Make the bodies of all places; answers how often each is referred to."""
        num_uses: dict[int, int] = {}
        pending = deque([_BEGIN])
        while pending:
            place = pending.popleft()
            if place in self._bodies:
                continue
            self._bodies[place] = body = self._begin() if place == _BEGIN else self._body(place)
            for target in body.steps:
                if target != _END:
                    num_uses[target] = num_uses.get(target, 0) + 1
                    pending.append(target)
        return num_uses

    def _begin(self) -> _Body:
        """Every member that may be the first one, and what comes after it."""
        body = _Body()
        entered = {0: None}
        pending = deque(entered)
        while pending:
            state = self._states[pending.popleft()]
            for move in state.moves:
                body.step(move.target, self._member(move, "{"))
            if state.is_final:
                body.step(_END, literal("{}"))
            for target in state.skips:
                if target not in entered:
                    entered[target] = None
                    pending.append(target)
        return body

    def _body(self, place: int) -> _Body:
        state = self._states[place]
        body = _Body()
        for move in state.moves:
            written = self._member(move, ",")
            if move.target == place:
                body.repeated.append(written)
            else:
                body.step(move.target, written)
        for target in state.skips:
            body.step(target, "")
        if state.is_final:
            body.step(_END, literal("}"))
        return body

    def _member(self, move: MemberMove, before: str) -> str:
        return f"{self._named(move.names, before)} {self._of(move.value)}"

    def _named(self, names: str | Language, before: str) -> str:
        """A name with what stands before it and the colon."""
        if isinstance(names, str):
            return literal(f"{before}{spell_string(names)}:")
        key = (before, id(names))
        if key not in self._names:
            self._names[key] = self._rules.terminal(f"{literal(before)} {name_terminal(names, self._rules)}")
        return self._names[key]

    def _text(self, body: _Body) -> str:
        """The body of a rule, with what comes after each step as far as that has no rule of its own."""
        if len(body.steps) == 1:
            return " ".join(self._line(body, *body.steps))
        repeated, alone = body.repeated, _Body(steps=body.steps)
        ends = " | ".join(" ".join(self._line(alone, target)) for target in body.steps)
        return f"({' | '.join(dict.fromkeys(repeated))})* ({ends})" if repeated else ends

    def _line(self, body: _Body, target: int) -> Iterator[str]:
        yield from body.parts(target)
        while target in self._inlined:
            body = self._bodies[target]
            (target,) = body.steps
            yield from body.parts(target)
        if target != _END:
            yield self._rules.rule_name(self._rule(target))

    def _rule(self, place: int) -> str:
        return self._name if place == _BEGIN else f"{self._name}_{place}"
