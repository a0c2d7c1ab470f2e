"""The comparing process: `compiler_pool.child` runs `build` once, then its callable for each pair of contracts."""

import sys
from collections.abc import Callable

from compiler_pool.job import JsonLike
from gateway.compatibility.job import pack_comparison, unpack_job
from gateway.compatibility.judges import GatewayJudges
from registry.compatibility.comparison import compare
from registry.compatibility.verdicts import ComparisonBudget

MAX_FRAMES = 40_000
"""Interpreter frames: some thirty for each value within another that is solved for. The stack that the service gives
holds them; past them the comparison ends as `Unknown`."""


def build(config: dict[str, JsonLike]) -> Callable[[bytes], bytes]:
    """A job that compares two contracts. `config`: the members of `ComparisonBudget`."""
    sys.setrecursionlimit(MAX_FRAMES)
    limits = {name: value for name, value in config.items() if isinstance(value, int)}
    assert len(limits) == len(config)
    budget = ComparisonBudget(**limits)
    judges = GatewayJudges()

    def job(payload: bytes) -> bytes:
        old, new = unpack_job(payload)
        return pack_comparison(compare(old, new, judges, budget))

    return job
