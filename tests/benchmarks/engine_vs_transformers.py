"""Our engine against `transformers` `generate`: tokens a second on one CPU, same weights, same dtype, same prompts.

    python tests/benchmarks/engine_vs_transformers.py --dtype bfloat16 --dtype float32

For each dtype: batch 1 and 8, ours without a grammar and under one, the peer without. Greedy, a fixed number of new
tokens, prefill included, one warm-up, then rounds in which every case runs once, so that a noisy moment hits all;
medians are compared. Each has a process of its own, which idles while the other computes: two teams of OpenMP threads
in one process would put each other to sleep between products. Exits 1 when a required ratio is missed: ours at batch 1
at least the peer's at batch 1, ours at batch 8 at least the peer's at batch 8 and three times that at batch 1.

What is not equal: the peer suppresses end tokens to reach the fixed length (`min_new_tokens`), ours runs past them;
ours goes through the whole step loop with events, the peer only through `generate`.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from threading import Event
from typing import Any

from inference_node.process_settings import OPENMP_WAITING

# Before torch is loaded, as the node's own process does.
os.environ.update(OPENMP_WAITING | os.environ)
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch
import transformers

from compiler_pool.tokenizer import BoundTokenizer, load_tokenizer
from inference_node.cpu_runner import CpuRunner
from inference_node.decoder import Decoder
from inference_node.engine import assemble_loop
from inference_node.grammar import Prototype
from inference_node.kv_cache import KvCache
from inference_node.metrics import NodeMetrics
from inference_node.model_config import read_model_config
from inference_node.model_weights import read_weights
from inference_node.prepare import prepare_default_model
from inference_node.protocol import Finish, GenerateEvent
from inference_node.sampling import SamplingChoice
from inference_node.sequence import DecodingSequence
from inference_node.sequence_request import SequenceRequest
from inference_node.slices import BLOCK_TOKENS
from inference_node.step_loop import StepLoop
from inference_node.step_plan import StepLimits
from policy.limits import TENANT

BATCHES = (1, 8)
CONTEXT_TOKENS = 512
PROMPT_TOKENS = 32
# Long enough that no run ends early, with little that is forced: the ratio is not won by skipping the model.
GRAMMAR = 'start: "{\\"text\\":\\"" /[A-Za-z ,.]{600,2000}/ "\\"}"'
TOPICS = ("a lighthouse", "two brothers", "the first snow", "an old map", "a slow train", "the market", "rain", "bees")


@dataclass(frozen=True, slots=True, kw_only=True)
class Required:
    """A ratio that the benchmark stands for."""

    case: str
    against: str
    ratio: float


class _Done:
    """A sink that only waits for the end."""

    def __init__(self) -> None:
        self.ended = Event()
        self.finish: Finish | None = None

    def put(self, event: GenerateEvent) -> None:
        if isinstance(event, Finish):
            self.finish = event
            self.ended.set()


def main() -> int:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dtype", action="append", choices=["bfloat16", "float32"], help="default: both")
    parser.add_argument("--new-tokens", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cache-dir", type=Path, default=Path(os.environ.get("SCHEMAGATE_CACHE_DIR", ".cache")))
    arguments = parser.parse_args()
    directory = prepare_default_model(arguments.cache_dir, lambda line: print(line, file=sys.stderr))
    is_met = True
    for name in arguments.dtype or ["bfloat16", "float32"]:
        rates = measure(directory, getattr(torch, name), arguments.new_tokens, arguments.rounds)
        is_met &= report(name, rates)
    return 0 if is_met else 1


def measure(directory: Path, dtype: torch.dtype, num_new: int, num_rounds: int) -> dict[str, list[float]]:
    """Tokens a second of every case in every round."""
    tokenizer = load_tokenizer(directory)
    prototype = Prototype.build(tokenizer, GRAMMAR, TENANT.engine)
    prompts = [prompt_of(tokenizer, topic) for topic in TOPICS]
    with (
        ProcessPoolExecutor(1, get_context("spawn")) as peer,
        running_loop(directory, dtype) as loop,
    ):
        cases: dict[str, Callable[[], int]] = {}
        for batch in BATCHES:
            chosen = prompts[:batch]
            ours = partial(our_tokens, loop, tokenizer, chosen, num_new)
            cases[f"transformers, batch {batch}"] = partial(_asked, peer, directory, dtype, chosen, num_new)
            cases[f"ours, batch {batch}"] = partial(ours, None)
            cases[f"ours, batch {batch}, grammar"] = partial(ours, prototype)
        return _rates(cases, num_rounds)


def _rates(cases: dict[str, Callable[[], int]], num_rounds: int) -> dict[str, list[float]]:
    rates: dict[str, list[float]] = {name: [] for name in cases}
    for number in range(num_rounds + 1):
        for name, run in cases.items():
            started = time.perf_counter()
            num_tokens = run()
            if number:  # the first round warms up
                rates[name].append(num_tokens / (time.perf_counter() - started))
    return rates


@contextmanager
def running_loop(directory: Path, dtype: torch.dtype) -> Iterator[StepLoop]:
    """Our engine over a model directory, on the CPU; loaded, as a node loads it, by a thread that ends."""
    with ThreadPoolExecutor(1) as loading:
        loop = loading.submit(_assembled, directory, dtype).result()
    loop.start()
    try:
        yield loop
    finally:
        loop.stop(timeout_seconds=10)


def _assembled(directory: Path, dtype: torch.dtype) -> StepLoop:
    tokenizer = load_tokenizer(directory)
    config = read_model_config(directory)
    cpu = torch.device("cpu")
    decoder = Decoder(config, read_weights(directory, config), context_tokens=CONTEXT_TOKENS, dtype=dtype, device=cpu)
    decoder.choose_row_padding(max_rows=128, max_logit_rows=max(BATCHES))
    num_blocks = max(BATCHES) * CONTEXT_TOKENS // BLOCK_TOKENS
    return assemble_loop(
        CpuRunner(decoder, KvCache(config, num_blocks=num_blocks, dtype=dtype, device=cpu)),
        tokenizer,
        num_blocks=num_blocks,
        limits=StepLimits(
            max_waiting=8, partition_share=1.0, max_sequences=max(BATCHES), chunk_tokens=64, max_rows=128, max_drafts=0
        ),
        num_mask_threads=2,
        device=cpu,
        dtype=dtype,
        metrics=NodeMetrics(),
    )


def report(dtype: str, rates: dict[str, list[float]]) -> bool:
    """Print a table and the required ratios; whether all are met."""
    print(f"\n{dtype}, {torch.get_num_threads()} threads, load average {os.getloadavg()[0]:.2f}")
    for name, values in rates.items():
        print(f"  {name:28} {median(values):8.1f} tokens/s   ({min(values):.1f} to {max(values):.1f})")
    required = [
        Required(case=f"ours, batch {batch}{suffix}", against=against, ratio=ratio)
        for suffix in ("", ", grammar")
        for batch, against, ratio in (
            (1, "transformers, batch 1", 1.0),
            (8, "transformers, batch 1", 3.0),
            (8, "transformers, batch 8", 1.0),
            (8, f"ours, batch 1{suffix}", 3.0),
        )
    ]
    is_met = True
    for rule in required:
        ratio = median(rates[rule.case]) / median(rates[rule.against])
        verdict = "met" if ratio >= rule.ratio else "MISSED"
        is_met &= ratio >= rule.ratio
        print(f"  {rule.case:24} / {rule.against:24} {ratio:6.2f}   required {rule.ratio:.1f}   {verdict}")
    return is_met


def prompt_of(tokenizer: BoundTokenizer, topic: str) -> list[int]:
    """Of one length for all topics."""
    text = f"Here is a long and quiet story about {topic}, told by somebody who was there and remembers it well. " * 2
    return tokenizer.encode_exact(text.encode())[:PROMPT_TOKENS]


def _asked(
    peer: ProcessPoolExecutor, directory: Path, dtype: torch.dtype, prompts: list[list[int]], num_new: int
) -> int:
    return peer.submit(_peer_tokens, directory, dtype, prompts, num_new).result()


@cache
def _peer(directory: Path, dtype: torch.dtype) -> Any:
    """The peer's model, in its own process."""
    return transformers.AutoModelForCausalLM.from_pretrained(directory, dtype=dtype)


def _peer_tokens(directory: Path, dtype: torch.dtype, prompts: list[list[int]], num_new: int) -> int:
    """Prompts are of one length, so that nothing is padded."""
    inputs = torch.tensor(prompts)
    with torch.inference_mode():
        output = _peer(directory, dtype).generate(
            inputs,
            attention_mask=torch.ones_like(inputs),
            do_sample=False,
            use_cache=True,
            min_new_tokens=num_new,
            max_new_tokens=num_new,
            pad_token_id=2,
        )
    num_tokens = int(output.shape[1] - inputs.shape[1]) * len(prompts)
    assert num_tokens == num_new * len(prompts)
    return num_tokens


def our_tokens(
    loop: StepLoop, tokenizer: BoundTokenizer, prompts: list[list[int]], num_new: int, prototype: Prototype | None
) -> int:
    """Decode all of them together; how many tokens that made."""
    sinks = [_Done() for _ in prompts]
    # Without end ids the length is fixed, as the peer's is.
    endless = replace(tokenizer, end_ids=())
    for prompt, sink in zip(prompts, sinks, strict=True):
        request = SequenceRequest(
            request_id="benchmark",
            prompt_ids=prompt,
            choice=SamplingChoice(temperature=0.0, top_p=1.0, seed=0),
            max_tokens=num_new,
            stop_strings=(),
            matcher=prototype.matcher() if prototype is not None else None,
        )
        loop.submit(DecodingSequence(request, endless, sink, context_tokens=CONTEXT_TOKENS))
    num_tokens = 0
    for sink in sinks:
        assert sink.ended.wait(300)
        assert sink.finish is not None
        assert sink.finish.stop_cause == "max_tokens", sink.finish
        num_tokens += sink.finish.usage.completion_tokens
    assert num_tokens == num_new * len(prompts)
    return num_tokens


if __name__ == "__main__":
    sys.exit(main())
