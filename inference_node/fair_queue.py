"""Who is served next: waiting sequences, in one line for each partition, and lines take turns by what they were given.

Each partition's service is counted in computed rows. The next place goes to the partition that has been given least;
one that comes back after a pause begins at the least of those that are here, so that silence saves nothing up
(virtual token counters, after Sheng et al., "Fairness in Serving Large Language Models", OSDI 2024).
"""

from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueFull:
    """There is no room. `limit` and `observed` count who waits: of the partition, where that is what is full."""

    is_partitions_own: bool
    limit: int
    observed: int


class FairQueue(Generic[_Item]):
    """Not safe from several threads by itself: the step loop holds its lock."""

    def __init__(self, *, max_waiting: int, partition_share: float, partition_of: Callable[[_Item], str]) -> None:
        """`partition_share` of the queue is as much as one partition can fill, so that others find room."""
        self._max_waiting: Final = max_waiting
        self._max_of_one: Final = max(1, int(max_waiting * partition_share)) if max_waiting else 0
        self._partition_of = partition_of
        self._lines: dict[str, deque[_Item]] = {}
        self._running: Counter[str] = Counter()
        self._served: dict[str, float] = {}
        self._floor = 0.0
        """What the last partition had been given when it left: newcomers to an empty node begin there."""

    def __len__(self) -> int:
        return sum(map(len, self._lines.values()))

    def __iter__(self) -> Iterator[_Item]:
        for line in self._lines.values():
            yield from line

    def refusal(self, partition: str, *, num_free: int) -> QueueFull | None:
        """Why one more of a partition cannot wait, or None. Those for whom a place is free wait only for a step."""
        observed = len(self)
        if observed >= self._max_waiting + num_free:
            return QueueFull(is_partitions_own=False, limit=self._max_waiting, observed=observed)
        of_one = len(self._lines.get(partition, ()))
        if of_one >= self._max_of_one + num_free:
            return QueueFull(is_partitions_own=True, limit=self._max_of_one, observed=of_one)
        return None

    def push(self, item: _Item, *, is_first: bool = False) -> None:
        """Behind its partition's others; before them, where it had a place already and lost it."""
        partition = self._partition_of(item)
        self._arrive(partition)
        line = self._lines.setdefault(partition, deque())
        if is_first:
            line.appendleft(item)
        else:
            line.append(item)

    def peek(self) -> _Item | None:
        """Whose turn it is."""
        partition = self._next_partition()
        return None if partition is None else self._lines[partition][0]

    def pop(self) -> _Item:
        """Take the one whose turn it is; it runs from now on. Raises LookupError where nobody waits."""
        partition = self._next_partition()
        if partition is None:
            raise LookupError("nobody waits")
        item = self._lines[partition].popleft()
        self._running[partition] += 1
        self._tidy(partition)
        return item

    def remove(self, item: _Item) -> None:
        """Take one out of its line. Raises ValueError where it is in none."""
        partition = self._partition_of(item)
        line = self._lines.get(partition)
        if line is None:
            raise ValueError("it does not wait")
        line.remove(item)
        self._tidy(partition)

    def left(self, partition: str) -> None:
        """One that ran, runs no more."""
        self._running[partition] -= 1
        self._tidy(partition)

    def charge(self, partition: str, num_rows: int) -> None:
        """One that runs was given this much."""
        if partition in self._served:
            self._served[partition] += num_rows

    def clear(self) -> list[_Item]:
        """Everybody out."""
        waiting = list(self)
        for partition in list(self._lines):
            self._lines[partition].clear()
            self._tidy(partition)
        return waiting

    def _next_partition(self) -> str | None:
        """Of those who wait: given least, and of equals the one that came first."""
        waiting = [partition for partition, line in self._lines.items() if line]
        return min(waiting, key=lambda partition: self._served[partition], default=None)

    def _arrive(self, partition: str) -> None:
        if partition not in self._served:
            self._served[partition] = min(self._served.values(), default=self._floor)

    def _tidy(self, partition: str) -> None:
        """Forget who neither waits nor runs: the number of partitions has no bound, the number of sequences has."""
        if not self._lines.get(partition):
            self._lines.pop(partition, None)
            if self._running[partition] <= 0:
                del self._running[partition]
                self._floor = max(self._floor, self._served.pop(partition, 0.0))
