"""Do equal requests give equal tokens, whatever happens around them? Prints a table; exits 1 at the first "no".

    python -m tests.benchmarks.determinism [--dtype bfloat16 --dtype float32] [--requests 50] [--max-tokens 32]
    python -m tests.benchmarks.determinism --device cuda --deterministic

Fifty requests (prompts of 40 to 200 tokens, most under a contract, greedy and by chance) are decoded one by one, each
with all of its prompt computed; then together, sharing what their prompts have in common: in other company, with
prompts cut at other places, with so few blocks that sequences lose theirs and are computed again, saved and restored in
a process of its own with their keys and values and without, with other numbers of threads, and with drafts. Token ids,
texts, ends and counts have to be the same. A row that did not do what it says (nobody preempted, nothing saved, no
draft taken) fails as well.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from inference_node.process_settings import OPENMP_WAITING

# Before torch is loaded, as the node's own process does.
os.environ.update(OPENMP_WAITING | os.environ)

import structlog

from inference_node.model_config import read_model_config
from inference_node.prepare import prepare_default_model
from inference_node.slices import BLOCK_TOKENS
from inference_node.snapshots.protocol import KeysValuesChoice
from tests.benchmarks.determinism_runs import CONTEXT_TOKENS, Said, Variation, Workload, resume, run, save

_CHOICES: tuple[KeysValuesChoice, ...] = ("include", "recompute")
_ITEM_BYTES = {"bfloat16": 2, "float32": 4}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of the table."""

    name: str
    num_equal: int
    num_requests: int
    seconds: float
    note: str
    is_meant: bool
    """Whether the run did what its name says."""

    @property
    def is_good(self) -> bool:
        return self.num_equal == self.num_requests and self.is_meant

    def line(self) -> str:
        verdict = "equal" if self.is_good else "NOT EQUAL" if self.num_equal < self.num_requests else "NOT DONE"
        counts = f"{self.num_equal:>5} of {self.num_requests:<5}"
        return f"{self.name:<44}{counts}{verdict:<10}{self.seconds:>6.0f} s  {self.note}"


def main() -> int:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dtype", action="append", choices=["bfloat16", "float32"], help="default: both")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--deterministic", action="store_true", help="the node's setting of that name")
    parser.add_argument("--requests", type=int, default=50)
    parser.add_argument("--max-tokens", type=int, default=32)
    parser.add_argument("--threads", type=int, default=0, help="of products, where no row says otherwise; 0: all")
    parser.add_argument("--model-dir", type=Path, help="default: the default model")
    parser.add_argument("--cache-dir", type=Path, default=Path(os.environ.get("SCHEMAGATE_CACHE_DIR", ".cache")))
    parser.add_argument("--only", help="variations whose name contains this")
    parser.add_argument("--resume", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    directory = arguments.model_dir or prepare_default_model(arguments.cache_dir, lambda line: None)
    workload = Workload(directory, num_requests=arguments.requests, max_tokens=arguments.max_tokens)
    is_good = True
    for dtype in arguments.dtype or ["bfloat16", "float32"]:
        settings = {
            "dtype": dtype,
            "device": arguments.device,
            "deterministic": arguments.deterministic,
            "num_threads": arguments.threads,
        }
        comparison = Comparison(directory=directory, workload=workload, settings=settings, arguments=arguments)
        if arguments.resume is not None:
            comparison.resume(arguments.resume)
        else:
            print(f"\n{directory.name}, {dtype}, {arguments.device}: {arguments.requests} requests", flush=True)
            is_good &= comparison.is_good()
    return 0 if is_good else 1


@dataclass(slots=True, kw_only=True)
class Comparison:
    """Every variation against the requests one by one, for one dtype on one device."""

    directory: Path
    workload: Workload
    settings: Mapping[str, Any]
    arguments: argparse.Namespace
    reference: list[Said] = field(default_factory=list)

    def is_good(self) -> bool:
        """Run and print all rows. Whether all are as they have to be."""
        started = time.perf_counter()
        alone = Variation(name="one by one", settings={**self.settings, "max_sequences": 1}, is_apart=True)
        self.reference = asyncio.run(run(self.directory, self.workload, alone))
        num_tokens = sum(len(said.token_ids) for said in self.reference)
        print(f"{'one by one: ' + str(num_tokens) + ' tokens':<67}{time.perf_counter() - started:>6.0f} s", flush=True)
        rows: list[Row] = []
        for variation in variations(self.directory, self.settings):
            if self._is_wanted(variation.name):
                rows.append(self._varied(variation))
                print(rows[-1].line(), flush=True)
        for choice in _CHOICES:
            name = f"saved, restored in a new process: {choice}"
            if self._is_wanted(name):
                rows.append(self._saved(choice, name))
                print(rows[-1].line(), flush=True)
        return all(row.is_good for row in rows)

    def resume(self, kept: Path) -> None:
        """In the new process: go on with what was saved, and write what was said."""
        snapshots = {int(path.stem): path.read_bytes() for path in kept.glob("*.snapshot")}
        said = asyncio.run(resume(self.directory, self.workload, self.settings, snapshots))
        (kept / "said.json").write_text(json.dumps({number: one.outcome() for number, one in said.items()}))

    def _is_wanted(self, name: str) -> bool:
        return self.arguments.only is None or self.arguments.only in name

    def _varied(self, variation: Variation) -> Row:
        started = time.perf_counter()
        said = asyncio.run(run(self.directory, self.workload, variation))
        reports = [one.finish.decoding for one in said if one.finish is not None]
        num_preempted = sum(report.num_preemptions for report in reports)
        num_drafted = sum(report.drafted_tokens for report in reports)
        num_taken = sum(report.accepted_draft_tokens for report in reports)
        num_cached = sum(report.cached_prompt_tokens for report in reports)
        notes = [f"{num_cached} prompt tokens from the cache"] if num_cached else []
        notes += [f"{num_preempted} preemptions"] if num_preempted else []
        notes += [f"{num_taken} of {num_drafted} drafts taken"] if num_drafted else []
        is_meant = num_preempted > 0 or "preempted" not in variation.name
        is_meant &= num_taken > 0 or not variation.has_drafts
        outcomes = [one.outcome() for one in said]
        return self._row(variation.name, outcomes, started, ", ".join(notes), is_meant=is_meant)

    def _saved(self, choice: KeysValuesChoice, name: str) -> Row:
        started = time.perf_counter()
        said, snapshots = asyncio.run(save(self.directory, self.workload, self.settings, choice))
        with tempfile.TemporaryDirectory() as kept:
            for number, data in snapshots.items():
                (Path(kept) / f"{number}.snapshot").write_bytes(data)
            command = [
                sys.executable, "-m", "tests.benchmarks.determinism", "--resume", kept,
                "--dtype", self.settings["dtype"], "--device", self.settings["device"],
                "--requests", str(self.arguments.requests), "--max-tokens", str(self.arguments.max_tokens),
                "--model-dir", str(self.directory), "--threads", str(self.arguments.threads),
                *(["--deterministic"] if self.settings["deterministic"] else []),
            ]  # fmt: skip
            subprocess.run(command, check=True)
            resumed: dict[str, dict[str, Any]] = json.loads((Path(kept) / "said.json").read_text())
        outcomes = []
        for number, one in enumerate(said):
            outcome = one.outcome()
            if str(number) in resumed:
                after = resumed[str(number)]
                before = {"token_ids": one.token_ids + after["token_ids"], "text": one.text + after["text"]}
                outcome = {**after, **before}
            outcomes.append(outcome)
        num_bytes = sum(map(len, snapshots.values())) / max(1, len(snapshots))
        note = f"{len(snapshots)} saved, {num_bytes / 1e6:.2f} MB each"
        return self._row(name, outcomes, started, note, is_meant=len(snapshots) > len(said) // 2)

    def _row(self, name: str, outcomes: list[dict[str, Any]], started: float, note: str, *, is_meant: bool) -> Row:
        pairs = zip(self.reference, outcomes, strict=True)
        different = [number for number, (one, outcome) in enumerate(pairs) if one.outcome() != outcome]
        if different:
            note = f"requests {', '.join(map(str, different[:8]))} differ; {note}"
        return Row(
            name=name,
            num_equal=len(outcomes) - len(different),
            num_requests=len(outcomes),
            seconds=time.perf_counter() - started,
            note=note,
            is_meant=is_meant,
        )


def variations(directory: Path, settings: Mapping[str, Any]) -> list[Variation]:
    """Ways of running that must change nothing."""
    config = read_model_config(directory)
    token_bytes = config.num_layers * 2 * config.kv_size * _ITEM_BYTES[settings["dtype"]]
    # A context and a quarter: eight sequences cannot all stay.
    few = max(1 << 20, CONTEXT_TOKENS // BLOCK_TOKENS * 5 // 4 * BLOCK_TOKENS * token_bytes)
    most = os.cpu_count() or 1
    made: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
        ("two at a time", {"max_sequences": 2}, {}),
        ("eight at a time", {"max_sequences": 8}, {}),
        ("eight at a time, another order, staggered", {"max_sequences": 8}, {"order": 1, "pause_seconds": 0.02}),
        ("sixteen at a time, a third order", {"max_sequences": 16}, {"order": 2}),
        *((f"prompts in chunks of {size}", {"chunk_tokens": size}, {"order": 3}) for size in (16, 32, 64, 128)),
        ("few blocks: preempted, computed again", {"max_sequences": 8, "kv_budget_bytes": few}, {"order": 4}),
        ("one thread for products, one for masks", {"num_threads": 1, "num_mask_threads": 1}, {}),
        (f"{most} threads for products, four for masks", {"num_threads": most, "num_mask_threads": 4}, {}),
        ("drafts by prompt lookup", {"draft": "prompt_lookup"}, {"has_drafts": True}),
    ]
    return [Variation(name=name, settings={**settings, **own}, **options) for name, own, options in made]


if __name__ == "__main__":
    sys.exit(main())
