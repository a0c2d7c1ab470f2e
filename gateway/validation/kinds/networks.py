"""A grammar as networks: one for each rule, whose steps read a lexeme, enter a rule, or cost nothing."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from gateway.validation.errors import UnjudgeableContractError
from gateway.validation.kinds.reading import Terminal
from registry.kinds.parameter_values import Argument, Condition

MAX_STATES: Final = 200_000
"""Of all networks of a contract: repetitions are written out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """Read a lexeme."""

    terminal: Terminal
    target: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Enter:
    """Read a text of a rule, which is entered with a parameter made from the own one."""

    rule: str
    argument: Argument
    target: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Pass:
    """Go on, if the condition on the own parameter holds."""

    condition: Condition | None
    target: int


Step: TypeAlias = Scan | Enter | Pass


@dataclass(slots=True, kw_only=True)
class Networks:
    """States by number; every rule has one where it begins and one where it ends."""

    steps: list[list[Step]] = field(default_factory=list)
    starts: dict[str, int] = field(default_factory=dict)
    finals: dict[int, str] = field(default_factory=dict)
    """The rule that ends at a state."""
    skipped: Terminal | None = None
    """What may stand between two lexemes."""

    def state(self) -> int:
        """A new state. Raises `UnjudgeableContractError`."""
        if len(self.steps) >= MAX_STATES:
            raise UnjudgeableContractError("the repetitions of the grammar come to too many states")
        self.steps.append([])
        return len(self.steps) - 1

    def step(self, source: int, step: Step) -> None:
        """Add a step."""
        self.steps[source].append(step)

    def free(self, source: int, target: int, condition: Condition | None = None) -> None:
        """Add a step that reads nothing."""
        self.steps[source].append(Pass(condition=condition, target=target))

    def rule(self, name: str) -> tuple[int, int]:
        """The two ends of a new rule's network."""
        start, end = self.state(), self.state()
        self.starts[name] = start
        self.finals[end] = name
        return start, end

    def times(
        self, source: int, target: int, minimum: int, maximum: int | None, once: Callable[[int, int], None]
    ) -> None:
        """`once` adds what is repeated between two states."""
        at = source
        for _ in range(minimum):
            after = self.state()
            once(at, after)
            at = after
        if maximum is None:
            loop = self.state()
            self.free(at, loop)
            once(loop, loop)
            self.free(loop, target)
            return
        for _ in range(maximum - minimum):
            self.free(at, target)
            after = self.state()
            once(at, after)
            at = after
        self.free(at, target)
