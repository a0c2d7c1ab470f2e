"""Decoding on a GPU: is it right, what does a step cost, and do rows keep their bits.

    python tests/benchmarks/decoding_on_gpu.py [--model DIR] [--only NAME ...]

Sections: `attention`, `correct`, `steps`, `kernels`, `prompts`, `deterministic`. Models have random weights in the
shapes of SmolLM2-135M and Qwen2-1.5B; `--model` adds a directory's own. Times are of the device (events) and of the
host's part of a call, median and 99th percentile. A section that fails leaves the others their turn.
"""

import argparse
import importlib
import json
import statistics
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import torch

from inference_node.cuda_runner import CudaRunner
from inference_node.decoder import Decoder
from inference_node.kv_cache import KvCache
from inference_node.model_config import ModelConfig, read_model_config
from inference_node.model_weights import expected_shapes, read_weights
from inference_node.slices import BLOCK_TOKENS, Slice
from kernels.paged_attention import PagedRows, attend_by_definition, paged_attention

DEVICE: Final = torch.device("cuda")
CONTEXT_TOKENS: Final = 4096
SECTIONS: Final = ("attention", "correct", "steps", "kernels", "prompts", "deterministic")
MODELS: Final[dict[str, dict[str, Any]]] = {
    "smollm2-135m": {
        "model_type": "llama", "hidden_size": 576, "intermediate_size": 1536, "num_hidden_layers": 30,
        "num_attention_heads": 9, "num_key_value_heads": 3, "vocab_size": 49152, "rms_norm_eps": 1e-5,
        "rope_theta": 100000.0, "max_position_embeddings": 8192, "tie_word_embeddings": True,
    },
    "qwen2-1.5b": {
        "model_type": "qwen2", "hidden_size": 1536, "intermediate_size": 8960, "num_hidden_layers": 28,
        "num_attention_heads": 12, "num_key_value_heads": 2, "vocab_size": 151936, "rms_norm_eps": 1e-6,
        "rope_theta": 1000000.0, "max_position_embeddings": 32768, "tie_word_embeddings": True,
    },
}  # fmt: skip


def config_of(raw: dict[str, Any]) -> ModelConfig:
    """As if it stood in a model directory."""
    with tempfile.TemporaryDirectory() as directory:
        Path(directory, "config.json").write_text(json.dumps(raw))
        return read_model_config(Path(directory))


def random_weights(config: ModelConfig, *, seed: int = 0) -> dict[str, torch.Tensor]:
    """On the device, scaled so that activations neither die out nor explode."""
    generator = torch.Generator(DEVICE).manual_seed(seed)
    weights = {}
    for name, shape in expected_shapes(config).items():
        noise = torch.randn(shape, generator=generator, device=DEVICE)
        weights[name] = 1 + 0.1 * noise if name.endswith("norm.weight") else noise * min(0.05, shape[-1] ** -0.5)
    return weights


def new_runner(
    config: ModelConfig,
    weights: dict[str, torch.Tensor],
    *,
    dtype: torch.dtype = torch.bfloat16,
    num_blocks: int = 8192,
    **choices: Any,
) -> CudaRunner:
    """A runner with an empty cache."""
    decoder = Decoder(config, weights, context_tokens=CONTEXT_TOKENS, dtype=dtype, device=DEVICE)
    cache = KvCache(config, num_blocks=num_blocks, dtype=dtype, device=DEVICE)
    defaults = {"context_tokens": CONTEXT_TOKENS, "max_sequences": 256, "max_step_rows": 2048}
    return CudaRunner(decoder, cache, **(defaults | choices))


def blocks_of(number: int, num_tokens: int, num_blocks: int) -> list[int]:
    """Blocks of a sequence, not in a row; sequences share blocks only where a cache is too small for all."""
    count = -(-num_tokens // BLOCK_TOKENS)
    return [(number * count + index) * 37 % num_blocks for index in range(count)]


def part(blocks: Sequence[int], start: int, token_ids: Sequence[int], num_logits: int) -> Slice:
    """A slice of a sequence that is all prompt."""
    return Slice(blocks=blocks, start=start, token_ids=token_ids, num_prompt_tokens=1 << 20, num_logits=num_logits)


def random_ids(count: int, vocabulary_size: int, seed: int = 0) -> list[int]:
    """Token ids from a seed."""
    return torch.randint(0, vocabulary_size, (count,), generator=torch.Generator().manual_seed(seed)).tolist()


def device_times(call: Callable[[], object], *, rounds: int = 60, warm_ups: int = 5) -> tuple[float, float, float]:
    """Median and 99th percentile of the device's milliseconds, and the host's median in its own part of the call."""
    for _ in range(warm_ups):
        call()
    torch.cuda.synchronize()
    pairs, host = [], []
    for _ in range(rounds):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
        start.record()
        began = time.perf_counter()
        call()
        host.append((time.perf_counter() - began) * 1e3)
        end.record()
        end.synchronize()
        pairs.append(start.elapsed_time(end))
    return statistics.median(pairs), sorted(pairs)[int(rounds * 0.99) - 1], statistics.median(host)


def graph_time(calls: Sequence[Callable[[], object]], *, repeats: int = 20) -> float:
    """Microseconds of one call on the device, without launches: so many of them, in turn, in one graph."""
    calls[0]()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for number in range(repeats):
            calls[number % len(calls)]()
    return device_times(graph.replay, rounds=20, warm_ups=2)[0] * 1e3 / repeats


def distance(actual: torch.Tensor, expected: torch.Tensor) -> float:
    """Relative, by norms."""
    return float((actual.double() - expected.double()).norm() / expected.double().norm())


def attention_world(
    lengths: Sequence[int], heads: tuple[int, int, int], dtype: torch.dtype, *, num_layers: int = 1
) -> tuple[torch.Tensor, torch.Tensor, PagedRows]:
    """Queries of the last tokens of sequences, caches and rows."""
    num_heads, num_kv_heads, size = heads
    counts = [-(-length // BLOCK_TOKENS) for length in lengths]
    order = torch.randperm(sum(counts), device=DEVICE).int()
    firsts = [sum(counts[:number]) for number in range(len(counts))]
    return (
        torch.randn(len(lengths), num_heads, size, device=DEVICE).to(dtype),
        torch.randn(num_layers, sum(counts) * BLOCK_TOKENS, 2 * num_kv_heads * size, device=DEVICE).to(dtype),
        PagedRows(
            positions=torch.tensor(lengths, device=DEVICE, dtype=torch.int32) - 1,
            first_block=torch.tensor(firsts, device=DEVICE, dtype=torch.int32),
            blocks=order,
        ),
    )


def section_attention() -> None:
    """The kernel against its definition, a row's bits in other companies, and times."""
    shapes = ((9, 3, 64), (12, 2, 128), (4, 4, 96), (16, 1, 64))
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        for heads in shapes:
            check_attention(dtype, heads)
    print("\nheads, rows, keys: microseconds of one attention (bf16); reading keys and values once at 4.3 TB/s")
    for heads in shapes[:2]:
        for num_rows, num_keys in ((1, 256), (1, 4096), (32, 512), (256, 256), (256, 1024)):
            layer_bytes = num_rows * num_keys * heads[1] * heads[2] * 4
            queries, caches, rows = attention_world(
                [num_keys] * num_rows, heads, torch.bfloat16, num_layers=max(1, min((1 << 28) // layer_bytes, 20))
            )
            # Caches take turns, or the second call would find its keys in the chip's own cache.
            calls = [partial(attend_all, queries, cache, rows, heads[1]) for cache in caches]
            print(f"{heads}, {num_rows:3}, {num_keys:4}: {graph_time(calls):5.1f}; {layer_bytes / 4.3e6:5.1f}")


def attend_all(queries: torch.Tensor, cache: torch.Tensor, rows: PagedRows, num_kv_heads: int) -> torch.Tensor:
    """As a step of single rows does."""
    return paged_attention(
        queries, cache, rows, num_kv_heads=num_kv_heads, block_tokens=BLOCK_TOKENS, max_tokens=CONTEXT_TOKENS
    )


def check_attention(dtype: torch.dtype, heads: tuple[int, int, int]) -> None:
    """Against float64, alone, in two kinds of company, and sixteen neighbours as a tile."""
    lengths = [1, 15, 16, 17, 127, 128, 129, 700, 1500, 4096]
    queries, caches, rows = attention_world(lengths, heads, dtype)
    cache = caches[0]

    def attend(queries: torch.Tensor, rows: PagedRows, rows_per_tile: int = 1) -> torch.Tensor:
        return paged_attention(
            queries, cache, rows, num_kv_heads=heads[1], block_tokens=BLOCK_TOKENS, max_tokens=CONTEXT_TOKENS,
            rows_per_tile=rows_per_tile,
        )  # fmt: skip

    whole = attend(queries, rows)
    expected = attend_by_definition(
        queries.double(), cache.double(), rows, num_kv_heads=heads[1], block_tokens=BLOCK_TOKENS
    )
    alone = torch.cat([attend(queries[row : row + 1], rows.part(row, row + 1)) for row in range(len(lengths))])
    repeated = PagedRows(
        positions=rows.positions.repeat(60), first_block=rows.first_block.repeat(60), blocks=rows.blocks
    )
    many = torch.split(attend(queries.repeat(60, 1, 1), repeated), len(lengths))
    same = torch.equal(alone, whole) and all(torch.equal(company, whole) for company in many)
    neighbours = PagedRows(
        positions=torch.arange(1403, 1419, device=DEVICE, dtype=torch.int32),
        first_block=rows.first_block[8].repeat(16),
        blocks=rows.blocks,
    )
    tile = torch.randn(16, *queries.shape[1:], device=DEVICE).to(dtype)
    by_tile, by_row = attend(tile, neighbours, 16), attend(tile, neighbours)
    print(
        f"{str(dtype)[6:]:9} {heads!s:13} error {distance(whole, expected):.1e}, same bits in company: {same}, "
        f"tile as rows: {torch.equal(by_tile, by_row)} ({distance(by_tile, by_row):.0e})"
    )


def section_correct(name: str, config: ModelConfig, weights: dict[str, torch.Tensor], raw: dict[str, Any]) -> None:
    """Logits of a prompt in pieces and of single tokens, against `transformers` in float32."""
    transformers: Any = importlib.import_module("transformers")
    ids = random_ids(700, config.vocabulary_size)
    choices = {key: value for key, value in raw.items() if key != "model_type"}
    settings = transformers.AutoConfig.for_model(raw["model_type"], **choices)
    with torch.device(DEVICE), torch.inference_mode():
        peer = transformers.AutoModelForCausalLM.from_config(settings, dtype=torch.float32).eval()
        peer.load_state_dict({key: value.float() for key, value in weights.items()}, strict=False)
        expected = peer(torch.tensor([ids])).logits[0]
    del peer
    for dtype in (torch.float32, torch.bfloat16):
        runner = new_runner(config, weights, dtype=dtype, num_blocks=512)
        blocks = blocks_of(3, 700, 512)
        runner.forward([part(blocks, 0, ids[:352], 0)])
        logits = [runner.forward([part(blocks, 352, ids[352:660], 1)]).clone()]
        logits += [runner.forward([part(blocks, at, ids[at : at + 1], 1)]).clone() for at in range(660, 680)]
        logits += [runner.forward([part(blocks, 680, ids[680:700], 20)]).clone()]
        error = distance(torch.cat(logits), expected[659:])
        print(f"{name}: {str(dtype)[6:]} against transformers in float32: {error:.1e}")
        assert error < (1e-4 if dtype is torch.float32 else 5e-2), error


def section_steps(name: str, config: ModelConfig, weights: dict[str, torch.Tensor]) -> None:
    """Milliseconds of a decoding step by rows and mode, 500 tokens of context in each sequence."""
    weight_bytes = 2 * sum(value.numel() for value in weights.values())
    print(f"{name}: reading the weights once takes {weight_bytes / 4.3e9:.3f} ms; ms as median / p99 (host's part)")
    modes: dict[str, dict[str, Any]] = {
        "graphs": {},
        "launched": {"has_graphs": False},
        "deterministic": {"is_deterministic": True},
    }
    runners = {}
    for mode, choices in modes.items():
        began = time.perf_counter()
        runners[mode] = new_runner(config, weights, **choices)
        torch.cuda.synchronize()
        print(f"{mode}: ready in {time.perf_counter() - began:.1f} s")
    print("rows |", " | ".join(modes))
    for count in (1, 2, 4, 8, 16, 32, 64, 128, 256):
        steps = [part(blocks_of(number, 501, 8192), 500, [number + 7], 1) for number in range(count)]
        cells = []
        for mode, runner in runners.items():
            rounds = 15 if mode == "launched" else 60
            median, late, host = device_times(partial(runner.forward, steps), rounds=rounds)
            cells.append(f"{median:.3f} / {late:.3f} ({host:.3f})")
        print(f"{count:4} |", " | ".join(cells))


def section_kernels(name: str, config: ModelConfig, weights: dict[str, torch.Tensor]) -> None:
    """Where a step's time goes: microseconds on the device by kernel."""
    runner = new_runner(config, weights)
    for count in (1, 32):
        steps = [part(blocks_of(number, 501, 8192), 500, [number + 7], 1) for number in range(count)]
        runner.forward(steps)
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profiler:
            for _ in range(10):
                runner.forward(steps)
            torch.cuda.synchronize()
        events = sorted(profiler.key_averages(), key=lambda event: -event.self_device_time_total)
        print(f"{name}, {count} rows: microseconds a step, launches a step, kernel")
        for event in events[:12]:
            print(f"  {event.self_device_time_total / 10:7.1f} {event.count / 10:6.1f}  {event.key[:90]}")


def section_prompts(name: str, config: ModelConfig, weights: dict[str, torch.Tensor]) -> None:
    """Milliseconds of prompt slices, on top of 1,024 tokens."""
    runner = new_runner(config, weights)
    for num_tokens in (64, 256, 512, 1024, 2048):
        step = [part(blocks_of(1, 1024 + num_tokens, 8192), 1024, random_ids(num_tokens, config.vocabulary_size), 1)]
        median, late, host = device_times(partial(runner.forward, step), rounds=20)
        print(f"{name}: {num_tokens:5} tokens of a prompt: {median:.2f} / {late:.2f} ms (host {host:.2f})")


def section_deterministic(name: str, config: ModelConfig, weights: dict[str, torch.Tensor]) -> None:
    """Bits of long prompts and of what follows, by pieces and company; the default mode beside it."""
    for is_deterministic in (True, False):
        runner = new_runner(config, weights, is_deterministic=is_deterministic, num_blocks=8192)
        ids = random_ids(600, config.vocabulary_size)
        blocks, results = blocks_of(0, 620, 4096), {}
        for piece in (592, 256, 64, 16):
            for company in (0, 1, 40, 150):
                others = [part([5000 + number], 0, [number], 1) for number in range(company)]
                for start in range(0, 592, piece):
                    runner.forward([*others, part(blocks, start, ids[start : min(592, start + piece)], 0)])
                rows = [
                    runner.forward([part(blocks, at, ids[at : at + 1], 1), *others])[0].clone()
                    for at in range(592, 600)
                ]
                results[piece, company] = torch.stack(rows)
        first = results[592, 0]
        same = sum(torch.equal(first, other) for other in results.values())
        mode = "deterministic" if is_deterministic else "default"
        print(f"{name}, {mode}: {same} of {len(results)} mixes of pieces and companies give the same bits")


def main() -> None:
    """Run the sections that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--only", nargs="*", default=SECTIONS)
    arguments = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = False
    print(torch.cuda.get_device_name(), torch.__version__)
    if "attention" in arguments.only:
        attempt("attention", section_attention)
    sections = {
        "steps": section_steps,
        "kernels": section_kernels,
        "prompts": section_prompts,
        "deterministic": section_deterministic,
    }
    models = {name: (config_of(raw), raw) for name, raw in MODELS.items()}
    if arguments.model is not None:
        models[arguments.model.name] = (read_model_config(arguments.model), {})
    for name, (config, raw) in models.items():
        weights = random_weights(config) if raw else read_weights(arguments.model, config)
        if "correct" in arguments.only and raw:
            attempt(f"correct {name}", partial(section_correct, name, config, weights, raw))
        weights = {key: value.to(DEVICE, torch.bfloat16) for key, value in weights.items()}
        for section, run in sections.items():
            if section in arguments.only:
                attempt(f"{section} {name}", partial(run, name, config, weights))


def attempt(title: str, run: Callable[[], None]) -> None:
    """A section; its failure is printed and ends nothing else."""
    print(f"\n## {title}", flush=True)
    began = time.perf_counter()
    try:
        run()
    except Exception:  # the other sections' numbers are worth having
        traceback.print_exc(limit=6)
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    print(f"({time.perf_counter() - began:.0f} s)", flush=True)


if __name__ == "__main__":
    main()
