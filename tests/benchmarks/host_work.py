"""The host's own work for a token, with and without a contract, beside a device that only takes time.

    python -m tests.benchmarks.masked_decoding prepare --tokenizer MODEL_DIR --out WORK.json
    python -m tests.benchmarks.host_work --work WORK.json --model MODEL_DIR [--pass-ms 1.7] [--batch 32 128]

The whole step loop, masks and events included, on sequences as `masked_decoding` keeps them running. Processor time is
of the step loop's thread, without the drawing of tokens, which stands for a GPU's sampling kernel.
"""

import argparse
import json
import os
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from inference_node.process_settings import OPENMP_WAITING

# Before torch is loaded, as the node's own process does.
os.environ.update(OPENMP_WAITING | os.environ)

import torch

from compiler_pool.tokenizer import load_tokenizer
from inference_node.engine import assemble_loop
from inference_node.grammar import Prototype
from inference_node.step_plan import StepLimits
from policy.limits import TENANT
from tests.benchmarks.masked_decoding import Job, StepTimes, World, keep_running, started_sequences
from tests.benchmarks.masked_decoding_ends import Finished
from tests.benchmarks.stand_in_device import StandInRunner, StandInSampler

_NUM_BLOCKS = 20_000
_FREE_LENGTHS = (60,)
"""Tokens of an answer without a contract: about those of one under a contract when tokens are drawn evenly."""


def main() -> None:
    """Both cases of each batch."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--batch", type=int, nargs="+", default=[32, 128])
    parser.add_argument("--pass-ms", type=float, default=0.0)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--mask-threads", type=int, default=2)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    for batch in arguments.batch:
        free, bound = (run_case(arguments, batch=batch, is_bound=is_bound) for is_bound in (False, True))
        print(f"ratio        batch {batch:4}: {bound / free:.2f}", flush=True)


def run_case(arguments: argparse.Namespace, *, batch: int, is_bound: bool) -> float:
    """Tokens a second; prints the rest."""
    tokenizer = load_tokenizer(arguments.model)
    jobs = [Job(**job) for job in json.loads(arguments.work.read_text())]
    runner, metrics, finished = StandInRunner(arguments.pass_ms / 1e3), StepTimes(), Finished()
    limits = StepLimits(
        max_waiting=4 * batch,
        partition_share=1.0,
        max_sequences=batch,
        chunk_tokens=512,
        max_rows=2048,
        max_drafts=0,
    )
    device, dtype = torch.device("cpu"), torch.bfloat16
    loop = assemble_loop(
        runner,
        tokenizer,
        num_blocks=_NUM_BLOCKS,
        limits=limits,
        num_mask_threads=arguments.mask_threads,
        device=device,
        dtype=dtype,
        metrics=metrics,
    )
    stepping, rows = loop._stepping, loop._seating.rows
    sampler = StandInSampler(runner, rows, vocabulary_size=tokenizer.vocabulary_size)
    stepping._sampler = sampler  # type: ignore[assignment]
    prototypes: Sequence[Prototype] | None = None
    if is_bound:
        prototypes = [Prototype.build(tokenizer, job.grammar, TENANT.engine) for job in jobs]
    world = World(
        runner=runner,
        num_blocks=_NUM_BLOCKS,
        limits=limits,
        tokenizer=tokenizer,
        jobs=jobs,
        device=device,
        dtype=dtype,
        mask_threads=arguments.mask_threads,
        seconds=arguments.seconds,
        is_profiled=False,
    )
    starting = started_sequences(world, loop, finished, prototypes=prototypes, lengths=_FREE_LENGTHS)
    loop.start()
    try:
        for _ in range(batch):
            next(starting)
        count = keep_running(starting, finished, 0, seconds=arguments.seconds / 3)
        metrics.steps.clear()
        before = loop.between_steps(lambda: time.thread_time() - sampler.seconds).result()
        tokens, began = finished.num_tokens, time.perf_counter()
        keep_running(starting, finished, count, seconds=arguments.seconds)
        tokens, took = finished.num_tokens - tokens, time.perf_counter() - began
        busy = loop.between_steps(lambda: time.thread_time() - sampler.seconds).result() - before
    finally:
        loop.stop(timeout_seconds=60)
    seconds = sorted(step for step, _ in metrics.steps)
    print(
        f"{'constrained' if is_bound else 'free':12} batch {batch:4}: {tokens / took:8.0f} tokens/s, "
        f"{busy / tokens * 1e6:5.1f} us of the loop's thread a token, "
        f"step p50 {median(seconds) * 1e3:5.2f} p99 {seconds[int(len(seconds) * 0.99)] * 1e3:5.2f} ms",
        flush=True,
    )
    return tokens / took


if __name__ == "__main__":
    main()
