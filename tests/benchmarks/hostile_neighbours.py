"""Does the hostile corpus, sent at full rate by one tenant, slow another tenant's compiles? Prints ratios with bounds.

    python -m tests.benchmarks.hostile_neighbours [--tokenizer FILE] [--workers 2] [--rounds 10] [--flood 64]

One pool, a process of its own, asked over HTTP as gateways ask it. The quiet tenant asks for a contract that is there
(warm) and for new ones (cold), in turns alone and beside the flood, so that whatever else the machine does falls on
both. The flood is a process of its own with `--flood` requests open (a gateway lets a tenant have 64): all contracts of
`tests.hostile` that reading lets through, each time made another one, so that no answer is one that was kept.

Status 1 if a ratio is above its bound, a process outgrew its cap, or the quiet tenant saw an error. Workers that are
lost as `cancelled` had a job when the flood was ended: its sender hung up.
"""

import argparse
import asyncio
import re
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from itertools import count, cycle
from pathlib import Path
from statistics import quantiles
from typing import Any

import httpx
import psutil

from compiler_pool.protocol import Compiled, CompileRequest, PolicyWire
from policy.enforcement import EnforcementPolicy
from policy.limits import TENANT
from registry.contract import ContractKind, JsonValue
from registry.errors import ContractRejectedError
from registry.parsing import parse_json
from registry.reading import read_contract
from tests.benchmarks.pool_isolation import request
from tests.compiler_pool.running_pool import RunningPool, running_pool
from tests.hostile.contracts import hostile_contracts
from tests.hostile.judging import MAX_BODY_BYTES, MAX_BODY_NESTING, contract_text

_COLD_IN_ROUND = 20
_WARM_IN_ROUND = 200
_SETTLE_SECONDS = 1.0
_FLOOD_SECONDS = 1.0
"""For the flood to fill the line."""
_SENT_IN_ROUND = 400
"""More than a worker does in a round; then they come again, and are answered from what was kept."""
_BOUNDS = {"warm": 1.3, "cold": 2.0}
"""Of the p99 beside the flood to the p99 alone."""
_SERVICE_BYTES = 512 * 1024 * 1024
"""What the service itself may hold: its cache is bounded, and so is its line."""


def varied(kind: ContractKind, value: Any, number: int) -> JsonValue:
    """As hostile as the contract, and not the same one."""
    match kind, value:
        case ContractKind.JSON_SCHEMA, dict():
            return {"maxLength": 9_999 - number % 9_000, **value}
        case ContractKind.REGEX, str():
            return f"(?:{value})(?:{number})?"
        case ContractKind.CHOICE, list():
            return [*value, f"another {number}"]
        case ContractKind.TOOL_SET, list():
            return [*value, {"type": "function", "function": {"name": f"another{number}"}}]
        case _:
            return value  # type: ignore[no-any-return]


def hostile_requests(digest: str) -> Iterator[CompileRequest]:
    """Without end; no two ask for the same contract, but for grammars and tags, of which there is one each."""
    values: list[tuple[ContractKind, JsonValue]] = []
    for hostile in hostile_contracts():
        with suppress(ContractRejectedError):
            value = parse_json(contract_text(hostile), max_bytes=MAX_BODY_BYTES, max_nesting=MAX_BODY_NESTING)
            read_contract(ContractKind(hostile.kind), value, limits=TENANT.contract, policy=EnforcementPolicy())
            values.append((ContractKind(hostile.kind), value))
    numbers = count()
    for kind, value in cycle(values):
        another = varied(kind, value, next(numbers))
        with suppress(ContractRejectedError):
            contract = read_contract(kind, another, limits=TENANT.contract, policy=EnforcementPolicy())
            yield CompileRequest(
                kind=kind.value,
                canonical_text=contract.text,
                contract_digest=contract.digest,
                tokenizer_digest=digest,
                policy=PolicyWire(),
                limits="tenant",
                tenant_partition="hostile",
                deadline_seconds=10,
            )


async def flood(url: str, lines: list[str], num_open: int) -> None:
    """Until SIGTERM, or five minutes; then print what became of it."""
    ends: Counter[str] = Counter()
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    # Ready bodies, and answers looked at no further than it takes: the sender's own work is not what is measured.
    bodies = cycle([line.encode() for line in lines])
    headers = {"content-type": "application/json"}

    async def send() -> None:
        while not stop.is_set():
            response = await http.post(f"{url}/v1/compile", content=next(bodies), headers=headers)
            found = re.search(rb'"outcome": ?"(\w+)"', response.content)
            ends[found[1].decode() if found else str(response.status_code)] += 1

    async with httpx.AsyncClient(limits=httpx.Limits(max_connections=num_open), timeout=60) as http:
        senders = [asyncio.ensure_future(send()) for _ in range(num_open)]
        print("flooding", flush=True)
        await asyncio.wait({asyncio.ensure_future(stop.wait())}, timeout=300)
        stop.set()
        for sender in senders:
            sender.cancel()
        await asyncio.gather(*senders, return_exceptions=True)
    print(" ".join(f"{end}={number}" for end, number in sorted(ends.items())), flush=True)


class Watched:
    """The most that each process of the pool was seen to hold."""

    def __init__(self, pool: RunningPool) -> None:
        self._pool = pool
        self.service_bytes = self.worker_bytes = 0

    async def watch(self) -> None:
        """Until it is cancelled."""
        while True:
            self.service_bytes = max(self.service_bytes, _resident(psutil.Process(self._pool.process.pid)))
            self.worker_bytes = max([self.worker_bytes, *map(_resident, self._pool.workers())])
            await asyncio.sleep(0.05)


async def measure(pool: RunningPool, numbers: Iterator[int], errors: Counter[str]) -> dict[str, list[float]]:
    """One round of the quiet tenant, milliseconds."""
    taken: dict[str, list[float]] = {"warm": [], "cold": []}

    async def ask(kind: str, text: str) -> None:
        started = time.perf_counter()
        outcome = await pool.client.compile(request(text, pool.digest, "quiet"))
        taken[kind].append((time.perf_counter() - started) * 1e3)
        if not isinstance(outcome, Compiled):
            errors[outcome.outcome] += 1

    await pool.client.compile(request('{"const":"warm"}', pool.digest, "quiet"))
    for _ in range(_WARM_IN_ROUND):
        await ask("warm", '{"const":"warm"}')
    for _ in range(_COLD_IN_ROUND):
        number = next(numbers)
        await ask(
            "cold",
            f'{{"properties":{{"a":{{"const":{number}}},"b":{{"type":"string"}}}},"required":["a"],"type":"object"}}',
        )
    return taken


async def compare(arguments: argparse.Namespace) -> int:
    """Rounds in turns."""
    settings = {"SCHEMAGATE_POOL_TOKENIZERS": arguments.tokenizer} if arguments.tokenizer else {}
    results: dict[str, dict[str, list[float]]] = {
        name: {kind: [] for kind in _BOUNDS} for name in ("alone", "beside the corpus")
    }
    numbers, errors, ends = iter(range(1_000_000)), Counter[str](), Counter[str]()
    with tempfile.TemporaryDirectory() as directory:
        async with running_pool(Path(directory), num_workers=arguments.workers, **settings) as pool:
            idle_bytes = max(map(_resident, pool.workers()))
            requests = hostile_requests(pool.digest)
            watched = Watched(pool)
            watching = asyncio.ensure_future(watched.watch())
            for at in range(arguments.rounds):
                lines = Path(directory) / f"{at}.jsonl"
                lines.write_text("".join(f"{next(requests).model_dump_json()}\n" for _ in range(_SENT_IN_ROUND)))
                _add(results["alone"], await measure(pool, numbers, errors))
                flooding = await asyncio.create_subprocess_exec(
                    sys.executable, "-m", "tests.benchmarks.hostile_neighbours", "--flood-at", pool.url,
                    "--requests", str(lines), "--flood", str(arguments.flood), stdout=asyncio.subprocess.PIPE,
                )  # fmt: skip
                assert flooding.stdout is not None
                await flooding.stdout.readline()
                await asyncio.sleep(_FLOOD_SECONDS)
                _add(results["beside the corpus"], await measure(pool, numbers, errors))
                flooding.send_signal(signal.SIGTERM)
                output, _ = await flooding.communicate()
                for part in output.decode().split():
                    name, _, number = part.partition("=")
                    ends[name] += int(number)
                await asyncio.sleep(_SETTLE_SECONDS)
            watching.cancel()
            deaths = await _deaths(pool)
    cap = idle_bytes + TENANT.compile.address_space_bytes
    print(f"the corpus: {dict(ends)}; workers lost: {deaths or 0}")
    print(f"largest worker {_mib(watched.worker_bytes)} (cap {_mib(cap)}), service {_mib(watched.service_bytes)}"
          f" (cap {_mib(_SERVICE_BYTES)})")  # fmt: skip
    print(f"errors that the quiet tenant saw: {dict(errors) or 0}")
    is_well = not errors and watched.worker_bytes <= cap and watched.service_bytes <= _SERVICE_BYTES
    for kind, bound in _BOUNDS.items():
        rows = [[quantiles(each[kind], n=100)[at] for at in (49, 98)] for each in results.values()]
        for name, row in zip(results, rows, strict=True):
            print(f"{kind:5} {name:18} p50 {row[0]:8.2f} ms  p99 {row[1]:8.2f} ms  ({len(results[name][kind])})")
        ratio = rows[1][1] / rows[0][1]
        is_well = is_well and ratio <= bound
        print(
            f"{kind:5} ratio              p50 {rows[1][0] / rows[0][0]:8.2f}     p99 {ratio:8.2f}     (bound {bound})"
        )
    return 0 if is_well else 1


async def _deaths(pool: RunningPool) -> dict[str, float]:
    """Workers lost, by reason."""
    text = (await pool.http.get(f"{pool.url}/metrics")).text
    found = re.findall(r'^schemagate_compile_worker_deaths_total\{reason="(\w+)"\} (\S+)$', text, re.MULTILINE)
    return {reason: float(number) for reason, number in found if float(number)}


def _add(into: dict[str, list[float]], taken: dict[str, list[float]]) -> None:
    for kind, values in taken.items():
        into[kind] += values


def _resident(process: psutil.Process) -> int:
    try:
        return int(process.memory_info().rss)
    except psutil.NoSuchProcess:
        return 0


def _mib(num_bytes: int) -> str:
    return f"{num_bytes / 2**20:.0f} MiB"


def main() -> int:
    """Measure, or be the flood."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokenizer", default="")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--flood", type=int, default=64)
    parser.add_argument("--flood-at", default="")
    parser.add_argument("--requests", type=Path, default=None)
    arguments = parser.parse_args()
    if arguments.flood_at:
        lines = arguments.requests.read_text(encoding="utf-8").splitlines()
        asyncio.run(flood(arguments.flood_at, lines, arguments.flood))
        return 0
    return asyncio.run(compare(arguments))


if __name__ == "__main__":
    sys.exit(main())
