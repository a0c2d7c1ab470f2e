"""The twelve stages of a request and what each of them took."""

import time
from collections.abc import Mapping
from contextlib import AbstractContextManager
from enum import StrEnum
from types import TracebackType


class Stage(StrEnum):
    """In the order in which a request passes them."""

    AUTHENTICATE = "authenticate"
    PARSE = "parse"
    RESOLVE = "resolve"
    CANONICALISE = "canonicalise"
    NEGOTIATE = "negotiate"
    RESERVE = "reserve"
    COMPILE = "compile"
    ROUTE = "route"
    DECODE = "decode"
    CLASSIFY = "classify"
    VALIDATE = "validate"
    SETTLE = "settle"

    # An enumeration's own is written in Python, and a request looks stages up a hundred times.
    __hash__ = str.__hash__


_IN_ORDER = tuple((stage, stage.value) for stage in Stage)
"""With their names."""
_NOT_OURS = (Stage.DECODE,)
"""Time in which the gateway waits for tokens; everything else is its own cost."""


class _Timing:
    """One block of one stage. Not a generator: a request enters some thirty of these."""

    __slots__ = ("_before", "_clock", "_stage")

    def __init__(self, clock: "StageClock", stage: Stage) -> None:
        self._clock, self._stage, self._before = clock, stage, 0.0

    def __enter__(self) -> None:
        self._before = time.perf_counter()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._clock.add(self._stage, time.perf_counter() - self._before)


class StageClock:
    """One request's timers. A stage may be entered more than once; its times add up."""

    def __init__(self) -> None:
        self._started = time.perf_counter()
        self._seconds: dict[Stage, float] = {}

    def time(self, stage: Stage) -> AbstractContextManager[None]:
        """Count the block to `stage`, however the block ends."""
        return _Timing(self, stage)

    def add(self, stage: Stage, seconds: float) -> None:
        """Count `seconds` to `stage`."""
        self._seconds[stage] = self._seconds.get(stage, 0.0) + seconds

    @property
    def elapsed_seconds(self) -> float:
        """Since the request's first byte reached the application."""
        return time.perf_counter() - self._started

    @property
    def seconds(self) -> Mapping[Stage, float]:
        """Stages passed so far, in the order of the design."""
        passed = self._seconds
        return {stage: passed[stage] for stage, _ in _IN_ORDER if stage in passed}

    @property
    def overhead_seconds(self) -> float:
        """What the gateway added so far: elapsed time without the waiting for tokens."""
        return self.elapsed_seconds - sum(self._seconds.get(stage, 0.0) for stage in _NOT_OURS)

    def milliseconds(self) -> dict[str, float]:
        """For the `schemagate` member: each stage passed and the total, in ms, to the microsecond."""
        passed = self._seconds
        stages = {name: int(passed[stage] * 1e6 + 0.5) / 1000 for stage, name in _IN_ORDER if stage in passed}
        stages["total"] = int(self.elapsed_seconds * 1e6 + 0.5) / 1000
        return stages

    def server_timing(self) -> str:
        """The value of `Server-Timing` (W3C): durations in milliseconds."""
        return ", ".join(f"{name};dur={ms:g}" for name, ms in self.milliseconds().items())
