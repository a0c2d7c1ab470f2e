"""Decoding under contracts against decoding without, through the whole loop, on whatever device there is.

    python -m tests.benchmarks.masked_decoding prepare --tokenizer DIR_OR_FILE --out WORK.json
    python -m tests.benchmarks.masked_decoding run --work WORK.json --model DIR [--batch 1 32 128] [--seconds 6]

`prepare` compiles 32 different real schemas (where the compiler is); `run` needs the engine alone. A directory without
weights gets random ones. In each case so many sequences are kept running: one that ends is followed by the next, its
prompt that of the next schema. The unconstrained run has the same prompts and as many tokens for each as the
constrained one had, so both prefill and end alike. Forced tokens count, and are told apart.
"""

import argparse
import cProfile
import itertools
import json
import os
import pstats
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any, Final

from inference_node.process_settings import OPENMP_WAITING

# Before torch is loaded, as the node's own process does.
os.environ.update(OPENMP_WAITING | os.environ)

import torch

from compiler_pool.tokenizer import BoundTokenizer, load_tokenizer
from inference_node.capacity import choose_capacity
from inference_node.cpu_runner import CpuRunner
from inference_node.cuda_runner import CudaRunner
from inference_node.decoder import Decoder
from inference_node.engine import assemble_loop, choose_mask_threads
from inference_node.grammar import Prototype
from inference_node.kv_cache import KvCache
from inference_node.metrics import NodeMetrics
from inference_node.model_config import ModelConfig, read_model_config
from inference_node.model_runner import ModelRunner
from inference_node.model_weights import expected_shapes, read_weights
from inference_node.sampling import SamplingChoice
from inference_node.sequence import DecodingSequence
from inference_node.sequence_request import SequenceRequest
from inference_node.settings import NodeSettings
from inference_node.step_loop import StepLoop
from inference_node.step_plan import StepLimits
from policy.limits import TENANT
from policy.text_bounds import DEFAULT_MAX_DIGITS, TextBounds
from tests.benchmarks.masked_decoding_ends import Finished

_NUM_SCHEMAS: Final = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A prompt and a grammar."""

    name: str
    prompt_ids: list[int]
    grammar: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """What one case came to."""

    case: str
    batch: int
    tokens_per_second: float
    forced_share: float
    step_p50_ms: float
    step_p99_ms: float
    mask_p50_ms: float
    mask_p95_ms: float
    mean_rows: float


class StepTimes(NodeMetrics):
    """Metrics that keep every step's time."""

    def __init__(self) -> None:
        super().__init__()
        self.steps: list[tuple[float, int]] = []

    def step(self, *, seconds: float, num_rows: int) -> None:
        self.steps.append((seconds, num_rows))


def main() -> int:
    """Prepare or run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    make = commands.add_parser("prepare")
    make.add_argument("--tokenizer", type=Path, required=True)
    make.add_argument("--template", type=Path, help="a model directory whose chat template is used")
    make.add_argument("--out", type=Path, required=True)
    run = commands.add_parser("run")
    run.add_argument("--work", type=Path, required=True)
    run.add_argument("--model", type=Path, required=True)
    run.add_argument("--batch", type=int, nargs="+", default=[1, 32, 128])
    run.add_argument("--seconds", type=float, default=6.0)
    run.add_argument("--dtype", default="bfloat16")
    run.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    run.add_argument("--deterministic", action="store_true")
    run.add_argument("--mask-threads", type=int, default=0, help="0: as a node chooses")
    run.add_argument("--profile", action="store_true", help="where the step loop's thread spends its time; slows it")
    run.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    if arguments.command == "prepare":
        prepare(arguments.tokenizer, arguments.template, arguments.out)
        return 0
    rates = measure(arguments)
    if arguments.out:
        arguments.out.write_text(json.dumps([asdict(rate) for rate in rates], indent=1))
    return 0


def prepare(tokenizer_path: Path, template: Path | None, out: Path) -> None:
    """Compile real schemas for a tokenizer."""
    from inference_node.prompt import load_prompt_encoder
    from tests.benchmarks.drafting_cases import cases

    tokenizer = load_tokenizer(tokenizer_path)
    prompts = load_prompt_encoder(template or tokenizer_path)
    # The gateway's own bounds, as they are without a setting.
    bounds = TextBounds(max_digits=DEFAULT_MAX_DIGITS, max_undeclared=0)
    found = cases(tokenizer, prompts, per_kind=_NUM_SCHEMAS // 4, max_prompt_tokens=400, bounds=bounds)
    jobs = [
        # Another model's ids mean nothing here; how long the prompt is, does.
        Job(
            name=case.name,
            prompt_ids=[token_id % tokenizer.vocabulary_size for token_id in case.prompt_ids],
            grammar=case.contract.grammar,
        )
        for case in found
    ]
    out.write_text(json.dumps([asdict(job) for job in jobs]))
    print(f"{len(jobs)} schemas, {out.stat().st_size / 1e3:.0f} kB")


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """What all cases have in common."""

    runner: ModelRunner
    num_blocks: int
    limits: StepLimits
    tokenizer: BoundTokenizer
    jobs: Sequence[Job]
    device: torch.device
    dtype: torch.dtype
    mask_threads: int
    seconds: float
    is_profiled: bool


def measure(arguments: argparse.Namespace) -> list[Rate]:
    """All batches, each constrained and not."""
    config = read_model_config(arguments.model)
    device, dtype = torch.device(arguments.device), getattr(torch, arguments.dtype)
    if device.type == "cuda":
        torch.set_num_threads(1)  # as a node does
    runner, num_blocks, limits = load(arguments, config, dtype, device, max_sequences=max(arguments.batch))
    world = World(
        runner=runner,
        num_blocks=num_blocks,
        limits=limits,
        tokenizer=load_tokenizer(arguments.model),
        jobs=[Job(**job) for job in json.loads(arguments.work.read_text())],
        device=device,
        dtype=dtype,
        mask_threads=arguments.mask_threads or choose_mask_threads(device),
        seconds=arguments.seconds,
        is_profiled=arguments.profile,
    )
    rates: list[Rate] = []
    for batch in arguments.batch:
        prototypes = [Prototype.build(world.tokenizer, job.grammar, TENANT.engine) for job in world.jobs]
        constrained, lengths = run_case(world, batch=batch, prototypes=prototypes, lengths=())
        free, _ = run_case(world, batch=batch, prototypes=None, lengths=lengths)
        rates += [constrained, free]
        for rate in (free, constrained):
            print(
                f"{rate.case:14} batch {batch:4}: {rate.tokens_per_second:9.0f} tokens/s, "
                f"forced {rate.forced_share:5.1%}, step p50 {rate.step_p50_ms:6.2f} p99 {rate.step_p99_ms:6.2f} ms "
                f"({rate.mean_rows:.1f} rows), mask p50 {rate.mask_p50_ms:5.2f} p95 {rate.mask_p95_ms:5.2f} ms",
                flush=True,
            )
        print(f"{'ratio':14} batch {batch:4}: {constrained.tokens_per_second / free.tokens_per_second:.3f}", flush=True)
    return rates


def load(
    arguments: argparse.Namespace, config: ModelConfig, dtype: torch.dtype, device: torch.device, *, max_sequences: int
) -> tuple[ModelRunner, int, StepLimits]:
    """A runner; weights are the directory's, or random where it has none."""
    settings = NodeSettings(artifact_keys="bench:" + "00" * 32, max_sequences=max_sequences, context_tokens=2048)
    if any(arguments.model.glob("*.safetensors")):
        weights = read_weights(arguments.model, config)
    else:
        weights = random_weights(config, device)
    decoder = Decoder(config, weights, context_tokens=2048, dtype=dtype, device=device)
    capacity = choose_capacity(config, settings, dtype=dtype, device=device)
    cache = KvCache(config, num_blocks=capacity.num_blocks + 1, dtype=dtype, device=device)
    if device.type == "cpu":
        decoder.choose_row_padding(max_rows=capacity.limits.max_rows, max_logit_rows=max_sequences)
        return CpuRunner(decoder, cache), capacity.num_blocks, capacity.limits
    runner = CudaRunner(
        decoder,
        cache,
        context_tokens=capacity.context_tokens,
        max_sequences=max_sequences,
        max_step_rows=capacity.limits.max_rows,
        is_deterministic=arguments.deterministic,
    )
    return runner, capacity.num_blocks, capacity.limits


def random_weights(config: ModelConfig, device: torch.device) -> dict[str, torch.Tensor]:
    """From a seed, scaled so that activations neither die out nor explode."""
    generator = torch.Generator(device).manual_seed(0)
    weights = {}
    for name, shape in expected_shapes(config).items():
        noise = torch.randn(shape, generator=generator, device=device)
        weights[name] = 1 + 0.1 * noise if name.endswith("norm.weight") else noise * min(0.05, shape[-1] ** -0.5)
    return weights


def run_case(
    world: World, *, batch: int, prototypes: Sequence[Prototype] | None, lengths: Sequence[int]
) -> tuple[Rate, list[int]]:
    """Keep `batch` sequences running for some seconds. Also the lengths of answers, in the order of their starts."""
    metrics = StepTimes()
    loop = assemble_loop(
        world.runner,
        world.tokenizer,
        num_blocks=world.num_blocks,
        limits=world.limits,
        num_mask_threads=world.mask_threads,
        device=world.device,
        dtype=world.dtype,
        metrics=metrics,
    )
    profile = cProfile.Profile()
    if world.is_profiled:
        loop.between_steps(profile.enable)
    loop.start()
    finished = Finished()
    starting = started_sequences(world, loop, finished, prototypes=prototypes, lengths=lengths)
    try:
        for _ in range(batch):
            next(starting)
        # The first answers warm lexers and caches up.
        count = keep_running(starting, finished, 0, seconds=world.seconds / 3)
        metrics.steps.clear()
        first, began = count, time.perf_counter()
        tokens, forced = finished.num_tokens, finished.num_forced
        count = keep_running(starting, finished, count, seconds=world.seconds)
        took = time.perf_counter() - began
        tokens, forced = finished.num_tokens - tokens, finished.num_forced - forced
    finally:
        if world.is_profiled:
            loop.between_steps(profile.disable).result(timeout=60)
            pstats.Stats(profile).sort_stats("tottime").print_stats(30)
        loop.stop(timeout_seconds=60)
    over = [finish for _, finish in finished.finishes[first:count]]
    masks = [finish.decoding.mask_seconds for finish in over if finish.decoding.mask_seconds is not None]
    seconds = sorted(step for step, _ in metrics.steps)
    rate = Rate(
        case="unconstrained" if prototypes is None else "constrained",
        batch=batch,
        tokens_per_second=tokens / took,
        forced_share=forced / max(1, tokens),
        step_p50_ms=median(seconds) * 1e3,
        step_p99_ms=seconds[int(len(seconds) * 0.99)] * 1e3,
        mask_p50_ms=median([spread.p50 for spread in masks] or [0.0]) * 1e3,
        mask_p95_ms=median([spread.p95 for spread in masks] or [0.0]) * 1e3,
        mean_rows=sum(rows for _, rows in metrics.steps) / len(metrics.steps),
    )
    by_start = dict(finished.finishes)
    known = [by_start[number].usage.completion_tokens for number in sorted(by_start)]
    return rate, known


def keep_running(starting: Iterator[Any], finished: Finished, count: int, *, seconds: float) -> int:
    """For each that ends start the next. How many have ended."""
    ends_at = time.perf_counter() + seconds
    while time.perf_counter() < ends_at:
        now = finished.next_after(count)
        for _ in range(now - count):
            next(starting)
        count = now
    return count


def started_sequences(
    world: World,
    loop: StepLoop,
    finished: Finished,
    *,
    prototypes: Sequence[Prototype] | None,
    lengths: Sequence[int],
) -> Iterator[DecodingSequence]:
    """One after another, as they are asked for."""
    # Without a contract an answer ends where the one under a contract did.
    bound = world.tokenizer if prototypes is not None else replace(world.tokenizer, end_ids=())
    for number in itertools.count():
        job = world.jobs[number % len(world.jobs)]
        matcher = None
        max_tokens = 256
        if prototypes is not None:
            prototype = prototypes[number % len(prototypes)]
            if prototype.is_worn:
                prototype = prototype.rebuilt()
            matcher = prototype.matcher()
        elif lengths:
            max_tokens = lengths[number % len(lengths)]
        request = SequenceRequest(
            request_id=str(number),
            prompt_ids=job.prompt_ids,
            choice=SamplingChoice(temperature=1.0, top_p=1.0, seed=number),
            max_tokens=max_tokens,
            stop_strings=(),
            matcher=matcher,
        )
        sequence = DecodingSequence(request, bound, finished.sink(number), context_tokens=2048)
        loop.submit(sequence)
        yield sequence


if __name__ == "__main__":
    sys.exit(main())
