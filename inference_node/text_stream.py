"""From token bytes to text that may be sent: whole characters only, and nothing that may yet become a stop string."""

import codecs
from collections.abc import Sequence


class TextStream:
    """Feed it bytes, send what it releases. Decides by characters, so how bytes were cut into tokens does not matter.

    Of several stop strings the one that is complete first wins; of those complete at once, the one that began first.
    """

    def __init__(self, stop_strings: Sequence[str]) -> None:
        self._stop_strings = tuple(stop_strings)
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._held = ""
        self._sent: list[str] = []
        self._num_bytes = 0
        self.stopped_by: str | None = None
        """The stop string that was met. After it nothing more is released."""

    def push(self, data: bytes) -> str:
        """The text that can be sent now that `data` has come."""
        if self.stopped_by is not None:
            return ""
        self._num_bytes += len(data)
        text = self._decoder.decode(data)
        released = ""
        for character in text if self._stop_strings else ():
            self._held += character
            if self._find_stop():
                return self._release(released)
            num_safe = len(self._held) - self._num_undecided()
            released += self._held[:num_safe]
            self._held = self._held[num_safe:]
        return self._release(text if not self._stop_strings else released)

    def finish(self) -> str:
        """The text that was held back and became no stop string. An unfinished character is dropped."""
        released = "" if self.stopped_by is not None else self._held
        self._held = ""
        return self._release(released)

    @property
    def sent_text(self) -> str:
        """All that was released so far."""
        return "".join(self._sent)

    @property
    def is_exact(self) -> bool:
        """Whether what was released is exactly the bytes that came: no stop, no remainder, no broken character."""
        return self.stopped_by is None and len(self.sent_text.encode()) == self._num_bytes and not self._was_broken

    @property
    def _was_broken(self) -> bool:
        return any("\ufffd" in part for part in self._sent)

    def _find_stop(self) -> bool:
        """Whether the held text now ends in a stop string; if so it is cut off, with all that follows its start."""
        met = [stop for stop in self._stop_strings if self._held.endswith(stop)]
        if not met:
            return False
        self.stopped_by = max(met, key=len)
        self._held = self._held[: len(self._held) - len(self.stopped_by)]
        return True

    def _num_undecided(self) -> int:
        """How many characters at the end could be the start of a stop string."""
        longest = max(map(len, self._stop_strings)) - 1
        for length in range(min(longest, len(self._held)), 0, -1):
            tail = self._held[-length:]
            if any(stop.startswith(tail) for stop in self._stop_strings):
                return length
        return 0

    def _release(self, text: str) -> str:
        if self.stopped_by is not None:
            text += self._held
            self._held = ""
        if text:
            self._sent.append(text)
        return text
