"""Blocks that nobody has, handed out so that one sequence's blocks follow each other where that can be."""

from typing import Final

_MAX_RUNS_SEEN: Final = 64
"""Runs of free blocks that are compared for a new place: bounds the search where memory is in pieces."""

_FREE: Final = b"\x01"
_TAKEN: Final = b"\x00"


class FreeBlocks:
    """A set of block ids below `num_blocks`, all of them at first."""

    def __init__(self, num_blocks: int) -> None:
        self._is_free = bytearray(_FREE * num_blocks)
        self._num_free = num_blocks
        self._search_from = 0

    def __len__(self) -> int:
        return self._num_free

    def __contains__(self, block: int) -> bool:
        return bool(self._is_free[block])

    def add(self, block: int) -> None:
        """It is nobody's again."""
        assert not self._is_free[block], "a block was given back twice"
        self._is_free[block] = 1
        self._num_free += 1

    def take(self, num_blocks: int, *, after: int | None) -> list[int]:
        """So many of them, the ones that follow `after` (a sequence's last block) first. There must be enough."""
        assert num_blocks <= self._num_free, "more blocks were asked for than are free"
        taken: list[int] = []
        last = after
        while len(taken) < num_blocks:
            follower = len(self._is_free) if last is None else last + 1
            if follower >= len(self._is_free) or not self._is_free[follower]:
                follower = self._new_start(num_blocks - len(taken))
            self._is_free[follower] = 0
            self._num_free -= 1
            taken.append(follower)
            last = follower
        return taken

    def _new_start(self, num_blocks: int) -> int:
        """Where to begin: in the middle of the longest run, if that is enough, for whoever stands before it to grow."""
        start, length = self._longest_run()
        return start + length // 2 if start and length >= 2 * num_blocks else start

    def _longest_run(self) -> tuple[int, int]:
        best_start, best_length = 0, 0
        position = self._is_free.find(_FREE, self._search_from)
        for _ in range(_MAX_RUNS_SEEN):
            if position < 0:
                # Around once more from the beginning; what is seen twice does no harm.
                position = self._is_free.find(_FREE)
            end = self._is_free.find(_TAKEN, position)
            end = len(self._is_free) if end < 0 else end
            if end - position > best_length:
                best_start, best_length = position, end - position
            position = self._is_free.find(_FREE, end)
        self._search_from = max(0, position)
        return best_start, best_length
