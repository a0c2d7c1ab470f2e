"""Where the sequences of one measured case report that they have ended."""

from dataclasses import dataclass, field
from threading import Condition
from typing import Final

from inference_node.protocol import Finish, GenerateEvent, TokenEvent

_PATIENCE_SECONDS: Final = 120.0


@dataclass(slots=True, eq=False)
class Finished:
    """Where all sequences of a case report."""

    changed: Condition = field(default_factory=Condition)
    finishes: list[tuple[int, Finish]] = field(default_factory=list)
    num_tokens: int = 0
    """Of all answers so far, those that have not ended too."""
    num_forced: int = 0

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
    """Counts tokens and keeps the end. Called from the step loop's thread alone."""

    into: Finished
    number: int

    def put(self, event: GenerateEvent) -> None:
        if isinstance(event, TokenEvent):
            self.into.num_tokens += len(event.token_ids)
            self.into.num_forced += event.num_forced_tokens
        if isinstance(event, Finish):
            with self.into.changed:
                self.into.finishes.append((self.number, event))
                self.into.changed.notify()
