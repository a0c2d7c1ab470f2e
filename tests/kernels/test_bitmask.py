import importlib
from collections.abc import Sequence

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels.bitmask import BitmaskError, apply_bitmask_, bitmask_words


def packed(allowed: list[set[int]], vocabulary_size: int) -> torch.Tensor:
    """Masks from sets of allowed ids, by the definition."""
    words = [[0] * bitmask_words(vocabulary_size) for _ in allowed]
    for row, tokens in zip(words, allowed, strict=True):
        for token in tokens:
            row[token // 32] |= 1 << (token % 32)
    signed = [[word - (1 << 32) if word >= 1 << 31 else word for word in row] for row in words]
    return torch.tensor(signed, dtype=torch.int32).reshape(len(allowed), bitmask_words(vocabulary_size))


@settings(deadline=None)
@given(data=st.data(), vocabulary_size=st.integers(1, 130), num_rows=st.integers(1, 4))
def test_exactly_the_allowed_logits_survive(data: st.DataObject, vocabulary_size: int, num_rows: int) -> None:
    allowed = [data.draw(st.sets(st.integers(0, vocabulary_size - 1))) for _ in range(num_rows)]
    logits = torch.randn(num_rows, vocabulary_size)
    before = logits.clone()
    apply_bitmask_(logits, packed(allowed, vocabulary_size))
    for row, tokens in enumerate(allowed):
        for token in range(vocabulary_size):
            expected = before[row, token] if token in tokens else torch.tensor(float("-inf"))
            assert torch.equal(logits[row, token], expected)


@settings(deadline=None)
@given(data=st.data())
def test_selected_rows_are_masked_and_the_others_left_alone(data: st.DataObject) -> None:
    rows = data.draw(st.lists(st.integers(0, 5), unique=True, max_size=6))
    allowed = [data.draw(st.sets(st.integers(0, 69))) for _ in rows]
    logits = torch.randn(6, 70)
    before = logits.clone()
    apply_bitmask_(logits, packed(allowed, 70), rows=torch.tensor(rows, dtype=torch.int64))
    for row in range(6):
        if row in rows:
            assert set(logits[row].isfinite().nonzero().flatten().tolist()) == allowed[rows.index(row)]
        else:
            assert torch.equal(logits[row], before[row])


def test_rows_may_be_plain_numbers() -> None:
    logits = torch.zeros(3, 40)
    apply_bitmask_(logits, packed([{1}, {2}], 40), rows=[2, 0])
    assert logits.isfinite().nonzero().tolist() == [[0, 2], *([1, token] for token in range(40)), [2, 1]]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.float64])
def test_every_floating_type_is_masked(dtype: torch.dtype) -> None:
    logits = torch.zeros(1, 40, dtype=dtype)
    apply_bitmask_(logits, packed([{3, 39}], 40))
    assert logits.isfinite().nonzero()[:, 1].tolist() == [3, 39]


def test_strided_logits_and_masks_are_masked_in_place() -> None:
    storage = torch.zeros(40, 6)
    logits = storage.t()[::2]
    wide = torch.zeros(3, 4, dtype=torch.int32)
    masks = wide[:, ::2]
    masks[:, 0] = 1
    apply_bitmask_(logits, masks)
    assert storage.isfinite().sum() == 40 * 6 - 3 * 39
    assert storage[0].isfinite().all()


def test_bits_past_the_vocabulary_mean_nothing() -> None:
    logits = torch.zeros(1, 33)
    apply_bitmask_(logits, torch.full((1, 2), -1, dtype=torch.int32))
    assert logits.isfinite().all()


@pytest.mark.parametrize(
    ("bitmask", "rows"),
    [
        (torch.zeros(2, 1, dtype=torch.int32), None),  # too short: the tail would stay allowed
        (torch.zeros(2, 3, dtype=torch.int32), None),
        (torch.zeros(1, 2, dtype=torch.int32), None),
        (torch.zeros(2, 2, dtype=torch.int64), None),
        (torch.zeros(2, 2, dtype=torch.bool), None),
        (torch.zeros(2, dtype=torch.int32), None),
        (torch.zeros(1, 2, dtype=torch.int32), torch.tensor([2])),
        (torch.zeros(1, 2, dtype=torch.int32), torch.tensor([-1])),
        (torch.zeros(2, 2, dtype=torch.int32), torch.tensor([1, 1])),
        (torch.zeros(2, 2, dtype=torch.int32), torch.tensor([1])),
        (torch.zeros(1, 2, dtype=torch.int32), torch.tensor([1], dtype=torch.int32)),
        (torch.zeros(1, 2, dtype=torch.int32), [2]),
        (torch.zeros(1, 2, dtype=torch.int32), (-1,)),
        (torch.zeros(2, 2, dtype=torch.int32), [1, 1]),
        (torch.zeros(2, 2, dtype=torch.int32), [1]),
    ],
)
def test_a_mask_that_does_not_fit_is_refused_and_changes_nothing(
    bitmask: torch.Tensor, rows: torch.Tensor | Sequence[int] | None
) -> None:
    logits = torch.zeros(2, 40)
    with pytest.raises(BitmaskError):
        apply_bitmask_(logits, bitmask, rows=rows)
    assert logits.isfinite().all()


def test_logits_that_are_not_a_floating_matrix_are_refused() -> None:
    for logits in (torch.zeros(40), torch.zeros(1, 40, dtype=torch.int64)):
        with pytest.raises(BitmaskError, match="logits must be floating"):
            apply_bitmask_(logits, torch.zeros(1, 2, dtype=torch.int32))


def test_transformers_does_not_take_this_package_for_its_own_of_that_name() -> None:
    importlib.import_module("kernels")
    utils = importlib.import_module("transformers.utils.import_utils")
    assert utils.is_kernels_available() is False
