"""Whether the caller of one request is still there, as its connection knows: nobody has to wait to be told."""

from collections.abc import Callable
from typing import Final

PRESENCE: Final = "schemagate_presence"
"""Where it lies in an ASGI scope, if the server underneath is ours."""


class CallerPresence:
    """One request's. Whoever works for the caller is told once, at once where the caller has left before."""

    def __init__(self) -> None:
        self._is_gone = False
        self._tell: Callable[[], None] | None = None

    def watch(self, tell: Callable[[], None]) -> None:
        """Have `tell` called when the caller leaves."""
        if self._is_gone:
            tell()
        else:
            self._tell = tell

    def unwatch(self) -> None:
        """Nobody needs to be told any more."""
        self._tell = None

    def leave(self) -> None:
        """The connection is closed."""
        self._is_gone = True
        tell, self._tell = self._tell, None
        if tell is not None:
            tell()
