"""Every hostile contract through the gateway's reading and a real worker: verdict, limit, times and memory in a table.

    python -m tests.hostile.run [--limits tenant|governed] [--tokenizer FILE] [--jobs 2] [--only WORDS]

CPU seconds and memory decide, as in the product; wall seconds do not, so that a busy machine gives the same verdicts.
Status 1 if a verdict is not among the right ones.
"""

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from policy.limits import LIMIT_CLASSES, LimitClass
from tests.compiler_pool.tiny_tokenizer import write_tokenizer
from tests.hostile.contract import Hostile
from tests.hostile.contracts import hostile_contracts
from tests.hostile.judging import Bench, Verdict

_MIB = 1024 * 1024


def line(hostile: Hostile, verdict: Verdict) -> str:
    """One row of the table."""
    mark = " " if verdict.word in hostile.verdicts else "!"
    detail = verdict.limit_name or (verdict.message if verdict.word != "accepted" else "")
    return (
        f"{mark} {hostile.name[:52]:52} {verdict.word:22} {detail[:34]:34} {verdict.read_seconds * 1e3:8.1f}"
        f" {verdict.cpu_seconds * 1e3:8.1f} {verdict.wall_seconds * 1e3:8.0f} {verdict.peak_bytes / _MIB:6.0f}"
    )


async def lane(
    waiting: Iterator[Hostile], tokenizer: Path, limits: LimitClass, done: list[tuple[Hostile, Verdict]]
) -> int:
    """Contract after contract on one worker; answers how many workers died."""
    async with Bench.open(tokenizer, limits=limits) as bench:
        for hostile in waiting:
            verdict = await bench.judge(hostile, limits)
            done.append((hostile, verdict))
            print(line(hostile, verdict), flush=True)
        return bench.num_deaths


async def run(contracts: Iterable[Hostile], tokenizer: Path, limits: LimitClass, num_jobs: int) -> int:
    """All of them; the number of wrong verdicts."""
    done: list[tuple[Hostile, Verdict]] = []
    waiting = iter(list(contracts))
    figures = f"{'read ms':>8} {'CPU ms':>8} {'wall ms':>8} {'MiB':>6}"
    print(f"  {'contract':52} {'verdict':22} {'limit or reason':34} {figures}")
    deaths = await asyncio.gather(*(lane(waiting, tokenizer, limits, done) for _ in range(num_jobs)))
    wrong = sum(verdict.word not in hostile.verdicts for hostile, verdict in done)
    words = sorted({verdict.word for _, verdict in done})
    counts = ", ".join(f"{word} {sum(verdict.word == word for _, verdict in done)}" for word in words)
    verdicts = [verdict for _, verdict in done]
    print(f"{limits.name}: {len(done)} contracts; {counts}; not expected {wrong}; workers lost {sum(deaths)}")
    print(
        f"most CPU in the gateway {max(each.read_seconds for each in verdicts) * 1e3:.0f} ms, in a worker"
        f" {max(each.cpu_seconds for each in verdicts) * 1e3:.0f} ms; largest worker"
        f" {max(each.peak_bytes for each in verdicts) / _MIB:.0f} MiB"
    )
    return wrong


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limits", choices=("tenant", "governed"), default="tenant")
    parser.add_argument("--tokenizer", type=Path, default=None, help="a tokenizer; by default a tiny one")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", default="", help="contracts whose name contains this")
    arguments = parser.parse_args()
    contracts = [each for each in hostile_contracts() if arguments.only in each.name]
    with tempfile.TemporaryDirectory() as directory:
        tokenizer = arguments.tokenizer or write_tokenizer(Path(directory) / "tiny.json")
        limits = LIMIT_CLASSES[arguments.limits]
        return 1 if asyncio.run(run(contracts, tokenizer, limits, arguments.jobs)) else 0


if __name__ == "__main__":
    sys.exit(main())
