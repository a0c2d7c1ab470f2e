"""A histogram of durations as one event loop fills it.

The client library's own takes two locks for each and looks its bounds through one by one; a request is counted in
fifteen of them.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import accumulate

from prometheus_client import CollectorRegistry
from prometheus_client.core import HistogramMetricFamily
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString


class Durations(Collector):
    """Seconds by at most one label. Not safe for use from two threads; it is read by the loop that fills it, too."""

    def __init__(
        self, name: str, documentation: str, *, bounds: Sequence[float], registry: CollectorRegistry, label: str = ""
    ) -> None:
        self._name, self._documentation = name, documentation
        self._labels = [label] if label else []
        self._bounds = tuple(bounds)
        self._spelled = [*map(floatToGoString, self._bounds), "+Inf"]
        self._counts: dict[str, list[int]] = {}
        self._sums: dict[str, float] = {}
        if not label:
            self.begin("")
        registry.register(self)

    def observe(self, seconds: float, label: str = "") -> None:
        """Count one."""
        if label not in self._counts:
            self.begin(label)
        self._counts[label][bisect_left(self._bounds, seconds)] += 1
        self._sums[label] += seconds

    def begin(self, label: str) -> None:
        """All of it is there from the first on: what has not happened is 0, not unknown."""
        self._counts[label], self._sums[label] = [0] * len(self._spelled), 0.0

    def collect(self) -> Iterable[HistogramMetricFamily]:
        """For the exposition."""
        family = HistogramMetricFamily(self._name, self._documentation, labels=self._labels)
        for label, counts in self._counts.items():
            values = [label] if self._labels else []
            family.add_metric(values, list(zip(self._spelled, accumulate(counts), strict=True)), self._sums[label])
        yield family
