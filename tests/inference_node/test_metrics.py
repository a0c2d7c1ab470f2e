"""What a scrape says of decoding is what its sequences reported."""

from inference_node.block_pool import BlockPool
from inference_node.metrics import NodeMetrics
from inference_node.protocol import DecodingReport, Finish, NodeTimings, Spread, Usage

TIMINGS = NodeTimings(queue_seconds=0, prefill_seconds=0, decode_seconds=0, mask_seconds=0)


def finish(decoding: DecodingReport) -> Finish:
    usage = Usage(prompt_tokens=40, completion_tokens=10, forced_tokens=2)
    return Finish(stop_cause="grammar_end", accepting=True, usage=usage, timings=TIMINGS, decoding=decoding)


def value(metrics: NodeMetrics, name: str, **labels: str) -> float | None:
    return metrics.registry.get_sample_value(f"schemagate_node_{name}", labels)


def test_reports_of_sequences_add_up() -> None:
    metrics = NodeMetrics()
    for _ in range(2):
        metrics.finished(
            finish(
                DecodingReport(
                    num_steps=8,
                    cached_prompt_tokens=32,
                    drafted_tokens=7,
                    accepted_draft_tokens=5,
                    num_preemptions=1,
                    allowed_tokens=Spread(p50=20, p95=400, max=900),
                    pressure=Spread(p50=0.2, p95=0.6, max=0.9),
                )
            )
        )
    names = ("cached_prompt_tokens", "drafted_tokens", "accepted_draft_tokens", "preemptions")
    assert [value(metrics, f"{name}_total") for name in names] == [64, 14, 10, 2]
    assert value(metrics, "pressure_bucket", le="0.5") == 0
    assert value(metrics, "pressure_bucket", le="0.75") == 2
    assert value(metrics, "allowed_tokens_bucket", le="10.0") == 0
    assert value(metrics, "allowed_tokens_bucket", le="30.0") == 2


def test_an_unconstrained_sequence_has_no_pressure() -> None:
    metrics = NodeMetrics()
    metrics.finished(finish(DecodingReport(num_steps=8)))
    assert value(metrics, "pressure_count") == value(metrics, "allowed_tokens_count") == 0


def test_every_block_is_somebodys_or_free() -> None:
    metrics, pool = NodeMetrics(), BlockPool(10)
    ids = list(range(32))
    first, second = pool.match(ids, salt=""), pool.match([7] * 20, salt="")
    assert pool.grow(first, 32)
    assert pool.grow(second, 20)
    pool.publish(first, ids, num_tokens=32, salt="")
    pool.release(first)
    metrics.set_blocks(pool.counts())
    assert [value(metrics, "kv_blocks", state=state) for state in ("used", "cached", "free")] == [2, 2, 6]
