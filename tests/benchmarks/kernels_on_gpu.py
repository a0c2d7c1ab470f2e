"""The kernels of masked decoding on a GPU: first that they are right, then how long they take beside others.

    PYTHONPATH=. python tests/benchmarks/kernels_on_gpu.py --out DIR [--tune] [--xgrammar FILE] [--llguidance]

`--xgrammar` is `xgrammar/kernels/apply_token_bitmask_inplace_triton.py` of its wheel; `--llguidance` needs that package.
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
Case = Callable[[int], object]
"""A call on the buffer of that index."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One line of the table. Microseconds."""

    what: str
    batch: int
    dtype: str
    mask: str
    microseconds: float
    floor: float


def measured_microseconds(case: Case, num_buffers: int) -> float:
    """The median time of a call on the device."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for index in range(3):
            case(index % num_buffers)
    stream.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for index in range(num_buffers):
            case(index)
    times = []
    for _ in range(9):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(1000 * start.elapsed_time(end) / num_buffers)
    return statistics.median(times[1:])


def copy_bandwidth() -> float:
    """Bytes a microsecond, read and written."""
    source = torch.randn(500_000_000, device=DEVICE)
    target = torch.empty_like(source)
    return 8 * source.numel() / measured_microseconds(lambda _: torch.neg(source, out=target), 4)


def random_masks(num_masks: int, kind: str) -> torch.Tensor:
    """By the share that is allowed, in percent; "runs" allows or forbids whole words, half of them."""
    shape = (num_masks, bitmask_words(VOCABULARY), 32)
    share = 0.5 if kind == "50 % in runs" else float(kind.removesuffix(" %")) / 100
    drawn = torch.rand(shape[:2] + (1,) if kind == "50 % in runs" else shape, device=DEVICE) < share
    bits = drawn.expand(shape).long() << torch.arange(32, device=DEVICE)
    return bits.sum(2).to(torch.int32)  # the low 32 bits


def buffers(batch: int, dtype: torch.dtype) -> list[torch.Tensor]:
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
    # Noise that differs in its last digit decides a draw once in some ten thousand.
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


def tune() -> None:
    """Block sizes and warps, and what each kernel of sampling takes, printed."""
    for batch in (1, 32, 256):
        logits = buffers(batch, torch.bfloat16)
        for kind in ("0.1 %", "50 %", "99.9 %"):
            masks = random_masks(batch, kind)
            cells = []
            for words, warps, most in (
                (32, 1, 1),
                (32, 1, 2),
                (32, 1, 4),
                (32, 1, 8),
                (64, 1, 4),
                (64, 2, 1),
                (64, 2, 4),
            ):
                taken = measured_microseconds(
                    lambda i, w=words, n=warps, b=most: apply_bitmask_by_kernel(logits[i], masks, None, w, n, b),
                    len(logits),
                )
                cells.append(f"{words}/{warps}/{most} {taken:.1f}")
            print(f"bitmask bf16 {batch} {kind}: " + "  ".join(cells), flush=True)
        masks, mask_rows = random_masks(batch, "50 %"), torch.arange(batch, dtype=torch.int32, device=DEVICE)
        for name in ("greedy", "T 1", "T 0.7"):
            draws = some_draws(batch, *WAYS[name])
            cells = []
            for tile, warps in ((512, 1), (1024, 1), (1024, 2), (2048, 1), (2048, 2), (2048, 4), (4096, 2), (4096, 4)):
                taken = measured_microseconds(
                    lambda i, t=tile, n=warps: masked_sample_by_kernels(logits[i], draws, None, masks, mask_rows, t, n),
                    len(logits),
                )
                cells.append(f"{tile}/{warps} {taken:.1f}")
            print(f"sampling bf16 {batch} {name}: " + "  ".join(cells), flush=True)
    for way in WAYS.values():
        _print_kernels(logits, some_draws(256, *way), masks, mask_rows)


def _print_kernels(logits: list[torch.Tensor], draws: Draws, masks: torch.Tensor, mask_rows: torch.Tensor) -> None:
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        for one in logits:
            masked_sample(one, draws, bitmask=masks, mask_rows=mask_rows)
        torch.cuda.synchronize()
    print({event.key: round(event.device_time, 1) for event in profile.key_averages() if event.key.startswith("_")})


def bitmask_rivals(
    xgrammar: Path | None, *, llguidance: bool
) -> dict[str, Callable[[torch.Tensor, torch.Tensor], object]]:
    ways: dict[str, Callable[[torch.Tensor, torch.Tensor], object]] = {"ours": lambda x, m: apply_bitmask_(x, m)}
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


def measure(bandwidth: float, rivals: dict[str, Callable[[torch.Tensor, torch.Tensor], object]]) -> list[Measured]:
    lines: list[Measured] = []
    for batch in (1, 32, 256):
        for name, dtype in DTYPES.items():
            logits = buffers(batch, dtype)
            one_read = batch * VOCABULARY * dtype.itemsize / bandwidth
            mask_read = batch * bitmask_words(VOCABULARY) * 4 / bandwidth
            for kind in ("0.1 %", "50 %", "50 % in runs", "99.9 %"):
                masks = random_masks(batch, kind)
                share = 0.5 if "50" in kind else float(kind.removesuffix(" %")) / 100
                for what, apply in rivals.items():
                    taken = measured_microseconds(lambda i, a=apply, m=masks: a(logits[i], m), len(logits))
                    floor = mask_read + (1 - share) * one_read
                    lines.append(Measured(what=f"bitmask, {what}", batch=batch, dtype=name, mask=kind,
                                          microseconds=taken, floor=floor))  # fmt: skip
            masks, mask_rows = random_masks(batch, "50 %"), torch.arange(batch, dtype=torch.int32, device=DEVICE)
            logits = buffers(batch, dtype)
            for kind, constraint in (("none", (None, None)), ("50 %", (masks, mask_rows))):
                for way, numbers in WAYS.items():
                    draws = some_draws(batch, *numbers)
                    taken = measured_microseconds(
                        lambda i, d=draws, c=constraint: masked_sample(logits[i], d, bitmask=c[0], mask_rows=c[1]),
                        len(logits),
                    )
                    lines.append(Measured(what=f"sampling, {way}", batch=batch, dtype=name, mask=kind,
                                          microseconds=taken, floor=one_read))  # fmt: skip
            taken = measured_microseconds(lambda i: torch.multinomial(logits[i].float().softmax(1), 1), len(logits))
            lines.append(Measured(what="softmax + multinomial", batch=batch, dtype=name, mask="none",
                                  microseconds=taken, floor=one_read))  # fmt: skip
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
