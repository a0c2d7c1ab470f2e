"""Free text that fixed texts end, as a judge sees it: by looking for the first of them."""

from dataclasses import dataclass

from gateway.validation.kinds.reading import Reading


@dataclass(frozen=True, slots=True, kw_only=True)
class FreeText:
    """Any text without one of `excluded` and of at most `max_characters`, that holds none of `marks`.

    With `before`, one of the marks, it is exactly the text before the first mark, and that mark is this one.
    """

    marks: tuple[str, ...] = ()
    before: str | None = None
    excluded: tuple[str, ...] = ()
    max_characters: int | None = None

    def ends(self, reading: Reading, start: int) -> int:
        """Every place until something stands in the way, or the one before the mark."""
        text = reading.text
        last = len(text) if self.max_characters is None else min(len(text), start + self.max_characters)
        for excluded in self.excluded:
            at = text.find(excluded, start)
            if at >= 0:
                last = min(last, at + len(excluded) - 1)
        found = _first(text, self.marks, start)
        if self.before is not None:
            if found is None or found[1] != self.before:
                return 0
            end = found[0] - len(self.before)
            return 1 << end if end <= last else 0
        if found is not None:
            last = min(last, found[0] - 1)
        return (1 << (last + 1)) - (1 << start) if last >= start else 0


def _first(text: str, marks: tuple[str, ...], start: int) -> tuple[int, str] | None:
    """The mark that is complete first, and where. None stands within another, so there is one."""
    ends = [(at + len(mark), mark) for mark in marks if (at := text.find(mark, start)) >= 0]
    return min(ends, default=None)
