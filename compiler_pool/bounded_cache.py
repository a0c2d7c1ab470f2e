"""A cache bounded in bytes, whose room is divided by who fills it: the owner who has the most loses first.

What is larger than all of it never enters. An owner's entries go least recently used first, so a tenant who fills the
cache with what is never asked for again pushes out its own, and another tenant's stay as long as they take less room.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

_Key = TypeVar("_Key", bound=Hashable)
_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class _Held(Generic[_Value]):
    owner: Hashable
    num_bytes: int
    value: _Value


@dataclass(slots=True)
class _Room(Generic[_Key]):
    """One owner's: keys in the order of their last use."""

    keys: "OrderedDict[_Key, None]" = field(default_factory=OrderedDict)
    num_bytes: int = 0


class BoundedCache(Generic[_Key, _Value]):
    """Sizes are the caller's estimate and have to include the key's. `weight` of an owner divides what it has."""

    def __init__(self, *, max_bytes: int, weight: Callable[[Hashable], float] = lambda _: 1.0) -> None:
        self._max_bytes, self._weight = max_bytes, weight
        self._entries: dict[_Key, _Held[_Value]] = {}
        self._rooms: dict[Hashable, _Room[_Key]] = {}
        self.num_bytes = 0

    def get(self, key: _Key) -> _Value | None:
        """The value, which becomes its owner's most recently used."""
        held = self._entries.get(key)
        if held is None:
            return None
        self._rooms[held.owner].keys.move_to_end(key)
        return held.value

    def peek(self, key: _Key) -> _Value | None:
        """The value, and nothing becomes of it."""
        held = self._entries.get(key)
        return None if held is None else held.value

    def put(self, key: _Key, value: _Value, *, num_bytes: int, owner: Hashable = None) -> None:
        """Keep `value` until room is needed."""
        self.drop(key)
        if num_bytes > self._max_bytes:
            return
        self._entries[key] = _Held(owner, num_bytes, value)
        room = self._rooms.setdefault(owner, _Room())
        room.keys[key] = None
        room.num_bytes += num_bytes
        self.num_bytes += num_bytes
        while self.num_bytes > self._max_bytes:
            self.drop(next(iter(self._largest().keys)))

    def drop(self, key: _Key) -> None:
        """Forget it, if it is there."""
        held = self._entries.pop(key, None)
        if held is None:
            return
        room = self._rooms[held.owner]
        del room.keys[key]
        room.num_bytes -= held.num_bytes
        self.num_bytes -= held.num_bytes
        if not room.keys:
            del self._rooms[held.owner]

    def _largest(self) -> "_Room[_Key]":
        owner = max(self._rooms, key=lambda each: self._rooms[each].num_bytes / self._weight(each))
        return self._rooms[owner]
