"""Slots are leased, made free by age, and never taken from a sequence that runs."""

import pytest
import torch

from inference_node.adapters.adapter_bank import AdapterBank
from inference_node.adapters.errors import (
    AdapterDigestError,
    AdapterFileError,
    AdapterInUseError,
    AdapterMissingError,
    AdaptersFullError,
)
from inference_node.adapters.lease import AdapterLease
from inference_node.step_batch import AdapterRows, StepBatch
from tests.inference_node.adapters.adapter_worlds import BASE, new_adapter
from tests.inference_node.adapters.test_adapter_file import TINY

ADAPTERS = [new_adapter(TINY, seed=seed) for seed in range(4)]


def empty_bank(*, max_adapters: int = 2, dtype: torch.dtype = torch.float32) -> AdapterBank:
    return AdapterBank(
        TINY, base_digest=lambda: BASE, max_adapters=max_adapters, max_rank=16, dtype=dtype, device=torch.device("cpu")
    )


def test_an_adapter_is_kept_once() -> None:
    bank = empty_bank()
    assert not bank.put(*ADAPTERS[0])
    assert bank.put(*ADAPTERS[0])
    assert [(held.digest, held.rank, held.num_sequences) for held in bank.held()] == [(ADAPTERS[0][0], 4, 0)]


def test_one_that_is_known_is_not_read_again() -> None:
    bank = empty_bank()
    bank.put(*ADAPTERS[0])
    assert bank.put(ADAPTERS[0][0], b"")


def test_what_is_refused_takes_no_slot() -> None:
    bank = empty_bank()
    with pytest.raises(AdapterDigestError):
        bank.put(ADAPTERS[0][0], ADAPTERS[1][1])
    assert bank.held() == []


def test_the_least_recently_used_makes_room() -> None:
    bank = empty_bank()
    bank.put(*ADAPTERS[0])
    bank.put(*ADAPTERS[1])
    bank.lease(ADAPTERS[0][0]).release()
    bank.put(*ADAPTERS[2])
    assert [held.digest for held in bank.held()] == [ADAPTERS[2][0], ADAPTERS[0][0]]
    with pytest.raises(AdapterMissingError):
        bank.lease(ADAPTERS[1][0])


def test_one_that_is_in_use_stays() -> None:
    bank = empty_bank()
    bank.put(*ADAPTERS[0])
    bank.put(*ADAPTERS[1])
    lease = bank.lease(ADAPTERS[0][0])
    bank.put(*ADAPTERS[2])
    assert {held.digest for held in bank.held()} == {ADAPTERS[0][0], ADAPTERS[2][0]}
    other = bank.lease(ADAPTERS[2][0])
    assert {lease.slot, other.slot} == {1, 2}
    with pytest.raises(AdaptersFullError):
        bank.put(*ADAPTERS[3])
    with pytest.raises(AdapterInUseError) as refused:
        bank.remove(ADAPTERS[0][0])
    assert refused.value.num_sequences == 1
    lease.release()
    bank.remove(ADAPTERS[0][0])
    bank.put(*ADAPTERS[3])
    assert bank.lease(ADAPTERS[3][0]).slot == lease.slot


def test_a_lease_is_given_back_once() -> None:
    bank = empty_bank()
    bank.put(*ADAPTERS[0])
    first, second = bank.lease(ADAPTERS[0][0]), bank.lease(ADAPTERS[0][0])
    first.release()
    first.release()
    assert bank.held()[0].num_sequences == 1
    second.release()
    assert bank.held()[0].num_sequences == 0


def test_no_adapter_is_a_lease_of_nothing() -> None:
    lease = AdapterLease()
    lease.release()
    assert (lease.slot, lease.digest) == (0, "")


def test_what_is_not_there_cannot_be_leased_or_removed() -> None:
    bank = empty_bank()
    with pytest.raises(AdapterMissingError):
        bank.lease(ADAPTERS[0][0])
    with pytest.raises(AdapterMissingError):
        bank.remove(ADAPTERS[0][0])


def test_values_that_the_model_cannot_hold_are_refused() -> None:
    huge = new_adapter(TINY, size=1e35, lora_alpha=1e6)
    with pytest.raises(AdapterFileError, match="too large"):
        empty_bank().put(*huge)


def test_a_slot_that_nobody_holds_is_an_error_and_not_the_base_model() -> None:
    bank = empty_bank()
    rows, indices = torch.zeros(2, 8), torch.zeros(2, dtype=torch.int64)
    batch = StepBatch(
        num_rows=1,
        num_padded_rows=2,
        token_ids=indices,
        positions=indices,
        cache_rows=indices[:1],
        adapter_rows=[AdapterRows(slot=1, first=0, num_rows=1)],
        logit_rows=indices[:0],
        num_logit_rows=0,
    )
    with pytest.raises(AdapterMissingError):
        bank.apply(0, "output", rows, rows.clone(), batch)
