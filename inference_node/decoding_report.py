"""What decoding was like, of one sequence: counted at each step, told once at the end.

It is called at every pick of every sequence, so a call costs about a microsecond and keeps no list: values go to
buckets whose number is bounded. Quantiles are the middles of buckets: of seconds and of counts within 1/32 of the value
(counts below 32 exactly), of pressure within 0.0005. The largest value is exact.
"""

from collections.abc import Callable
from math import frexp, ldexp
from typing import Final

from inference_node.json_field import JsonField
from inference_node.protocol import DecodingReport, Spread
from inference_node.snapshots.restored_state import SavedCounters

MAX_FIELDS: Final = 64
"""Members whose pressure is told: the first so many that had any."""

_OCTAVE_PARTS: Final = 16
_LEAST_EXPONENT: Final = -30
"""2**-30 s is a nanosecond: less counts as nothing."""
_PRESSURE_PARTS: Final = 1000


class DecodingTally:
    """One sequence's counts, used from the step loop's thread. Of a restored sequence, counts go on from where they
    were, and spreads are of what was measured since.

    At each pick `step` comes before `wrote` of what was picked, so that a measurement belongs to the member that was
    due; text that the contract does not cover (a thought, free words) is not given to `wrote`.
    """

    __slots__ = (
        "_allowed", "_field", "_mask_seconds", "_num_accepted", "_num_cached", "_num_drafted", "_num_preemptions",
        "_num_steps", "_pressure", "_pressure_by_field", "_was_admitted",
    )  # fmt: skip

    def __init__(self) -> None:
        self._field = JsonField()
        self._mask_seconds = _Buckets(_octave_middle)
        self._allowed = _Buckets(lambda bucket: int(_octave_middle(bucket)))
        self._pressure = _Buckets(lambda bucket: (bucket + 0.5) / _PRESSURE_PARTS)
        self._pressure_by_field: dict[str, float] = {}
        self._num_steps = 0
        self._num_cached = 0
        self._num_drafted = 0
        self._num_accepted = 0
        self._num_preemptions = 0
        self._was_admitted = False

    def resume(self, counters: SavedCounters) -> None:
        """The sequence goes on from elsewhere, where so much had been counted."""
        self._num_steps = counters.num_steps
        self._num_cached = counters.cached_prompt_tokens
        self._num_drafted = counters.drafted_tokens
        self._num_accepted = counters.accepted_draft_tokens
        self._num_preemptions = counters.num_preemptions
        self._was_admitted = True

    def step(
        self, mask_seconds: float | None = None, num_allowed: int | None = None, removed_mass: float | None = None
    ) -> None:
        """One pick. None: there was no mask, or it was not measured.

        `removed_mass` is the raw probability of what the mask forbade; rounding may put it a little beside 0 to 1.
        """
        self._num_steps += 1
        if mask_seconds is not None:
            self._mask_seconds.add(_octave(mask_seconds), mask_seconds)
        if num_allowed is not None:
            self._allowed.add(_octave(num_allowed), num_allowed)
        # Not a number: the row had no distribution, and there is nothing to tell.
        if removed_mass is None or removed_mass != removed_mass:  # noqa: PLR0124 - quicker than isnan by half
            return
        pressure = min(1.0, max(0.0, removed_mass))
        self._pressure.add(min(int(pressure * _PRESSURE_PARTS), _PRESSURE_PARTS - 1), pressure)
        pointer = self._field.pointer
        if pointer is None:
            return
        largest = self._pressure_by_field.get(pointer)
        if largest is None:
            if len(self._pressure_by_field) < MAX_FIELDS:
                self._pressure_by_field[pointer] = pressure
        elif pressure > largest:
            self._pressure_by_field[pointer] = pressure

    def wrote(self, data: bytes) -> None:
        """The contract's text went on by these bytes, picked, forced or drafted."""
        self._field.feed(data)

    def drafted(self, num_drafted: int, num_accepted: int) -> None:
        """So many tokens were proposed and verified in one step, and so many of them were taken."""
        self._num_drafted += num_drafted
        self._num_accepted += num_accepted

    def preempted(self) -> None:
        """It lost its blocks and will be computed again."""
        self._num_preemptions += 1

    def reused(self, num_prompt_tokens: int) -> None:
        """At admission, so many tokens of the prompt were in the cache; later admissions do not count."""
        if not self._was_admitted:
            self._num_cached = num_prompt_tokens
        self._was_admitted = True

    def report(self) -> DecodingReport:
        """What is told of it. Fields come by their largest pressure."""
        by_pressure = sorted(self._pressure_by_field.items(), key=lambda entry: (-entry[1], entry[0]))
        return DecodingReport(
            num_steps=self._num_steps,
            cached_prompt_tokens=self._num_cached,
            drafted_tokens=self._num_drafted,
            accepted_draft_tokens=self._num_accepted,
            num_preemptions=self._num_preemptions,
            mask_seconds=self._mask_seconds.spread(),
            allowed_tokens=self._allowed.spread(),
            pressure=self._pressure.spread(),
            pressure_by_field=dict(by_pressure),
        )


class _Buckets:
    """How often each bucket was met."""

    __slots__ = ("_counts", "_largest", "_middle", "_total")

    def __init__(self, middle: Callable[[int], float]) -> None:
        self._middle = middle
        self._counts: dict[int, int] = {}
        self._total = 0
        self._largest = 0.0

    def add(self, bucket: int, value: float) -> None:
        self._counts[bucket] = self._counts.get(bucket, 0) + 1
        self._total += 1
        if value > self._largest:  # noqa: PLR1730 - quicker than max()
            self._largest = value

    def spread(self) -> Spread | None:
        if not self._total:
            return None
        return Spread(p50=self._quantile(0.5), p95=self._quantile(0.95), max=self._largest)

    def _quantile(self, share: float) -> float:
        """The middle of the first bucket up to which at least this share lies."""
        seen = 0
        for bucket in sorted(self._counts):
            seen += self._counts[bucket]
            if seen >= share * self._total:
                return min(self._largest, self._middle(bucket))
        return self._largest


def _octave(value: float) -> int:
    """Its bucket: sixteen equal parts of each power of two."""
    mantissa, exponent = frexp(value)
    if mantissa <= 0 or exponent <= _LEAST_EXPONENT:
        return _LEAST_EXPONENT * _OCTAVE_PARTS
    return exponent * _OCTAVE_PARTS + int((2 * mantissa - 1) * _OCTAVE_PARTS)


def _octave_middle(bucket: int) -> float:
    exponent, part = divmod(bucket, _OCTAVE_PARTS)
    if exponent <= _LEAST_EXPONENT:
        return 0.0
    return ldexp((1 + (part + 0.5) / _OCTAVE_PARTS) / 2, exponent)
