"""Metrics of the cache's tiers, of what they let in, and of compiles shared between processes."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from compiler_pool.cache_record import RecordFault
from compiler_pool.second_tier import Operation, Silence

_SECONDS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25)


_STAYS = ("trial", "kept", "oversized")
_LEASES = ("granted", "found", "late", "unanswered")


class CacheMetrics:
    """Label sets are closed: tiers `l1` and `l2`, and the words that the code uses."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._looks = Counter(
            "schemagate_compile_cache_total",
            "Look-ups by tier (`l1` in process, `l2` in Redis) and result.",
            ["tier", "result"],
            registry=registry,
        )
        self._discards = Counter(
            "schemagate_compile_cache_discards_total",
            "Entries found in the second tier that were not used, by reason.",
            ["reason"],
            registry=registry,
        )
        self._stays = Counter(
            "schemagate_compile_cache_stays_total",
            "Entries written to the second tier for a short stay (`trial`) or a long one (`kept`), or too large.",
            ["stay"],
            registry=registry,
        )
        self._errors = Counter(
            "schemagate_compile_cache_errors_total",
            "Calls to the second tier without an answer, by operation and reason; `open`: not asked after failures.",
            ["operation", "reason"],
            registry=registry,
        )
        self._seconds = Histogram(
            "schemagate_compile_cache_seconds",
            "Time of answered calls to the second tier.",
            ["operation"],
            buckets=_SECONDS,
            registry=registry,
        )
        self._leases = Counter(
            "schemagate_compile_leases_total",
            "Contracts compiled here for all pools (`granted`), waited for (`found`), waited for in vain (`late`), "
            "or compiled without asking the others (`unanswered`).",
            ["result"],
            registry=registry,
        )
        self._is_open = Gauge(
            "schemagate_compile_cache_circuit_open", "1 while the second tier counts as gone.", registry=registry
        )
        # Known from the first scrape on, with and without a second tier.
        for fault in RecordFault:
            self._discards.labels(fault)
        for stay in _STAYS:
            self._stays.labels(stay)
        for operation in Operation:
            self._seconds.labels(operation)
            for why in Silence:
                self._errors.labels(operation, why)
        for result in _LEASES:
            self._leases.labels(result)

    def looked(self, tier: str, *, is_hit: bool) -> None:
        """One look-up."""
        self._looks.labels(tier, "hit" if is_hit else "miss").inc()

    def discarded(self, fault: RecordFault) -> None:
        """An entry was found and not used."""
        self._discards.labels(fault).inc()

    def stayed(self, stay: str) -> None:
        """An entry was written, or was too large."""
        self._stays.labels(stay).inc()

    def answered(self, operation: Operation, seconds: float) -> None:
        """The second tier answered."""
        self._seconds.labels(operation).observe(seconds)
        self._is_open.set(0)

    def unanswered(self, operation: Operation, reason: Silence, *, is_open: bool) -> None:
        """It did not, or was not asked."""
        self._errors.labels(operation, reason).inc()
        self._is_open.set(is_open)

    def leased(self, result: str) -> None:
        """How a compile that several processes may have wanted came about."""
        self._leases.labels(result).inc()
