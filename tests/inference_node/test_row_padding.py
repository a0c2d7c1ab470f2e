from collections.abc import Callable

import pytest
import torch

from inference_node.row_padding import NO_PADDING, RowPadding, RowProbe, find_row_padding

MAX_ROWS = 128


def probe(error: Callable[[int], float], *, max_rows: int = MAX_ROWS, max_counts: int = MAX_ROWS) -> RowProbe:
    """Products whose every row is off by something that depends on how many rows are computed."""

    def compute(inputs: range, padding: RowPadding) -> torch.Tensor:
        return torch.tensor([[number + error(padding.padded(len(inputs)))] for number in inputs])

    return RowProbe(compute=compute, max_rows=max_rows, max_counts=max_counts)


@pytest.mark.parametrize(
    ("error", "padding"),
    [
        (lambda _: 0.0, RowPadding(minimum=2, multiple=1)),
        (lambda count: float(count == 1), RowPadding(minimum=2, multiple=1)),
        (lambda count: float(count < 4), RowPadding(minimum=4, multiple=4)),
        (lambda count: float(count % 8 != 0), RowPadding(minimum=8, multiple=8)),
        (lambda count: float(count % 16 != 0), RowPadding(minimum=16, multiple=16)),
    ],
    ids=["never", "a lone row", "fewer than four", "not eights", "not sixteens"],
)
def test_the_cheapest_padding_under_which_rows_agree_is_found(
    error: Callable[[int], float], padding: RowPadding
) -> None:
    assert find_row_padding([probe(error)]) == padding


@pytest.mark.parametrize("count", [2, 12, 13, 50, 77, 127])
def test_a_single_row_count_that_differs_is_seen(count: int) -> None:
    found = find_row_padding([probe(lambda computed: float(computed == count))])
    assert found is not None
    assert all(found.padded(num_rows) != count for num_rows in range(1, MAX_ROWS + 1))


def test_every_part_of_the_model_has_to_agree() -> None:
    parts = [probe(lambda count: float(count < 4)), probe(lambda count: float(count % 8 != 0), max_rows=24)]
    assert find_row_padding(parts) == RowPadding(minimum=8, multiple=8)


def test_where_every_count_differs_there_is_no_padding() -> None:
    assert find_row_padding([probe(float)]) is None


def test_padding_raises_a_count_to_the_least_and_to_whole_multiples() -> None:
    padding = RowPadding(minimum=8, multiple=4)
    assert [padding.padded(count) for count in (1, 8, 9, 12, 13)] == [8, 8, 12, 12, 16]
    assert NO_PADDING.padded(1) == 1
