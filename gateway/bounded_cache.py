"""A cache bounded in bytes: the least recently used entry goes first; what is larger than all of it never enters."""

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

_Key = TypeVar("_Key", bound=Hashable)
_Value = TypeVar("_Value")


class BoundedCache(Generic[_Key, _Value]):
    """Sizes are the caller's estimate and have to include the key's."""

    def __init__(self, *, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._entries: OrderedDict[_Key, tuple[int, _Value]] = OrderedDict()
        self.num_bytes = 0

    def get(self, key: _Key) -> _Value | None:
        """The value, which becomes the most recently used."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        self._entries.move_to_end(key)
        return entry[1]

    def put(self, key: _Key, value: _Value, *, num_bytes: int) -> None:
        """Keep `value` until room is needed."""
        old = self._entries.pop(key, None)
        if old is not None:
            self.num_bytes -= old[0]
        if num_bytes > self._max_bytes:
            return
        self._entries[key] = (num_bytes, value)
        self.num_bytes += num_bytes
        while self.num_bytes > self._max_bytes:
            _, (size, _) = self._entries.popitem(last=False)
            self.num_bytes -= size
