"""One line of the comparison: rounds of the backend alone, of each server, in turns, and what the rounds amount to."""

import asyncio
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.benchmarks.gateway_overhead.servers import Cores, Server


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A way to ask."""

    callers: int
    stream: bool

    @property
    def name(self) -> str:
        """As the table says it."""
        callers = "1 caller" if self.callers == 1 else f"{self.callers} callers"
        return f"{callers}, {'streamed' if self.stream else 'whole'}"


@dataclass(slots=True, kw_only=True)
class Measured:
    """All rounds of one server on one line."""

    answer_us: list[int] = field(default_factory=list)
    first_byte_us: list[int] = field(default_factory=list)
    num_requests: int = 0
    num_measured: int = 0
    cpu_seconds: float = 0.0
    wall_seconds: float = 0.0
    load_cpu_seconds: float = 0.0

    def p(self, share: float) -> float:
        """Milliseconds that this share of answers took at most."""
        ordered = sorted(self.answer_us)
        return ordered[min(len(ordered) - 1, int(len(ordered) * share))] / 1000

    @property
    def per_second(self) -> float:
        """Answers in a second of the wall clock, the one core being as busy as it was."""
        return self.num_measured / self.wall_seconds

    @property
    def per_core(self) -> float:
        """Answers for each second of CPU time of the server and its children."""
        return self.num_requests / self.cpu_seconds


async def measure(
    line: Line, servers: Sequence[Server], cores: Cores, *, rounds: int, seconds: float
) -> list[Measured]:
    """Rounds in turns, so that whatever else the machine does falls on all of them."""
    results = [Measured() for _ in servers]
    for _ in range(rounds):
        for server, result in zip(servers, results, strict=True):
            await _round(line, server, result, cores, seconds)
    return results


async def _round(line: Line, server: Server, result: Measured, cores: Cores, seconds: float) -> None:
    command = [sys.executable, "-m", "tests.benchmarks.gateway_overhead.load", "--url", server.chat_url]
    command += ["--key", server.key, "--model", server.model, "--callers", str(line.callers), "--seconds", str(seconds)]
    command += ["--stream"] if line.stream else []
    before = server.cpu_seconds()
    process = await asyncio.create_subprocess_exec(
        "taskset", "-c", str(cores.others), *command, stdout=asyncio.subprocess.PIPE
    )
    output, _ = await process.communicate()
    spent = server.cpu_seconds() - before
    if process.returncode:
        raise RuntimeError(f"the load on {server.name} failed")
    tally = json.loads(output)
    if tally["faults"]:
        raise RuntimeError(f"{server.name} answered wrongly {len(tally['faults'])} times: {tally['faults'][0]}")
    result.answer_us += tally["answer_us"]
    result.first_byte_us += tally["first_byte_us"]
    result.num_measured += len(tally["answer_us"])
    result.num_requests += tally["num_sent"]
    result.wall_seconds += tally["wall_seconds"]
    result.load_cpu_seconds += tally["cpu_seconds"]
    result.cpu_seconds += spent
