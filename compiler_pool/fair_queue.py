"""A bounded waiting line that takes partitions in turn, so that one tenant's burst delays its own jobs first."""

import asyncio
from collections import OrderedDict, deque
from typing import Generic, TypeVar

from compiler_pool.job import Partition

Item = TypeVar("Item")


class FairQueue(Generic[Item]):
    """Waiters for one kind of thing; `offer` serves partitions round-robin, each first come first served.

    The thing is handed over in the future itself, so nobody can overtake between a turn and its use. Owned by one
    event loop; nothing here awaits, so no call can be seen half done.
    """

    def __init__(self, *, max_queued: int) -> None:
        self._max_queued = max_queued
        self._lines: OrderedDict[Partition, deque[asyncio.Future[Item]]] = OrderedDict()
        self._num_queued = 0

    def __len__(self) -> int:
        return self._num_queued

    @property
    def is_full(self) -> bool:
        """Whether `join` would be over the bound."""
        return self._num_queued >= self._max_queued

    def join(self, partition: Partition) -> asyncio.Future[Item]:
        """A place in the partition's line: await it, and call `leave` whatever happens."""
        place: asyncio.Future[Item] = asyncio.get_running_loop().create_future()
        self._lines.setdefault(partition, deque()).append(place)
        self._num_queued += 1
        return place

    def leave(self, partition: Partition, place: asyncio.Future[Item]) -> None:
        """Give the place up; one that was served has already left the line."""
        line = self._lines.get(partition)
        if line is not None and place in line:
            line.remove(place)
            self._num_queued -= 1
            if not line:
                del self._lines[partition]

    def offer(self, item: Item) -> bool:
        """Hand the item to the first waiter of the partition whose turn it is; false when nobody waits."""
        while self._lines:
            partition, line = next(iter(self._lines.items()))
            place = line.popleft()
            self._num_queued -= 1
            # Its next waiter comes after everybody else's.
            self._lines.move_to_end(partition)
            if not line:
                del self._lines[partition]
            if not place.done():
                place.set_result(item)
                return True
        return False
