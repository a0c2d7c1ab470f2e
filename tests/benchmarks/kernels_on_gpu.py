"""The kernels of masked decoding on a GPU: first that they are right, then how long they take beside others.

    PYTHONPATH=. python tests/benchmarks/kernels_on_gpu.py --out DIR [--tune] [--xgrammar FILE] [--llguidance]

`--xgrammar` is `xgrammar/kernels/apply_token_bitmask_inplace_triton.py` of its wheel; `--llguidance` needs its package.
Times are of the device alone: calls over so many buffers that no cache holds them are captured in one graph, which is
replayed between two events; the median of the replays, divided by the calls. Floors are bytes over the bandwidth that
a copy reached in the same run.
"""

import argparse
import importlib
import importlib.util
import json
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import torch

from kernels.bitmask import apply_bitmask_, apply_bitmask_reference_, bitmask_words
from kernels.bitmask_kernels import apply_bitmask_by_kernel
from kernels.draws import Draws, Sampled
from kernels.masked_sampling import masked_sample
from kernels.sampling_kernels import masked_sample_by_kernels
from kernels.sampling_reference import masked_sample_reference

VOCABULARY = 151_936
DEVICE = torch.device("cuda")
COLD_BYTES = 400_000_000
"""Rotated through: several times what the cache of the largest card holds."""
DTYPES = {"bf16": torch.bfloat16, "fp32": torch.float32}
Call = Callable[[torch.Tensor], object]
Apply = Callable[[torch.Tensor, torch.Tensor], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One line of the table. Microseconds."""

    what: str
    batch: int
    dtype: str
    mask: str
    microseconds: float
    floor: float


def measured_microseconds(call: Call, buffers: Sequence[torch.Tensor]) -> float:
    """The median time of a call on the device."""
    stream = torch.cuda.Stream(DEVICE)  # type: ignore[no-untyped-call]  # as torch has it
    with torch.cuda.stream(stream):
        for buffer in buffers[:3]:
            call(buffer)
    stream.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for buffer in buffers:
            call(buffer)
    times: list[float] = []
    for _ in range(9):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
        start.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(1000 * float(start.elapsed_time(end)) / len(buffers))
    return statistics.median(times[1:])


def copy_bandwidth() -> float:
    """Bytes a microsecond, read and written."""
    source = torch.randn(500_000_000, device=DEVICE)
    target = torch.empty_like(source)
    return 8 * source.numel() / measured_microseconds(lambda one: torch.neg(one, out=target), [source] * 4)


def random_masks(num_masks: int, kind: str) -> torch.Tensor:
    """By the share that is allowed, in percent; "runs" allows or forbids whole words, half of them."""
    shape = (num_masks, bitmask_words(VOCABULARY), 32)
    share = 0.5 if kind == "50 % in runs" else float(kind.removesuffix(" %")) / 100
    drawn = torch.rand((*shape[:2], 1) if kind == "50 % in runs" else shape, device=DEVICE) < share
    bits = drawn.expand(shape).long() << torch.arange(32, device=DEVICE)
    return bits.sum(2).to(torch.int32)  # the low 32 bits


def new_buffers(batch: int, dtype: torch.dtype) -> list[torch.Tensor]:
    """Logits [batch, vocabulary]: as many as no cache holds, at least 4."""
    one = batch * VOCABULARY * dtype.itemsize
    generator = torch.Generator(DEVICE).manual_seed(batch)
    count = min(max(4, -(-COLD_BYTES // one)), 256)
    return [3 * torch.randn(batch, VOCABULARY, device=DEVICE, generator=generator).to(dtype) for _ in range(count)]


def some_draws(batch: int, temperature: float, top_k: int = 0, top_p: float = 1.0) -> Draws:
    return Draws(
        temperature=torch.full((batch,), temperature, device=DEVICE),
        top_k=torch.full((batch,), top_k, dtype=torch.int32, device=DEVICE),
        top_p=torch.full((batch,), top_p, device=DEVICE),
        seed=torch.arange(batch, device=DEVICE) * 7919,
        place=torch.arange(batch, device=DEVICE) % 17,
        has_filters=top_k > 0 or top_p < 1,
    )


WAYS: dict[str, tuple[float, int, float]] = {
    "greedy": (0.0, 0, 1.0),
    "T 1": (1.0, 0, 1.0),
    "T 0.7": (0.7, 0, 1.0),
    "T 0.7, top-k 50": (0.7, 50, 1.0),
    "T 0.7, top-p 0.9": (0.7, 0, 0.9),
    "T 0.7, top-k 50, top-p 0.9": (0.7, 50, 0.9),
}


def check() -> None:
    """That both kernels do what the references do, at full width, and that no row notices another."""
    for dtype in DTYPES.values():
        logits = 3 * torch.randn(64, VOCABULARY, device=DEVICE).to(dtype)
        for kind in ("0.1 %", "50 %", "99.9 %", "50 % in runs"):
            masks = random_masks(64, kind)
            ours, reference = logits.clone(), logits.clone()
            apply_bitmask_(ours, masks)
            apply_bitmask_reference_(reference, masks, None)
            assert torch.equal(ours, reference), (dtype, kind)
            for way in WAYS.values():
                mask_rows = torch.arange(64, dtype=torch.int32, device=DEVICE)
                mask_rows[::5] = -1
                draws = some_draws(64, *way)
                whole = masked_sample(logits, draws, bitmask=masks, mask_rows=mask_rows)
                _check_sampled(
                    whole, masked_sample_reference(logits, draws, None, masks, mask_rows), (dtype, kind, way)
                )
                _check_alone(whole, logits, draws, masks, mask_rows)


def _check_sampled(ours: Sampled, reference: Sampled, case: object) -> None:
    # Noise that differs in its last digit can decide a draw that is nearly a tie.
    assert (ours.token_ids != reference.token_ids).sum() <= 1, (case, ours.token_ids, reference.token_ids)
    same = ours.token_ids == reference.token_ids
    assert torch.equal(ours.num_allowed, reference.num_allowed), case
    assert torch.allclose(ours.logprobs[same], reference.logprobs[same], atol=2e-5), case
    assert torch.allclose(ours.removed_mass, reference.removed_mass, atol=2e-6), case


def _check_alone(
    whole: Sampled, logits: torch.Tensor, draws: Draws, masks: torch.Tensor, mask_rows: torch.Tensor
) -> None:
    row = torch.tensor([37], device=DEVICE)
    lone = Draws(
        temperature=draws.temperature[row], top_k=draws.top_k[row], top_p=draws.top_p[row], seed=draws.seed[row],
        place=draws.place[row], has_filters=draws.has_filters,
    )  # fmt: skip
    alone = masked_sample(logits, lone, rows=row, bitmask=masks, mask_rows=mask_rows[row])
    for field in fields(Sampled):
        assert torch.equal(getattr(alone, field.name), getattr(whole, field.name)[row])


def applying(apply: Apply, masks: torch.Tensor) -> Call:
    return lambda logits: apply(logits, masks)


def sampling(draws: Draws, masks: torch.Tensor | None, mask_rows: torch.Tensor | None) -> Call:
    return lambda logits: masked_sample(logits, draws, bitmask=masks, mask_rows=mask_rows)


def tuned_bitmask(masks: torch.Tensor, block_words: int, num_warps: int, max_blocks: int) -> Call:
    return lambda logits: apply_bitmask_by_kernel(logits, masks, None, block_words, num_warps, max_blocks)


def tuned_sampling(draws: Draws, masks: torch.Tensor, mask_rows: torch.Tensor, tile: int, num_warps: int) -> Call:
    return lambda logits: masked_sample_by_kernels(logits, draws, None, masks, mask_rows, tile, num_warps)


def tune() -> None:
    """Prints what block sizes and warps take."""
    for batch in (1, 32, 256):
        logits = new_buffers(batch, torch.bfloat16)
        for kind in ("0.1 %", "50 %", "99.9 %"):
            masks = random_masks(batch, kind)
            for sizes in ((32, 1, 1), (32, 1, 2), (32, 1, 4), (64, 1, 4), (64, 2, 1), (64, 2, 4), (128, 4, 1)):
                taken = measured_microseconds(tuned_bitmask(masks, *sizes), logits)
                print(f"bitmask {batch} {kind} {sizes}: {taken:.1f}", flush=True)
        masks, mask_rows = random_masks(batch, "50 %"), torch.arange(batch, dtype=torch.int32, device=DEVICE)
        for way in ("greedy", "T 1", "T 0.7"):
            draws = some_draws(batch, *WAYS[way])
            for tile, warps in ((512, 1), (1024, 1), (1024, 2), (2048, 1), (2048, 4), (4096, 4), (4096, 8)):
                taken = measured_microseconds(tuned_sampling(draws, masks, mask_rows, tile, warps), logits)
                print(f"sampling {batch} {way} {tile}/{warps}: {taken:.1f}", flush=True)


def bitmask_rivals(xgrammar: Path | None, *, llguidance: bool) -> dict[str, Apply]:
    ways: dict[str, Apply] = {"ours": apply_bitmask_}
    if xgrammar is not None:
        spec = importlib.util.spec_from_file_location("xgrammar_triton", xgrammar)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        ways["xgrammar Triton"] = module.apply_token_bitmask_inplace_triton
    if llguidance:
        ways["llguidance torch.compile"] = importlib.import_module("llguidance.torch").apply_token_bitmask_inplace
    return ways


def measure(bandwidth: float, rivals: dict[str, Apply]) -> list[Measured]:
    lines: list[Measured] = []
    for batch in (1, 32, 256):
        for name, dtype in DTYPES.items():
            one_read = batch * VOCABULARY * dtype.itemsize / bandwidth
            mask_read = batch * bitmask_words(VOCABULARY) * 4 / bandwidth

            def line(what: str, kind: str, call: Call, floor: float, about: tuple[int, str] = (batch, name)) -> None:
                taken = measured_microseconds(call, new_buffers(about[0], DTYPES[about[1]]))
                lines.append(
                    Measured(what=what, batch=about[0], dtype=about[1], mask=kind, microseconds=taken, floor=floor)
                )

            for kind in ("0.1 %", "50 %", "50 % in runs", "99.9 %"):
                masks = random_masks(batch, kind)
                share = 0.5 if "50" in kind else float(kind.removesuffix(" %")) / 100
                for what, apply in rivals.items():
                    line(f"bitmask, {what}", kind, applying(apply, masks), mask_read + (1 - share) * one_read)
            masks, mask_rows = random_masks(batch, "50 %"), torch.arange(batch, dtype=torch.int32, device=DEVICE)
            for way, numbers in WAYS.items():
                draws = some_draws(batch, *numbers)
                line(f"sampling, {way}", "all", sampling(draws, None, None), one_read)
                line(f"sampling, {way}", "50 %", sampling(draws, masks, mask_rows), one_read)
            line("softmax + multinomial", "all", lambda one: torch.multinomial(one.float().softmax(1), 1), one_read)
    return lines


def host_microseconds() -> float:
    """What a call of `masked_sample` costs its thread, the device aside."""
    logits = torch.randn(32, VOCABULARY, device=DEVICE)
    masks, mask_rows = random_masks(32, "50 %"), torch.arange(32, dtype=torch.int32, device=DEVICE)
    draws = some_draws(32, 1.0)
    times = []
    for _ in range(200):
        torch.cuda.synchronize()
        start = time.perf_counter()
        masked_sample(logits, draws, bitmask=masks, mask_rows=mask_rows)
        times.append(time.perf_counter() - start)
    return 1e6 * statistics.median(times)


def as_table(lines: Sequence[Measured]) -> str:
    rows = ["| what | batch | dtype | allowed | µs | floor | ratio |", "|---|---|---|---|---|---|---|"]
    rows += [
        f"| {line.what} | {line.batch} | {line.dtype} | {line.mask} | {line.microseconds:.1f} | {line.floor:.1f} "
        f"| {line.microseconds / line.floor:.1f} |"
        for line in lines
    ]
    return "\n".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--tune", action="store_true")
    parser.add_argument("--xgrammar", type=Path)
    parser.add_argument("--llguidance", action="store_true")
    arguments = parser.parse_args()
    torch.manual_seed(0)
    check()
    print("right", flush=True)
    if arguments.tune:
        tune()
        return
    bandwidth = copy_bandwidth()
    lines = measure(bandwidth, bitmask_rivals(arguments.xgrammar, llguidance=arguments.llguidance))
    host = host_microseconds()
    about = {
        "device": torch.cuda.get_device_name(), "torch": torch.__version__, "vocabulary": VOCABULARY,
        "copy_bandwidth_tb_s": bandwidth / 1e6, "host_microseconds_of_masked_sample": host,
    }  # fmt: skip
    text = f"{json.dumps(about)}\n\n{as_table(lines)}\n"
    (arguments.out / "kernels.md").write_text(text)
    (arguments.out / "kernels.json").write_text(
        json.dumps(about | {"lines": [asdict(line) for line in lines]}, indent=1)
    )
    print(text)


if __name__ == "__main__":
    main()
