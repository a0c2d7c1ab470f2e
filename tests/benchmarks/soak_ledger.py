"""What must be true of a loop in which nothing runs, and of the process's memory."""

import ctypes
import gc
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from inference_node.adapters.adapter_bank import AdapterBank
from inference_node.grammar import Prototype
from inference_node.mask_filler import MaskFiller
from inference_node.mask_rows import MaskRows
from inference_node.matcher import GrammarMatcher
from inference_node.running import Running
from inference_node.sequence import DecodingSequence
from inference_node.step_loop import StepLoop

_COUNTED: Final = (DecodingSequence, GrammarMatcher, Running, Prototype)
_WARM_UP_MINUTES: Final = 12
"""Lexers keep the states that they have seen, up to a bound, and every request's first answer is kept to compare."""
_LEAST_POINTS: Final = 10
_STEADY_MIB_A_MINUTE: Final = 1.0
"""What a process may seem to grow by after it has warmed up: allocators round, and caches have bounds."""


def loop_faults(loop: StepLoop, rows: MaskRows, masks: MaskFiller, *, num_own_rows: int) -> list[str]:
    """Of an idle one. `num_own_rows`: mask rows that the sampler keeps. On the loop's thread, between two steps."""
    seating, pool = loop._seating, loop.pool
    counts = pool.counts()
    queue = seating.queue
    facts = {
        "blocks are free, cached or used": (counts.num_free + counts.num_cached + counts.num_used, pool.num_blocks),
        "blocks used but by pins": (counts.num_used - counts.num_pinned, 0),
        "references are pins'": (sum(map(bool, pool._references)), counts.num_pinned),
        "cached blocks are found": (sum(block in pool._index for block in pool._cached), counts.num_cached),
        "running": (len(seating.running), 0),
        "waiting": (len(queue), 0),
        "partitions remembered": (len(queue._served) + len(queue._lines) + sum(queue._running.values()), 0),
        "held for a mask": (len(seating._held), 0),
        "mask rows taken": (len(rows._taken), num_own_rows),
        "mask lines": (len(masks._lines), 0),
        "being judged": (len(loop._leaving._judged), 0),
        "jobs": (len(loop._jobs), 0),
    }
    drafts = loop._stepping._drafts
    if drafts is not None:
        facts["draft keys"] = (len(drafts._asked) + len(drafts._proposed), 0)
    return [f"{name}: {seen}, not {due}" for name, (seen, due) in facts.items() if seen != due]


def bank_faults(bank: AdapterBank) -> list[str]:
    """Of one that nothing runs under."""
    return [f"adapter {one.digest[:12]} has {one.num_sequences} sequences" for one in bank.held() if one.num_sequences]


def live_counts() -> Counter[str]:
    """Objects that are alive, by what they are; garbage in cycles not."""
    gc.collect()
    # By type and not by `isinstance`, which asks objects for their class: some answer with warnings.
    return Counter(type(one).__name__ for one in gc.get_objects() if type(one) in _COUNTED)


@dataclass(slots=True, kw_only=True)
class Memory:
    """The process's resident size, over time."""

    seen: list[tuple[float, float]] = field(default_factory=list)
    """(minute, MiB)"""

    def note(self, minute: float) -> float:
        """As it is now, with what the allocator keeps in vain given back."""
        ctypes.CDLL(None).malloc_trim(0)
        status = Path("/proc/self/status").read_text(encoding="ascii")
        mib = int(status.split("VmRSS:")[1].split()[0]) / 1024
        self.seen.append((minute, mib))
        return mib

    @property
    def slope(self) -> float | None:
        """MiB a minute since it has warmed up; None: too few to tell."""
        points = [point for point in self.seen if point[0] > _WARM_UP_MINUTES]
        return _slope(points) if len(points) >= _LEAST_POINTS else None

    def faults(self) -> list[str]:
        """Whether it grows without end."""
        slope = self.slope
        return [f"memory grows by {slope:.2f} MiB a minute"] if slope and slope > _STEADY_MIB_A_MINUTE else []


def _slope(points: Sequence[tuple[float, float]]) -> float:
    mean_x = sum(x for x, _ in points) / len(points)
    mean_y = sum(y for _, y in points) / len(points)
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / spread if spread else 0.0
