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

_MAX_SMALL_COUNT: Final = 12
"""Counts up to here are tried with several sets of inputs: decoding has few rows, and kernels differ most there."""

_NUM_SMALL_STARTS: Final = 3
_STRIDE: Final = 7
"""Larger counts are tried once each, with inputs that begin elsewhere every time."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RowProbe:
    """A part of the model to measure: `compute(inputs, padding)` gives one result row per numbered input."""

    compute: Callable[[range, RowPadding], torch.Tensor]
    max_rows: int
    """The most rows that a step can have there."""
    max_counts: int
    """How many of the larger row counts are tried: all of them where there are no more, else evenly spread ones."""


def find_row_padding(probes: Sequence[RowProbe]) -> RowPadding | None:
    """The cheapest padding under which an input's row is bitwise the same at every place in every company.

    A sample, not a proof: many row counts, each with one to three sets of inputs. None if no candidate passes.
    """
    for padding in CANDIDATES:
        if all(_rows_agree(probe, padding) for probe in probes):
            return padding
    return None


def _rows_agree(probe: RowProbe, padding: RowPadding) -> bool:
    reference = probe.compute(range(probe.max_rows), padding)
    return all(
        torch.equal(probe.compute(inputs, padding), reference[inputs.start : inputs.stop])
        for inputs in _companies(probe)
    )


def _companies(probe: RowProbe) -> Iterator[range]:
    """Runs of inputs, of many lengths and starts, so that each input is seen at several places."""
    for count in range(1, min(probe.max_rows, _MAX_SMALL_COUNT) + 1):
        spare = probe.max_rows - count
        for start in sorted({spare * number // (_NUM_SMALL_STARTS - 1) for number in range(_NUM_SMALL_STARTS)}):
            yield range(start, start + count)
    num_larger = probe.max_rows - _MAX_SMALL_COUNT
    num_tried = min(probe.max_counts, num_larger)
    for number in range(num_tried):
        count = probe.max_rows - number * num_larger // num_tried
        start = number * _STRIDE % (probe.max_rows - count + 1)
        yield range(start, start + count)
