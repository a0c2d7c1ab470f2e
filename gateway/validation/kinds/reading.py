"""One finished text while it is judged, and where the lexemes of a contract can end in it.

Sets of places are integers with one bit for each place between two characters: the complement of a lexeme costs no
more than the lexeme.
"""

from collections.abc import Iterator
from typing import Protocol


class Terminal(Protocol):
    """A set of texts."""

    def ends(self, reading: "Reading", start: int) -> int:
        """The places at which a text of the set that begins at `start` can end."""
        ...


class Reading:
    """A text, with what was found out about it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._known: dict[tuple[int, int], int] = {}

    def ends(self, terminal: Terminal, start: int) -> int:
        """As `Terminal.ends`, asked once. Terminals live longer than readings."""
        key = (id(terminal), start)
        if key not in self._known:
            self._known[key] = terminal.ends(self, start)
        return self._known[key]

    def ends_after(self, terminal: Terminal, starts: int) -> int:
        """The places at which it can end if it begins at any of some places."""
        found = 0
        for start in places(starts):
            found |= self.ends(terminal, start)
        return found

    def all_from(self, start: int) -> int:
        """Every place from `start` on, the text's end among them."""
        return (1 << (len(self.text) + 1)) - (1 << start)


def places(mask: int) -> Iterator[int]:
    """The places in a set, in their order. In time linear in how far they lie apart."""
    if not mask:
        return
    first = (mask & -mask).bit_length() - 1
    digits = bin(mask >> first)[:1:-1]
    at = 0
    while at >= 0:
        yield first + at
        at = digits.find("1", at + 1)
