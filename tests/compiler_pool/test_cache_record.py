"""What lies where others can write is believed only if it is ours, whole, and for the very address."""

import struct
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiler_pool.artifact import ArtifactAddress
from compiler_pool.cache import CachedFrame, CachedRefusal, CacheEntry
from compiler_pool.cache_record import RecordFault, Unusable, open_record, seal_record
from compiler_pool.frame import KeyRing
from tests.compiler_pool.addresses import RING, an_address, an_entry

ADDRESS = an_address()
FRAME = an_entry(ADDRESS)
REFUSAL = CachedRefusal(answer=b'{"outcome":"rejected"}', cpu_ms=1.5)
MAX_BYTES = 1 << 16


def opened(
    data: bytes, ring: KeyRing = RING, address: ArtifactAddress = ADDRESS, max_bytes: int = MAX_BYTES
) -> CacheEntry | Unusable:
    return open_record(data, address, ring, max_bytes=max_bytes)


@pytest.mark.parametrize("entry", [FRAME, REFUSAL])
def test_an_entry_comes_back_as_it_was(entry: CacheEntry) -> None:
    assert opened(seal_record(ADDRESS, entry, RING)) == entry


@pytest.mark.parametrize("entry", [FRAME, REFUSAL])
def test_a_record_under_another_address_is_not_used(entry: CacheEntry) -> None:
    record = seal_record(ADDRESS, entry, RING)
    for other in (an_address("b"), an_address(partition="other"), replace(ADDRESS, policy_digest="sha256:lax")):
        assert opened(record, address=other) == Unusable(fault=RecordFault.WRONG_ADDRESS)


def test_a_frame_inside_is_for_the_same_address_too() -> None:
    record = seal_record(ADDRESS, an_entry(an_address("b")), RING)
    assert opened(record) == Unusable(fault=RecordFault.WRONG_ADDRESS)


def test_a_record_of_a_key_that_is_not_known_is_foreign_and_one_that_is_retired_soon_is_not() -> None:
    other = KeyRing.from_text("k2:" + "cd" * 32)
    both = KeyRing.from_text("k2:" + "cd" * 32 + ",k1:" + "ab" * 32)
    record = seal_record(ADDRESS, FRAME, RING)
    assert opened(record, other) == Unusable(fault=RecordFault.FOREIGN_KEY)
    assert opened(record, both) == FRAME


def test_another_secret_under_a_known_name_is_tampering() -> None:
    forged = KeyRing.from_text("k1:" + "cd" * 32)
    assert opened(seal_record(ADDRESS, REFUSAL, forged)) == Unusable(fault=RecordFault.TAMPERED)


def test_a_frame_by_itself_is_no_record_and_a_record_is_no_frame() -> None:
    assert isinstance(FRAME, CachedFrame)
    assert opened(FRAME.frame) == Unusable(fault=RecordFault.MALFORMED)
    record = seal_record(ADDRESS, REFUSAL, RING)
    wrapped = seal_record(ADDRESS, CachedFrame(frame=record, cost=b"{}", cpu_ms=1.0), RING)
    assert opened(wrapped) == Unusable(fault=RecordFault.MALFORMED)


def test_a_record_of_another_version_is_malformed() -> None:
    record = bytearray(seal_record(ADDRESS, REFUSAL, RING))
    record[4] = 2
    assert opened(bytes(record)) == Unusable(fault=RecordFault.MALFORMED)


def test_a_record_that_is_larger_than_may_be_is_not_looked_into() -> None:
    record = seal_record(ADDRESS, FRAME, RING)
    assert opened(record, max_bytes=len(record)) == FRAME
    assert opened(record, max_bytes=len(record) - 1) == Unusable(fault=RecordFault.OVERSIZED)


def test_lengths_that_promise_more_than_there_is_cost_no_memory() -> None:
    record = bytearray(seal_record(ADDRESS, REFUSAL, RING))
    at = 6 + 2 + 1 + 8 + 32
    record[at : at + 8] = struct.pack(">II", 0xFFFFFFFF, 0xFFFFFFFF)
    assert opened(bytes(record)) == Unusable(fault=RecordFault.TRUNCATED)


@pytest.mark.parametrize("entry", [FRAME, REFUSAL])
def test_every_cut_is_seen(entry: CacheEntry) -> None:
    record = seal_record(ADDRESS, entry, RING)
    for length in range(1, len(record)):
        assert opened(record[:length]) == Unusable(fault=RecordFault.TRUNCATED)


@given(st.data())
def test_every_change_is_seen(data: st.DataObject) -> None:
    entry = FRAME if data.draw(st.booleans()) else REFUSAL
    record = bytearray(seal_record(ADDRESS, entry, RING))
    at = data.draw(st.integers(0, len(record) - 1))
    record[at] ^= data.draw(st.integers(1, 255))
    assert isinstance(opened(bytes(record)), Unusable)


@given(st.binary(max_size=300), st.booleans())
def test_bytes_of_any_kind_are_no_entry(data: bytes, is_like_ours: bool) -> None:  # noqa: FBT001
    assert isinstance(opened(b"SGCR\x01\x02k1" + data if is_like_ours else data or b"x"), Unusable)
