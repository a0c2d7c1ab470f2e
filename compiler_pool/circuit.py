"""A breaker before a neighbour that may be gone: after a few failures in a row nobody asks it for a while."""

from typing import Final

_MAX_FAILURES: Final = 3
"""In a row; single ones happen on a busy machine."""
_FIRST_PAUSE_SECONDS: Final = 1.0
_MAX_PAUSE_SECONDS: Final = 30.0


class Circuit:
    """Closed while the neighbour answers. Calling order: `allows`, and if so one of the three others.

    After a pause one call alone is let through; its end decides whether the pause is over or a longer one begins.
    """

    def __init__(self) -> None:
        self._num_failures = 0
        self._open_until = 0.0
        self._pause_seconds = _FIRST_PAUSE_SECONDS
        self._is_trying = False

    @property
    def is_open(self) -> bool:
        """Whether the neighbour counts as gone."""
        return self._num_failures >= _MAX_FAILURES

    def allows(self, at: float) -> bool:
        """Whether to ask now."""
        if not self.is_open:
            return True
        if self._is_trying or at < self._open_until:
            return False
        self._is_trying = True
        return True

    def succeeded(self) -> None:
        """It answered."""
        self._num_failures, self._pause_seconds, self._is_trying = 0, _FIRST_PAUSE_SECONDS, False

    def failed(self, at: float) -> None:
        """It did not."""
        self._num_failures += 1
        if self.is_open:
            if self._is_trying:
                self._pause_seconds = min(self._pause_seconds * 2, _MAX_PAUSE_SECONDS)
            self._open_until = at + self._pause_seconds
        self._is_trying = False

    def abandoned(self) -> None:
        """Who asked went away before the answer: nothing was learnt."""
        self._is_trying = False
