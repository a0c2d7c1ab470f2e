import numpy as np
import pytest
import torch

from inference_node.mask_rows import MaskRows
from inference_node.row_upload import CopyEvent, StagedUpload

WORDS = 5
CPU = torch.device("cpu")


def numbered(rows: MaskRows, taken: list[int]) -> list[int]:
    """Rows that say which they are."""
    for row in taken:
        rows.row(row)[:] = row
    return taken


class Copies:
    """A device whose copies are not done before their event was waited for, and what the events saw."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.num_events = 0

    def new_event(self) -> CopyEvent:
        self.num_events += 1
        return _Event(self, f"buffer {self.num_events}")


class _Event:
    def __init__(self, copies: Copies, name: str) -> None:
        self._copies = copies
        self._name = name

    def record(self) -> None:
        self._copies.log.append(f"{self._name} copied")

    def synchronize(self) -> None:
        self._copies.log.append(f"{self._name} waited for")


def test_rows_with_low_numbers_are_given_first() -> None:
    rows = MaskRows(words=WORDS, device=CPU, capacity=8)
    assert rows.take(3) == [0, 1, 2]
    assert rows.take(2) == [3, 4]
    rows.give_back([1, 3])
    assert rows.take(3) == [1, 3, 5]


def test_growing_moves_no_row() -> None:
    rows = MaskRows(words=WORDS, device=CPU, capacity=2)
    (first,) = rows.take(1)
    written = rows.row(first)
    address = written.ctypes.data
    assert rows.take(9) == list(range(1, 10))
    assert rows.capacity == 16
    assert rows.row(first).ctypes.data == address
    written[:] = 7
    assert rows.row(first).tolist() == [7] * WORDS


def test_rows_of_every_block_stand_where_the_block_says() -> None:
    rows = MaskRows(words=WORDS, device=CPU, capacity=2)
    for row in rows.take(11):
        block = rows.block(row)
        assert rows.row(row).ctypes.data == block.address + (row - block.first) * block.words.strides[0]
        assert block.tensor.data_ptr() == block.address


@pytest.mark.parametrize("given", [[3], [0, 0], [0, 9]])
def test_what_was_not_taken_cannot_be_given_back(given: list[int]) -> None:
    rows = MaskRows(words=WORDS, device=CPU, capacity=4)
    rows.take(3)
    with pytest.raises(ValueError, match="not all taken"):
        rows.give_back(given)
    rows.give_back([0, 1, 2])
    with pytest.raises(ValueError, match="not all taken"):
        rows.give_back([0])


def test_no_row_stands_past_the_last() -> None:
    rows = MaskRows(words=WORDS, device=CPU, capacity=4)
    with pytest.raises(IndexError):
        rows.row(4)


@pytest.mark.parametrize("wanted", [[0, 1, 2], [4, 3], [0], [1, 2, 3, 4, 5], [9, 0, 1, 1, 8]])
def test_rows_come_to_the_sampler_in_the_order_that_was_asked_for(wanted: list[int]) -> None:
    rows = MaskRows(words=WORDS, device=CPU, capacity=2)
    numbered(rows, rows.take(10))
    sent = rows.upload(wanted)
    assert sent.dtype == torch.int32
    assert sent[:, 0].tolist() == wanted
    assert sent.shape == (len(wanted), WORDS)


def test_no_rows_are_no_rows() -> None:
    assert MaskRows(words=WORDS, device=CPU).upload([]).shape == (0, WORDS)


def test_on_a_processor_neighbours_are_read_where_they_stand() -> None:
    rows = MaskRows(words=WORDS, device=CPU, capacity=8)
    taken = numbered(rows, rows.take(4))
    assert rows.upload(taken[1:3]).data_ptr() == rows.row(taken[1]).ctypes.data


def test_what_was_sent_to_a_device_does_not_change_with_the_rows() -> None:
    copies = Copies()
    upload = StagedUpload(CPU, words=WORDS, new_event=copies.new_event, is_pinned=False)
    rows = MaskRows(words=WORDS, device=CPU, capacity=2, upload=upload)
    taken = numbered(rows, rows.take(6))
    sent = rows.upload([5, 0, 3])
    for row in taken:
        rows.row(row)[:] = -1
    assert sent[:, 0].tolist() == [5, 0, 3]


def test_a_staging_buffer_is_packed_again_only_after_its_last_copy() -> None:
    copies = Copies()
    upload = StagedUpload(CPU, words=WORDS, new_event=copies.new_event, is_pinned=False)
    rows = MaskRows(words=WORDS, device=CPU, capacity=8, upload=upload)
    numbered(rows, rows.take(8))
    sent = [rows.upload(list(range(first, first + 1 + first % 3))) for first in range(5)]
    assert [tensor[:, 0].tolist() for tensor in sent] == [[0], [1, 2], [2, 3, 4], [3], [4, 5]]
    packed = [line for line in copies.log if line.endswith("copied")]
    assert packed == [f"buffer {number} copied" for number in (1, 2, 3, 1, 2)]
    # Before each packing its own buffer was waited for.
    assert copies.log == [line for name in packed for line in (name.replace("copied", "waited for"), name)]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="pinned memory and events need a GPU")
def test_many_uploads_to_a_gpu_each_hold_what_stood_in_their_rows() -> None:
    device = torch.device("cuda")
    rows = MaskRows(words=4748, device=device)
    taken = rows.take(100)
    assert rows.block(taken[0]).tensor.is_pinned()
    source = np.random.default_rng(0)
    expected, sent = [], []
    for _ in range(20):
        for row in taken:
            rows.row(row)[:] = source.integers(-(2**31), 2**31, dtype=np.int32)
        expected.append([int(rows.row(row)[0]) for row in taken])
        sent.append(rows.upload(taken))
    assert [tensor[:, -1].tolist() for tensor in sent] == expected
