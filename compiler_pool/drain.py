"""How fast the line moves, measured where it moves: what `Retry-After` and hopeless waits are computed from."""

from typing import Final

_WEIGHT: Final = 0.2
"""Of the newest interval in the mean: about the last ten count."""
_MIN_SAMPLES: Final = 5
"""Fewer say nothing of a wait."""
_UNKNOWN_RETRY_SECONDS: Final = 1.0
_MIN_RETRY_SECONDS: Final = 0.1
_MAX_RETRY_SECONDS: Final = 60.0


class DrainRate:
    """Mean seconds between two jobs that leave the line for a worker, while the line is not empty.

    What slows workers down (dear jobs, workers that have to be replaced, a busy machine) is in it by construction.
    """

    def __init__(self) -> None:
        self._mean_seconds = 0.0
        self._num_samples = 0
        self._last: float | None = None

    def waiting(self, at: float) -> None:
        """Somebody joined the line: from here on an interval runs, if none does."""
        if self._last is None:
            self._last = at

    def served(self, at: float, *, num_left: int) -> None:
        """The line moved by one job; `num_left` still wait."""
        if self._last is not None:
            seconds = max(at - self._last, 0.0)
            weight = max(_WEIGHT, 1 / (self._num_samples + 1))
            self._mean_seconds += weight * (seconds - self._mean_seconds)
            self._num_samples += 1
        self._last = at if num_left else None

    def emptied(self) -> None:
        """Nobody waits any more: time that passes now says nothing."""
        self._last = None

    def seconds_for(self, num_jobs: int, *, at: float) -> float | None:
        """How long the line takes to move by `num_jobs`; None while too little is known.

        A line that stands still counts as slow as it has been standing.
        """
        if self._num_samples < _MIN_SAMPLES:
            return None
        standing = 0.0 if self._last is None else at - self._last
        return num_jobs * max(self._mean_seconds, standing)

    def retry_seconds(self, num_jobs: int, *, at: float) -> float:
        """When to come back with a job that would have `num_jobs - 1` before it."""
        seconds = self.seconds_for(num_jobs, at=at)
        return _UNKNOWN_RETRY_SECONDS if seconds is None else min(max(seconds, _MIN_RETRY_SECONDS), _MAX_RETRY_SECONDS)
