"""Answers from what a cache kept, and which refusals it may keep."""

from dataclasses import replace

import pytest

from compiler_pool.answers import free_of_charge, is_deterministic, kept_answer
from compiler_pool.cache import CachedRefusal, CacheEntry
from compiler_pool.frame import KeyRing
from compiler_pool.protocol import CompileCost, Compiled, Rejected, RejectionWire
from tests.compiler_pool.addresses import COST, RING, an_address, an_entry

ADDRESS = an_address()


def rejected(*limit_names: str | None) -> Rejected:
    rejections = [RejectionWire(code="x", message="no", limit_name=name) for name in limit_names]
    return Rejected(rejections=rejections, cost=CompileCost.model_validate(COST))


def test_what_was_measured_in_seconds_may_come_out_otherwise_and_nothing_else_may() -> None:
    assert is_deterministic(rejected(None, "max_nesting", "max_bytes"))
    assert not is_deterministic(rejected(None, "max_step_seconds"))
    assert not is_deterministic(rejected("cpu_seconds"))


def test_what_was_kept_costs_nothing() -> None:
    hit = kept_answer(an_entry(ADDRESS), RING)
    assert isinstance(hit, Compiled)
    assert (hit.cache, hit.cost.cpu_ms, hit.artifact_key) == ("hit", 0.0, ADDRESS.key)
    refusal = CachedRefusal(answer=rejected(None).model_dump_json().encode(), cpu_ms=20.0)
    again = kept_answer(refusal, RING)
    assert isinstance(again, Rejected)
    assert again.cost is not None
    assert again.cost.cpu_ms == 0.0
    assert free_of_charge(again) == again


@pytest.mark.parametrize(
    "entry",
    [
        CachedRefusal(answer=b"not json", cpu_ms=1.0),
        CachedRefusal(answer=b'{"outcome":"rejected","rejections":[]}', cpu_ms=1.0),
        CachedRefusal(answer=b'{"outcome":"compiled"}', cpu_ms=1.0),
        replace(an_entry(ADDRESS), cost=b"{}"),
        replace(an_entry(ADDRESS), frame=b"SGAF"),
        an_entry(ADDRESS, KeyRing.from_text("k2:" + "cd" * 32)),
    ],
)
def test_what_cannot_be_read_any_more_is_no_answer(entry: CacheEntry) -> None:
    assert kept_answer(entry, RING) is None
