"""Progress on standard error, for people only: nothing is written where it is not a terminal."""

import sys
import time
from collections import Counter
from typing import TextIO

_INTERVAL_SECONDS = 0.2


class Progress:
    """A line that is rewritten as answers come."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._is_shown = self._stream.isatty()
        self._counts: Counter[str] = Counter()
        self._started = time.monotonic()
        self._next = 0.0

    def say(self, text: str) -> None:
        """A line that stays."""
        if self._is_shown:
            print(text, file=self._stream, flush=True)

    def count(self, verdict: str) -> None:
        """One more answer."""
        self._counts[verdict] += 1
        now = time.monotonic()
        if self._is_shown and now >= self._next:
            self._next = now + _INTERVAL_SECONDS
            self._show("\r")

    def end(self) -> None:
        """The last count."""
        if self._is_shown:
            self._show("\r")
            print(file=self._stream, flush=True)

    def _show(self, start: str) -> None:
        total = self._counts.total()
        parts = ", ".join(f"{count} {verdict}" for verdict, count in sorted(self._counts.items()))
        rate = total / max(time.monotonic() - self._started, 0.001)
        print(f"{start}{total} contracts ({parts}), {rate:.0f}/s  ", end="", file=self._stream, flush=True)
