"""Does one tenant's flood of hostile contracts slow another tenant's compiles? Prints the other's latencies.

    python -m tests.benchmarks.pool_isolation [--tokenizer FILE] [--workers 2] [--rounds 20] [--flood 64]

One pool, a process of its own. The quiet tenant asks for a contract that is there (warm) and for new ones (cold), in
turns alone and beside a flood, so that whatever else the machine does falls on both. The flood is a process of its own
that keeps `--flood` requests open (a gateway lets a tenant have 64), each for a contract that was never sent before:
some stall, some eat memory, some are only large. Prints p50 and p99 in milliseconds, their ratios, and what became of
the flood.
"""

import argparse
import asyncio
import os
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from statistics import quantiles

import httpx
import psutil

from compiler_pool.client import PoolClient
from compiler_pool.errors import PoolUnavailableError
from compiler_pool.protocol import Compiled, CompileRequest, PolicyWire
from registry.contract import ContractKind
from registry.digests import contract_digest
from tests.compiler_pool.running_pool import RunningPool, running_pool

_COLD_IN_ROUND = 10
_WARM_IN_ROUND = 100
_KINDS = ("warm", "cold", "cold: in line", "cold: CPU")
"""Times of the quiet tenant: of answers, and what of a cold one was waiting and what was the compile's own."""
_SETTLE_SECONDS = 1.0
_FLOOD_SECONDS = 5.0
"""For the flood's process to start and fill the line."""


def hostile(number: int) -> str:
    """A contract that nobody has sent before, one of six kinds of trouble."""
    kinds = (
        '{"allOf":[' + ",".join(f'{{"pattern":"[a-f]{{3,60}}.*{at}.*x{number}"}}' for at in range(40)) + "]}",
        f'{{"type":"string","pattern":"^((((a{{1,90}}){{1,90}}){{1,90}}){{1,90}}b){{1,90}}{number}$"}}',
        '{"enum":[' + ",".join(f'{{"k{at}":[{number}]}}' for at in range(2000)) + "]}",
        '{"anyOf":[' * 30 + f'{{"const":{number}}}' + "]}" * 30,
        '{"type":"integer","multipleOf":' + str(2147483647 - number) + "}",
        f'{{"type":"string","pattern":"^(x|{number}){{1,60000}}$"}}',
    )
    return kinds[number % len(kinds)]


def request(text: str, digest: str, partition: str) -> CompileRequest:
    return CompileRequest(
        kind="json_schema",
        canonical_text=text,
        contract_digest=contract_digest(ContractKind.JSON_SCHEMA, text),
        tokenizer_digest=digest,
        policy=PolicyWire(),
        limits="tenant",
        tenant_partition=partition,
        deadline_seconds=10,
    )


async def flood(url: str, digest: str, num_open: int) -> None:
    """Until SIGTERM, or two minutes; then print what became of it."""
    ends: Counter[str] = Counter()
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    numbers = iter(range(os.getpid() * 1_000, os.getpid() * 1_000 + 1_000_000))

    async def send() -> None:
        while not stop.is_set():
            try:
                outcome = await client.compile(request(hostile(next(numbers)), digest, "hostile"))
                ends[outcome.outcome] += 1
            except PoolUnavailableError:
                ends["unavailable"] += 1

    async with httpx.AsyncClient(limits=httpx.Limits(max_connections=num_open), timeout=60) as http:
        client = PoolClient(url, http)
        senders = [asyncio.ensure_future(send()) for _ in range(num_open)]
        await asyncio.wait({asyncio.ensure_future(stop.wait())}, timeout=120)
        stop.set()
        for sender in senders:
            sender.cancel()
        await asyncio.gather(*senders, return_exceptions=True)
    print(" ".join(f"{end}={number}" for end, number in sorted(ends.items())), flush=True)


async def measure(pool: RunningPool, digest: str, numbers: Iterator[int]) -> dict[str, list[float]]:
    """One round of the quiet tenant, milliseconds."""
    taken: dict[str, list[float]] = {kind: [] for kind in _KINDS}
    warm = request('{"const":"warm"}', digest, "quiet")
    await pool.client.compile(warm)
    for _ in range(_WARM_IN_ROUND):
        started = time.perf_counter()
        await pool.client.compile(warm)
        taken["warm"].append((time.perf_counter() - started) * 1e3)
    for _ in range(_COLD_IN_ROUND):
        number = next(numbers)
        text = f'{{"type":"object","properties":{{"a":{{"const":{number}}},"b":{{"type":"string"}}}},"required":["a"]}}'
        started = time.perf_counter()
        outcome = await pool.client.compile(request(text, digest, "quiet"))
        taken["cold"].append((time.perf_counter() - started) * 1e3)
        assert isinstance(outcome, Compiled), outcome
        taken["cold: in line"].append(outcome.cost.queue_ms)
        taken["cold: CPU"].append(outcome.cost.cpu_ms)
    return taken


async def compare(arguments: argparse.Namespace) -> None:
    """Rounds in turns."""
    settings = {"SCHEMAGATE_POOL_TOKENIZERS": arguments.tokenizer} if arguments.tokenizer else {}
    results: dict[str, dict[str, list[float]]] = {
        name: {kind: [] for kind in _KINDS} for name in ("alone", "beside a flood")
    }
    numbers = iter(range(1_000_000))
    with tempfile.TemporaryDirectory() as directory:
        async with running_pool(Path(directory), num_workers=arguments.workers, **settings) as pool:
            most_bytes = 0
            ends: Counter[str] = Counter()
            for _ in range(arguments.rounds):
                await _add(results["alone"], pool, numbers)
                command = [sys.executable, "-m", "tests.benchmarks.pool_isolation", "--flood-at", pool.url]
                command += ["--digest", pool.digest, "--flood", str(arguments.flood)]
                flooding = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
                await asyncio.sleep(_FLOOD_SECONDS)
                await _add(results["beside a flood"], pool, numbers)
                most_bytes = max([most_bytes, *(_resident(worker) for worker in pool.workers())])
                flooding.send_signal(signal.SIGTERM)
                output, _ = await flooding.communicate()
                for part in output.decode().split():
                    name, _, number = part.partition("=")
                    ends[name] += int(number)
                await asyncio.sleep(_SETTLE_SECONDS)
            print(f"flood: {dict(ends)}; largest worker seen {most_bytes / 2**20:.0f} MiB")
    for kind in _KINDS:
        rows = [[quantiles(each[kind], n=100)[at] for at in (49, 98)] for each in results.values()]
        for name, row in zip(results, rows, strict=True):
            print(f"{kind:13} {name:14} p50 {row[0]:8.2f}  p99 {row[1]:8.2f}  ({len(results[name][kind])} requests)")
        print(f"{kind:13} ratio          p50 {rows[1][0] / rows[0][0]:8.2f}  p99 {rows[1][1] / rows[0][1]:8.2f}")


async def _add(into: dict[str, list[float]], pool: RunningPool, numbers: Iterator[int]) -> None:
    for kind, values in (await measure(pool, pool.digest, numbers)).items():
        into[kind] += values


def _resident(process: psutil.Process) -> int:
    try:
        return int(process.memory_info().rss)
    except psutil.NoSuchProcess:
        return 0


def main() -> None:
    """Measure, or be the flood."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tokenizer", default="")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--flood", type=int, default=64)
    parser.add_argument("--flood-at", default="")
    parser.add_argument("--digest", default="")
    arguments = parser.parse_args()
    if arguments.flood_at:
        asyncio.run(flood(arguments.flood_at, arguments.digest, arguments.flood))
    else:
        asyncio.run(compare(arguments))


if __name__ == "__main__":
    main()
