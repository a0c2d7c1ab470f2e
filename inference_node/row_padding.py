"""Keeps every row of a step the same whatever rows stand beside it.

Libraries pick a kernel by the number of rows, and kernels add in different orders, so a sequence's logits could depend
on who shares its step. Which row counts agree differs by processor, dtype and library: at load time it is measured on
the model itself, and row counts are padded to ones that agree.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import torch


@dataclass(frozen=True, slots=True, kw_only=True)
class RowPadding:
    """Row counts are raised to at least `minimum` and to a multiple of `multiple`."""

    minimum: int
    multiple: int

    def padded(self, num_rows: int) -> int:
        """The row count to compute with."""
        return max(self.minimum, -(-num_rows // self.multiple) * self.multiple)


NO_PADDING: Final = RowPadding(minimum=1, multiple=1)

CANDIDATES: Final = (
    RowPadding(minimum=2, multiple=1),
    RowPadding(minimum=4, multiple=4),
    RowPadding(minimum=8, multiple=8),
    RowPadding(minimum=16, multiple=16),
)
"""Cheapest first. A lone row is never computed as one: matrix-vector kernels add in an order of their own, which
bfloat16's rounding hides from a small sample."""

_TRIES_PER_COUNT: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RowProbe:
    """A part of the model to measure: `compute(inputs, padding)` gives one result row per numbered input."""

    compute: Callable[[range, RowPadding], torch.Tensor]
    max_rows: int


def find_row_padding(probes: Sequence[RowProbe]) -> RowPadding | None:
    """The cheapest padding under which an input's row is bitwise the same at every place in every company.

    A sample, not a proof: every small count and some of the others, each with a few sets of inputs. None if no
    candidate passes.
    """
    for padding in CANDIDATES:
        if all(_rows_agree(probe, padding) for probe in probes):
            return padding
    return None


def _rows_agree(probe: RowProbe, padding: RowPadding) -> bool:
    reference = probe.compute(range(probe.max_rows), padding)
    return all(
        torch.equal(probe.compute(inputs, padding), reference[inputs.start : inputs.stop])
        for inputs in _companies(probe.max_rows)
    )


def _companies(max_rows: int) -> Iterator[range]:
    """Runs of inputs, of many lengths and starts, so that each input is seen at several places."""
    counts = sorted({*range(1, min(max_rows, 12) + 1), *range(13, max_rows + 1, 23)})
    for count in counts:
        spare = max_rows - count
        for start in sorted({spare * number // _TRIES_PER_COUNT for number in range(_TRIES_PER_COUNT + 1)}):
            yield range(start, start + count)
