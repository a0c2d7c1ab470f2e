"""What a node counts. Label sets are closed: stop causes, and nothing that a caller can make up."""

from typing import Literal
from weakref import WeakSet

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from inference_node.block_pool import PoolCounts
from inference_node.protocol import DecodingReport, Finish

PrototypeReason = Literal["first", "spread", "worn", "broken", "alone"]
"""Why a grammar was compiled: the artifact came, its sequences share a lexer too many, its lexer is used up or failed,
or a sequence that may have made it fail needs one of its own."""

_STEP_BUCKETS = (0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.25, 0.5, 1.0, 2.5)
_PRESSURE_BUCKETS = (0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 1.0)
_ALLOWED_BUCKETS = (1, 3, 10, 30, 100, 300, 1000, 3000, 10_000, 30_000, 100_000)
_MASK_BUCKETS = (0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)


class NodeMetrics:
    """Prometheus metrics of one node, in a registry of its own. Safe from any thread."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.num_steps = 0
        """Forward passes so far: written by the step loop's thread, read by who wants to know whether it goes on."""
        self._waiting = self._gauge("queued_sequences", "Sequences that wait for a place.")
        self._running = self._gauge("running_sequences", "Sequences that hold a place of the cache.")
        self._kv_tokens = self._gauge("kv_used_tokens", "Tokens whose keys and values are in the cache.")
        self._kv_capacity = self._gauge("kv_capacity_tokens", "Tokens that the cache can hold.")
        self._blocks = Gauge(
            "schemagate_node_kv_blocks",
            "Blocks of the cache: used by a sequence or a pin, cached in case a prompt comes again, free.",
            ["state"], registry=self.registry,
        )  # fmt: skip
        self._artifacts = self._gauge("artifacts", "Artifacts that are kept.")
        self._ready = self._gauge("ready", "1 while the node can serve.")
        self._prompt_tokens = self._counter("prompt_tokens", "Tokens of prompts.")
        self._completion_tokens = self._counter("completion_tokens", "Tokens after prompts, forced ones included.")
        self._forced_tokens = self._counter("forced_tokens", "Tokens that the grammar left no choice about.")
        self._cached_tokens = self._counter("cached_prompt_tokens", "Tokens of prompts that were in the cache already.")
        self._drafted_tokens = self._counter("drafted_tokens", "Tokens that were drafted and verified.")
        self._accepted_tokens = self._counter(
            "accepted_draft_tokens", "Drafted tokens that the model would have picked."
        )
        self._preemptions = self._counter("preemptions", "Times that a sequence gave its blocks to an older one.")
        self._rows = self._counter("computed_rows", "Rows of forward passes: tokens computed.")
        self._live_prototypes: WeakSet[object] = WeakSet()
        # Not what shelves hold: a prototype lives, and takes memory, for as long as a sequence uses it.
        self._gauge("prototypes", "Compiled grammars in memory.").set_function(lambda: len(self._live_prototypes))
        self._built_prototypes = Counter(
            "schemagate_node_built_prototypes_total", "Grammars compiled, by why.", ["reason"], registry=self.registry
        )
        self._moved = Counter(
            "schemagate_node_replayed_sequences_total",
            "Sequences whose lexer failed, by where their tokens were replayed.", ["move"], registry=self.registry,
        )  # fmt: skip
        self._finished = Counter(
            "schemagate_node_finished_sequences_total", "Sequences by why they ended.", ["stop_cause"],
            registry=self.registry,
        )  # fmt: skip
        self._refused = Counter(
            "schemagate_node_refused_requests_total", "Requests refused before their first event, by fault.", ["code"],
            registry=self.registry,
        )  # fmt: skip
        self._step = Histogram(
            "schemagate_node_step_duration_seconds", "Forward passes.", buckets=_STEP_BUCKETS, registry=self.registry
        )
        self._mask = Histogram(
            "schemagate_node_mask_seconds", "Mask fills of one sequence, summed.", buckets=_MASK_BUCKETS,
            registry=self.registry,
        )  # fmt: skip
        self._pressure = Histogram(
            "schemagate_node_pressure",
            "Of the raw distribution, the probability that masks took away: each sequence's 95th percentile.",
            buckets=_PRESSURE_BUCKETS, registry=self.registry,
        )  # fmt: skip
        self._allowed = Histogram(
            "schemagate_node_allowed_tokens", "Tokens that masks allowed: each sequence's median.",
            buckets=_ALLOWED_BUCKETS, registry=self.registry,
        )  # fmt: skip
        self._queue = Histogram(
            "schemagate_node_queue_duration_seconds", "From a request's acceptance to its place.",
            registry=self.registry,
        )  # fmt: skip
        self._prefill = Histogram(
            "schemagate_node_prefill_duration_seconds", "From a sequence's place to its first picked token.",
            registry=self.registry,
        )  # fmt: skip

    def set_capacity(self, *, kv_tokens: int) -> None:
        """The cache is there."""
        self._kv_capacity.set(kv_tokens)

    def set_ready(self, *, is_ready: bool) -> None:
        """Whether the node can serve."""
        self._ready.set(int(is_ready))

    def set_artifacts(self, count: int) -> None:
        """How many artifacts are kept."""
        self._artifacts.set(count)

    def prototype_built(self, reason: PrototypeReason, prototype: object) -> None:
        """A grammar was compiled; it is counted as live until nobody refers to it."""
        self._built_prototypes.labels(reason).inc()
        self._live_prototypes.add(prototype)

    def sequence_moved(self, move: str) -> None:
        """A sequence goes to another lexer; `move` is one of `matcher.Move`'s values."""
        self._moved.labels(move).inc()

    def set_load(self, *, waiting: int, running: int, kv_tokens: int) -> None:
        """Once a step."""
        self._waiting.set(waiting)
        self._running.set(running)
        self._kv_tokens.set(kv_tokens)

    def set_blocks(self, counts: PoolCounts) -> None:
        """Once a step."""
        self._blocks.labels("used").set(counts.num_used)
        self._blocks.labels("cached").set(counts.num_cached)
        self._blocks.labels("free").set(counts.num_free)

    def step(self, *, seconds: float, num_rows: int) -> None:
        """One forward pass."""
        self.num_steps += 1
        self._step.observe(seconds)
        self._rows.inc(num_rows)

    def finished(self, finish: Finish) -> None:
        """One sequence is over."""
        self._finished.labels(finish.stop_cause).inc()
        self._prompt_tokens.inc(finish.usage.prompt_tokens)
        self._completion_tokens.inc(finish.usage.completion_tokens)
        self._forced_tokens.inc(finish.usage.forced_tokens)
        self._queue.observe(finish.timings.queue_seconds)
        self._prefill.observe(finish.timings.prefill_seconds)
        if finish.accepting is not None:
            self._mask.observe(finish.timings.mask_seconds)
        self._observe_decoding(finish.decoding)

    def _observe_decoding(self, decoding: DecodingReport) -> None:
        self._cached_tokens.inc(decoding.cached_prompt_tokens)
        self._drafted_tokens.inc(decoding.drafted_tokens)
        self._accepted_tokens.inc(decoding.accepted_draft_tokens)
        self._preemptions.inc(decoding.num_preemptions)
        if decoding.pressure is not None:
            self._pressure.observe(decoding.pressure.p95)
        if decoding.allowed_tokens is not None:
            self._allowed.observe(decoding.allowed_tokens.p50)

    def refused(self, code: str) -> None:
        """One request was refused; `code` is one of `NodeFault`'s."""
        self._refused.labels(code).inc()

    def render(self) -> bytes:
        """The text that Prometheus scrapes."""
        return generate_latest(self.registry)

    def _gauge(self, name: str, text: str) -> Gauge:
        return Gauge(f"schemagate_node_{name}", text, registry=self.registry)

    def _counter(self, name: str, text: str) -> Counter:
        return Counter(f"schemagate_node_{name}_total", text, registry=self.registry)
