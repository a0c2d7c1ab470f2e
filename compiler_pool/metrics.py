"""The pool's metrics. Label sets are closed: nothing a caller sends can make a new series."""

from collections.abc import Callable
from functools import partial

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from compiler_pool.cache_metrics import CacheMetrics
from compiler_pool.protocol import CompileCost
from compiler_pool.standing import Urgency

_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_DEATHS = ("cpu_seconds", "wall_seconds", "deadline", "memory", "cancelled", "signal", "exit", "exception")


class PoolMetrics:
    """One process's metrics, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.cache = CacheMetrics(self.registry)
        self._requests = Counter(
            "schemagate_compile_requests_total",
            "Compile requests by outcome, and whether the cache, another request's compile or neither answered.",
            ["outcome", "cache"],
            registry=self.registry,
        )
        self._queue = Histogram(
            "schemagate_compile_queue_seconds",
            "Time a compile waited for a worker.",
            buckets=_SECONDS,
            registry=self.registry,
        )
        self._stages = Histogram(
            "schemagate_compile_duration_seconds",
            "CPU time of a compile in its worker, by stage and outcome.",
            ["stage", "outcome"],
            buckets=_SECONDS,
            registry=self.registry,
        )
        self._first_mask = Histogram(
            "schemagate_compile_first_mask_seconds",
            "CPU time of the first mask of accepted grammars.",
            buckets=_SECONDS,
            registry=self.registry,
        )
        self._deaths = Counter(
            "schemagate_compile_worker_deaths_total",
            "Workers lost and replaced, by reason.",
            ["reason"],
            registry=self.registry,
        )
        for reason in _DEATHS:
            self._deaths.labels(reason)

    def watch(self, name: str, text: str, read: Callable[[], float]) -> None:
        """A gauge that is read at each scrape."""
        Gauge(name, text, registry=self.registry).set_function(read)

    def watch_waiting(self, read: Callable[[Urgency], int]) -> None:
        """The line by class, read at each scrape."""
        gauge = Gauge(
            "schemagate_compile_waiting", "Compiles in the line by class.", ["urgency"], registry=self.registry
        )
        for urgency in Urgency:
            gauge.labels(urgency.name.lower()).set_function(partial(read, urgency))

    def answered(self, outcome: str, cache: str) -> None:
        """One request was answered: cache is `hit`, `miss` or `joined`."""
        self._requests.labels(outcome, cache).inc()

    def compiled(self, outcome: str, cost: CompileCost) -> None:
        """One compile ran to its end."""
        self._queue.observe(cost.queue_ms / 1e3)
        stages = {"lower": cost.lower_ms, "compile": cost.compile_ms, "trial": cost.trial_ms}
        for stage, milliseconds in stages.items():
            self._stages.labels(stage, outcome).observe(milliseconds / 1e3)
        if cost.num_trial_steps:
            self._first_mask.observe(cost.first_mask_ms / 1e3)

    def worker_died(self, reason: str) -> None:
        """A worker is gone. Reasons outside the closed list count as the kind of end they name."""
        kind = reason.split(" ", maxsplit=1)[0]
        self._deaths.labels(kind if kind in _DEATHS else "exception").inc()

    def exposition(self) -> bytes:
        """What `/metrics` answers."""
        return generate_latest(self.registry)
