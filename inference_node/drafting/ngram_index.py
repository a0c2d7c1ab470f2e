"""Where the last few tokens of a sequence stood before: the longest run that recurs, and its latest place."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

_ID_BITS: Final = 32
"""Room for any token id, so that runs packed into one number are equal only where their tokens are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """The last `length` tokens stood before `position` too: what came there may come again."""

    position: int
    length: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NoMatch:
    """Nothing that the sequence ends with stood in it before."""


NO_MATCH: Final = NoMatch()


class NgramIndex:
    """Of one sequence that only grows. One dictionary entry per run length and token; about 0.3 kB a token.

    It holds the places of the latest tokens only, as many as its owner allows.
    """

    __slots__ = ("_levels", "_recent", "end", "start")

    def __init__(self, *, shortest: int = 2, longest: int = 4) -> None:
        if not 1 <= shortest <= longest:
            raise ValueError(f"runs of {shortest} to {longest} tokens")
        # The longest first: that is the order in which they are asked.
        self._levels: Final[list[tuple[int, int, dict[int, int]]]] = [
            (length, (1 << (_ID_BITS * length)) - 1, {}) for length in range(longest, shortest - 1, -1)
        ]
        self._recent = 0
        self.start = 0
        """The first place that is held."""
        self.end = 0
        """All places before it were seen. A place is where a token stands that follows a run."""

    @property
    def num_tokens(self) -> int:
        """Places held."""
        return self.end - self.start

    def extend(self, token_ids: Sequence[int], *, max_new: int, max_held: int) -> bool:
        """See at most `max_new` more tokens of the sequence and hold the last `max_held` places. Whether all are seen.

        Raises:
            ValueError: the sequence is shorter than it was.
        """
        if len(token_ids) < self.end:
            raise ValueError(f"a sequence of {self.end} tokens has {len(token_ids)} now")
        longest_mask = self._levels[0][1]
        num_unseen = len(token_ids) - self.end
        if num_unseen > max_held:
            self._restart(token_ids, len(token_ids) - max_held)
        last = min(len(token_ids), self.end + max_new)
        recent = self._recent
        for position in range(self.end, last):
            for length, mask, places in self._levels:
                if position >= length:
                    places[recent & mask] = position
            recent = (recent << _ID_BITS | token_ids[position]) & longest_mask
        self._recent, self.end = recent, last
        while self.num_tokens > max_held:
            self._drop_first(token_ids)
        return last == len(token_ids)

    def match(self, token_ids: Sequence[int]) -> Match | NoMatch:
        """The longest run of the held lengths that ends the sequence and stands before a held place; the latest."""
        if self.end != len(token_ids):
            return NO_MATCH
        for length, mask, places in self._levels:
            position = places.get(self._recent & mask)
            if position is not None and len(token_ids) >= length:
                return Match(position=position, length=length)
        return NO_MATCH

    def _restart(self, token_ids: Sequence[int], position: int) -> None:
        """Skip to a place, so that a long prompt costs no more than what is held of it."""
        for _, _, places in self._levels:
            places.clear()
        self.start = self.end = position
        self._recent = _packed(token_ids[max(0, position - self._levels[0][0]) : position])

    def _drop_first(self, token_ids: Sequence[int]) -> None:
        position = self.start
        for length, _, places in self._levels:
            if position >= length:
                run = _packed(token_ids[position - length : position])
                # A later place of the same run has taken its entry over.
                if places.get(run) == position:
                    del places[run]
        self.start = position + 1


def _packed(token_ids: Sequence[int]) -> int:
    packed = 0
    for token_id in token_ids:
        packed = packed << _ID_BITS | token_id
    return packed
