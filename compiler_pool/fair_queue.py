"""A bounded waiting line in which every class of urgency and every partition gets its share.

Between classes turns are counted (`standing.TURNS`). Within a class the partition that has had the least of the
workers comes next, by seconds and not by jobs: who sends dear jobs waits for them, not who sends cheap ones. A
partition that comes late starts level with those who are served, so absence is no credit. When the line is full, a
newcomer takes the last place of a less urgent class, or of the partition with the most places: a flood drowns itself.
"""

import asyncio
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

from compiler_pool.job import Partition
from compiler_pool.standing import TURNS, Standing, Urgency

Item = TypeVar("Item")

_ASSUMED_SECONDS: Final = 0.02
"""What a job is taken to cost while it runs: about a compile with its trial. Replaced by what it did cost."""
_MAX_REMEMBERED: Final = 4_096
"""Partitions whose use is remembered although they have nothing here."""


@dataclass(eq=False, slots=True, kw_only=True)
class _Place(Generic[Item]):
    standing: Standing
    served: "asyncio.Future[Item]"


@dataclass(eq=False, slots=True)
class _Account(Generic[Item]):
    """One partition: who waits, how many hold an item, and how many seconds its jobs have had."""

    places: "deque[_Place[Item]]" = field(default_factory=deque)
    num_held: int = 0
    used_seconds: float = 0.0

    @property
    def is_idle(self) -> bool:
        return not self.places and self.num_held == 0


class FairQueue(Generic[Item]):
    """Waiters for one kind of thing. What is handed over lies in the future itself, so that nobody can overtake.

    Owned by one event loop; nothing here awaits, so no call can be seen half done. Calling order: `join`, then `leave`
    whatever happens, or `take` where no wait was needed; and `done` for each item that was got either way.
    """

    def __init__(self, *, max_queued: int, turned_away: Item) -> None:
        self._max_queued, self._turned_away = max_queued, turned_away
        self._accounts: dict[Partition, _Account[Item]] = {}
        self._num_queued = 0
        self._turns = dict.fromkeys(Urgency, 0.0)
        self._turn = 0.0
        self._called: set[Urgency] = set()
        self._level_seconds = 0.0
        """Use of the partition that was served last, when it was served: where newcomers start."""

    def __len__(self) -> int:
        return self._num_queued

    def num_waiting(self, urgency: Urgency) -> int:
        """Waiters of one class."""
        return sum(place.standing.urgency is urgency for account in self._accounts.values() for place in account.places)

    def num_held(self, partition: Partition) -> int:
        """Items that the partition has now."""
        account = self._accounts.get(partition)
        return 0 if account is None else account.num_held

    def num_before(self, standing: Standing) -> int:
        """About how many jobs start before a newcomer's: its partition's own, and as many of each other partition."""
        mine = self._accounts.get(standing.partition)
        num_own = 0 if mine is None else len(mine.places)
        others = (account for account in self._accounts.values() if account is not mine)
        return num_own + sum(min(len(account.places), num_own + 1) for account in others)

    def join(self, standing: Standing) -> "asyncio.Future[Item] | None":
        """A place in the line; None if it is full of places with as good a right."""
        if self._num_queued >= self._max_queued and not self._push_out(standing):
            return None
        place: _Place[Item] = _Place(standing=standing, served=asyncio.get_running_loop().create_future())
        self._account(standing).places.append(place)
        self._num_queued += 1
        return place.served

    def leave(self, standing: Standing, served: "asyncio.Future[Item]") -> None:
        """Give the place up; one that was served has already left the line."""
        if served.done() and not served.cancelled():
            return
        account = self._accounts.get(standing.partition)
        place = None if account is None else next((each for each in account.places if each.served is served), None)
        if account is not None and place is not None:
            self._remove(account, place)
            self._forget(standing.partition)

    def offer(self, item: Item, *, max_held: int | None = None) -> bool:
        """Hand the item to whoever's turn it is; false when nobody waits whose partition has fewer than `max_held`."""
        while (chosen := self._next(max_held)) is not None:
            account, place = chosen
            self._remove(account, place)
            if place.served.done():
                continue
            urgency = place.standing.urgency
            self._turn = self._turns[urgency]
            self._turns[urgency] = self._end(urgency)
            self._level_seconds = max(self._level_seconds, account.used_seconds)
            _hold(account)
            place.served.set_result(item)
            return True
        return False

    def take(self, standing: Standing) -> None:
        """An item went to this standing without a wait."""
        _hold(self._account(standing))

    def done(self, standing: Standing, seconds: float) -> None:
        """An item that the partition held is free again; it had been used for `seconds`."""
        account = self._accounts[standing.partition]
        account.num_held -= 1
        account.used_seconds += seconds - _ASSUMED_SECONDS
        self._forget(standing.partition)

    def dismiss(self) -> None:
        """Turn everybody away."""
        for account in self._accounts.values():
            while account.places:
                self._turn_away(account, account.places[-1])

    def _end(self, urgency: Urgency) -> float:
        """Where the next turn of the class would end: the earliest end comes first, so rare turns come late."""
        return self._turns[urgency] + 1 / TURNS[urgency]

    def _call_up(self, waiting: set[Urgency]) -> None:
        """A class that had nothing to do has saved no turns up."""
        for urgency in waiting - self._called:
            self._turns[urgency] = max(self._turns[urgency], self._turn)
        self._called = waiting

    def _next(self, max_held: int | None) -> "tuple[_Account[Item], _Place[Item]] | None":
        asking = [
            (account, {place.standing.urgency for place in account.places})
            for account in self._accounts.values()
            if account.places
        ]
        self._call_up({urgency for _, urgencies in asking for urgency in urgencies})
        able = [each for each in asking if max_held is None or each[0].num_held < max_held]
        waiting = {urgency for _, urgencies in able for urgency in urgencies}
        if not waiting:
            return None
        urgency = min(sorted(waiting), key=self._end)
        firsts = [(account, place) for account, _ in able if (place := _first(account, urgency)) is not None]
        return min(firsts, key=lambda each: each[0].used_seconds)

    def _push_out(self, newcomer: Standing) -> bool:
        """Make room: at the cost of a less urgent class first, then of a partition with clearly more places."""
        mine = self._accounts.get(newcomer.partition)
        for urgency in sorted(Urgency, reverse=True):
            if urgency < newcomer.urgency:
                return False
            counted = [(sum(1 for _ in _of(account, urgency)), account) for account in self._accounts.values()]
            num_most, account = max(counted, key=lambda each: each[0], default=(0, None))
            num_mine = 0 if mine is None else len(mine.places)
            if account is None or num_most == 0 or (urgency == newcomer.urgency and num_most <= num_mine + 1):
                continue
            *_, last = _of(account, urgency)
            self._turn_away(account, last)
            return True
        return False

    def _turn_away(self, account: "_Account[Item]", place: "_Place[Item]") -> None:
        self._remove(account, place)
        if not place.served.done():
            place.served.set_result(self._turned_away)

    def _remove(self, account: "_Account[Item]", place: "_Place[Item]") -> None:
        account.places.remove(place)
        self._num_queued -= 1

    def _account(self, standing: Standing) -> "_Account[Item]":
        account = self._accounts.setdefault(standing.partition, _Account())
        if account.is_idle:
            account.used_seconds = max(account.used_seconds, self._level_seconds)
        return account

    def _forget(self, partition: Partition) -> None:
        """Drop accounts that would start level again, and all idle ones when there are too many."""
        account = self._accounts[partition]
        if account.is_idle and account.used_seconds <= self._level_seconds:
            del self._accounts[partition]
        if len(self._accounts) > _MAX_REMEMBERED:
            self._accounts = {name: each for name, each in self._accounts.items() if not each.is_idle}


def _hold(account: "_Account[Item]") -> None:
    account.num_held += 1
    account.used_seconds += _ASSUMED_SECONDS


def _of(account: "_Account[Item]", urgency: Urgency) -> "Iterator[_Place[Item]]":
    return (place for place in account.places if place.standing.urgency is urgency)


def _first(account: "_Account[Item]", urgency: Urgency) -> "_Place[Item] | None":
    return next(_of(account, urgency), None)
