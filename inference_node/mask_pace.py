"""How quick a contract's masks are, as far as it was seen: who may be filled in one call with others, and who is not.

In one call everybody waits for the slowest. So a contract joins others only while its masks are quick, and after each
time that it was the slow one it has to prove itself apart for longer.
"""

from dataclasses import dataclass
from typing import Final

SLOW_SECONDS: Final = 0.008
"""Processor time of one mask. Of the masks of many real schemas, not one in ten thousand takes longer; on cold lexers
some take half of it."""

DEAR_SECONDS: Final = 0.001
"""Processor time of a contract's masks on average: fifty ordinary ones."""

_FIRST_PROBATION: Final = 16
_LONGEST_PROBATION: Final = 4_096
"""Masks, all quick and each timed by itself, before a contract that held others up is filled beside them again."""

_SUSPICION: Final = 2
"""Masks that each contract of a call which took too long is timed by itself."""


@dataclass(slots=True, kw_only=True, eq=False)
class MaskPace:
    """Shared by all prototypes of a contract. Several threads may change it at once: an update that is lost costs some
    more or fewer timed masks."""

    is_apart: bool = False
    """A lexer of this contract has broken: its masks are filled one by one, so that the next time it is known whose
    mask did it. For good."""
    _num_left: int = 0
    _num_strikes: int = 0
    _mean_seconds: float = 0.0

    @property
    def joins(self) -> bool:
        """Whether its masks may be filled in one call with those of others."""
        return not (self.is_apart or self._num_left or self._mean_seconds > DEAR_SECONDS)

    @property
    def is_slow(self) -> bool:
        """Whether it is known to hold others up, and not only suspected."""
        return self.is_apart or self._mean_seconds > DEAR_SECONDS or (self._num_strikes > 0 and self._num_left > 0)

    def suspect(self) -> None:
        """A call in which it took part took too long, by whosever doing."""
        self._num_left = max(self._num_left, _SUSPICION)

    def timed(self, cpu_seconds: float) -> None:
        """One mask of its was filled by itself."""
        self._mean_seconds += (cpu_seconds - self._mean_seconds) / 8
        if cpu_seconds > SLOW_SECONDS:
            self._num_left = min(_FIRST_PROBATION * 4**self._num_strikes, _LONGEST_PROBATION)
            self._num_strikes += 1
        elif self._num_left:
            self._num_left -= 1
