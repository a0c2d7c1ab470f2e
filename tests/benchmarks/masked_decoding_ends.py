"""Where the sequences of one measured case report that they have ended."""

from dataclasses import dataclass, field
from threading import Condition
from typing import Final

from inference_node.protocol import Finish, GenerateEvent

_PATIENCE_SECONDS: Final = 120.0


@dataclass(slots=True, eq=False)
class Finished:
    """Where all sequences of a case report."""

    changed: Condition = field(default_factory=Condition)
    finishes: list[tuple[int, Finish]] = field(default_factory=list)

    def sink(self, number: int) -> "Sink":
        """Of one sequence."""
        return Sink(self, number)

    def next_after(self, count: int) -> int:
        """Wait until there are more than `count`; how many there are."""
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.finishes) > count, _PATIENCE_SECONDS), "nobody ends"
            return len(self.finishes)


@dataclass(slots=True, eq=False)
class Sink:
    """Only the end is of interest."""

    into: Finished
    number: int

    def put(self, event: GenerateEvent) -> None:
        if isinstance(event, Finish):
            with self.into.changed:
                self.into.finishes.append((self.number, event))
                self.into.changed.notify()
