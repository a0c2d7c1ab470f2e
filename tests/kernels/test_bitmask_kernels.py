import pytest
import torch

from kernels.bitmask import apply_bitmask_reference_
from kernels.bitmask_kernels import apply_bitmask_by_kernel
from tests.kernels.sampling_worlds import DEVICE, packed


def mixed_masks(num_masks: int, vocabulary_size: int, seed: int) -> torch.Tensor:
    """Booleans with stretches of all, of none and of some."""
    generator = torch.Generator().manual_seed(seed)
    shares = torch.randint(0, 3, (num_masks, vocabulary_size // 40 + 1), generator=generator) / 2
    drawn = torch.rand(num_masks, vocabulary_size, generator=generator)
    return drawn < shares.repeat_interleave(40, dim=1)[:, :vocabulary_size]


@pytest.mark.parametrize("vocabulary_size", [1, 31, 32, 33, 1000, 2500])
def test_exactly_the_forbidden_logits_are_written(vocabulary_size: int) -> None:
    logits = torch.randn(3, vocabulary_size).to(DEVICE)
    logits[1, vocabulary_size // 2] = float("nan")
    masks = packed(mixed_masks(3, vocabulary_size, vocabulary_size))
    expected = logits.clone()
    apply_bitmask_reference_(expected, masks, None)
    apply_bitmask_by_kernel(logits, masks, None)
    assert torch.equal(logits.nan_to_num(7.0), expected.nan_to_num(7.0))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.float64])
def test_every_floating_type_and_stride(dtype: torch.dtype) -> None:
    storage = torch.randn(1100, 6).to(dtype).to(DEVICE)
    expected = storage.clone()
    masks = packed(mixed_masks(3, 1100, 1)).repeat_interleave(2, dim=1)[:, ::2]
    apply_bitmask_reference_(expected.t()[::2], masks, None)
    apply_bitmask_by_kernel(storage.t()[::2], masks, None)
    assert torch.equal(storage, expected)


def test_programs_of_several_blocks_write_the_same() -> None:
    logits = torch.randn(5, 4100).to(DEVICE)
    masks = packed(mixed_masks(5, 4100, 2))
    expected = logits.clone()
    apply_bitmask_reference_(expected, masks, None)
    apply_bitmask_by_kernel(logits, masks, None, busy_programs=3)
    assert torch.equal(logits, expected)


def test_a_row_that_is_not_there_is_not_written() -> None:
    logits = torch.randn(4, 100).to(DEVICE)
    before = logits.clone()
    masks = torch.zeros(4, 4, dtype=torch.int32, device=DEVICE)
    apply_bitmask_by_kernel(logits[1:3], masks, torch.tensor([2, -1, 1, 1 << 40], device=DEVICE))
    assert torch.equal(logits[[0, 1, 3]], before[[0, 1, 3]])
    assert logits[2].isinf().all()
