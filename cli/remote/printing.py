"""Output: tables and paragraphs for people, one JSON value for machines.

Colours and ruled tables only on a terminal; into a pipe columns are aligned with blanks and never cut. Whatever a
gateway or a file said is shown without control characters: a message must not move anybody's cursor.
"""

import sys
from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from registry.contract import JsonValue
from registry.text import canonical_json

_GAP = "  "


def shown(text: str) -> str:
    """`text` on one line, each control character as its code."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else f"\\u{ord(each):04x}" for each in text)


def say(text: str = "", *, style: str = "") -> None:
    """Lines on stdout, coloured if it is a terminal."""
    clean = "\n".join(shown(line) for line in text.split("\n"))
    if sys.stdout.isatty():
        Console(highlight=False, soft_wrap=True).print(Text(clean, style=style))
    else:
        print(clean)


def warn(text: str) -> None:
    """Lines on stderr."""
    print("\n".join(shown(line) for line in text.split("\n")), file=sys.stderr)


def print_json(value: JsonValue) -> None:
    """One JSON value on one line; numbers exact."""
    print(canonical_json(value))


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, styles: Sequence[str] = ()) -> None:
    """Rows under their columns; `styles` has one for each row. Nothing at all where there are no rows."""
    if not rows:
        return
    cells = [[shown(cell) for cell in row] for row in rows]
    if sys.stdout.isatty():
        _ruled(columns, cells, styles)
        return
    lines = [list(columns), *cells]
    widths = [max(len(line[place]) for line in lines) for place in range(len(columns))]
    for line in lines:
        padded = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        print(_GAP.join(padded).rstrip())


def _ruled(columns: Sequence[str], rows: Sequence[Sequence[str]], styles: Sequence[str]) -> None:
    drawn = Table(box=SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        drawn.add_column(Text(column), overflow="fold")
    for place, row in enumerate(rows):
        drawn.add_row(*(Text(cell) for cell in row), style=styles[place] if place < len(styles) else "")
    Console(highlight=False).print(drawn)
