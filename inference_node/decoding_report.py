"""What decoding was like, of one sequence: measured at each pick, told once at the end.

It is called at every pick of every sequence, so a call only appends: 8 bytes for each of three quantities, which a
sequence's context bounds, against the kilobytes that a token's keys and values take. Quantiles are exact.
"""

from array import array
from typing import Final

import numpy as np

from inference_node.json_field import JsonField
from inference_node.protocol import DecodingReport, Spread
from inference_node.snapshots.restored_state import SavedCounters

MAX_FIELDS: Final = 64
"""Members whose pressure is told: the first so many that had any."""


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
        self._mask_seconds = array("d")
        self._allowed = array("d")
        self._pressure = array("d")
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
            self._mask_seconds.append(mask_seconds)
        if num_allowed is not None:
            self._allowed.append(num_allowed)
        # Not a number: the row had no distribution, and there is nothing to tell.
        if removed_mass is None or removed_mass != removed_mass:  # noqa: PLR0124 - quicker than isnan by half
            return
        pressure = min(1.0, max(0.0, removed_mass))
        self._pressure.append(pressure)
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
            mask_seconds=_spread(self._mask_seconds),
            allowed_tokens=_spread(self._allowed),
            pressure=_spread(self._pressure),
            pressure_by_field=dict(by_pressure),
        )


def _spread(values: "array[float]") -> Spread | None:
    """Each quantile is one of the values: the least up to which at least that share lies."""
    if not values:
        return None
    p50, p95, largest = np.quantile(np.frombuffer(values, dtype=np.float64), (0.5, 0.95, 1), method="inverted_cdf")
    return Spread(p50=float(p50), p95=float(p95), max=float(largest))
