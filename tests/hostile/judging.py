"""How the product judges a hostile contract: read as the gateway reads it, compiled by a real worker of the pool."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, Self

import psutil

from compiler_pool.job import JobCrashed, JobFinished, JobTimedOut, QueueFull
from compiler_pool.order import COMPILATION, CompiledGrammar, CompileOrder
from compiler_pool.process import WorkerPool
from compiler_pool.protocol import CompileCost, PolicyWire
from compiler_pool.tokenizer import load_tokenizer
from policy.enforcement import EnforcementPolicy
from policy.limits import LIMIT_CLASSES, LimitClass
from policy.rejection import Rejection
from registry.contract import CanonicalContract, ContractKind
from registry.errors import ContractRejectedError
from registry.parsing import parse_json
from registry.reading import read_contract
from tests.hostile.contract import OK, Hostile

MAX_BODY_BYTES = 1024 * 1024
MAX_BODY_NESTING = 64
"""The gateway's own defaults: a contract comes inside a body."""
_PATIENT_WALL_SECONDS = 120.0
"""A busy machine must not decide a verdict: CPU seconds do, and memory."""
_SAMPLE_SECONDS = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What became of one contract: `accepted`, a rejection's code, `timed_out` or `crashed`, with what it cost."""

    word: str
    limit_name: str = ""
    message: str = ""
    read_seconds: float
    """CPU, in the gateway."""
    cpu_seconds: float = 0.0
    """Of the worker; unknown where it died."""
    wall_seconds: float = 0.0
    peak_bytes: int = 0
    """Resident, of the worker, as sampled."""
    grammar: str = ""
    cost: CompileCost | None = None

    @property
    def killed_worker(self) -> bool:
        """Whether the worker did not survive it."""
        return self.word in {"timed_out", "crashed"}


def contract_text(hostile: Hostile) -> str:
    """The contract as JSON text."""
    value = hostile.make()
    return value if hostile.is_text else json.dumps(value, ensure_ascii=False)


def read(kind: str, text: str, limits: LimitClass) -> CanonicalContract:
    """As the gateway reads it, under the strict policy. Raises `ContractRejectedError`."""
    value = parse_json(text, max_bytes=MAX_BODY_BYTES, max_nesting=MAX_BODY_NESTING)
    return read_contract(ContractKind(kind), value, limits=limits.contract, policy=EnforcementPolicy())


class Bench:
    """One worker of a real pool, replaced whenever a contract takes it along."""

    def __init__(self, pool: WorkerPool, tokenizer_digest: str) -> None:
        self._pool, self._digest = pool, tokenizer_digest

    @classmethod
    @asynccontextmanager
    async def open(cls, tokenizer: Path, *, limits: LimitClass) -> AsyncIterator[Self]:
        """A pool with one worker that holds one tokenizer."""
        pool = await WorkerPool.start(
            "compiler_pool.compile_job:factory", {"tokenizers": [str(tokenizer)]},
            num_workers=1, max_queued=8, budget=limits.compile,
        )  # fmt: skip
        try:
            yield cls(pool, str(load_tokenizer(tokenizer).digest))
        finally:
            await pool.close()

    @property
    def num_deaths(self) -> int:
        """Workers lost so far."""
        return sum(self._pool.deaths.values())

    async def judge(self, hostile: Hostile, limits: LimitClass) -> Verdict:
        """Read and compile one contract."""
        text = contract_text(hostile)
        began = time.thread_time()
        try:
            contract = read(hostile.kind, text, limits)
        except ContractRejectedError as error:
            return _refused(error.rejections[0], time.thread_time() - began)
        return await self._compiled(contract, limits, time.thread_time() - began)

    async def _compiled(self, contract: CanonicalContract, limits: LimitClass, read_seconds: float) -> Verdict:
        assert limits.name in LIMIT_CLASSES
        name: Literal["tenant", "governed"] = "tenant" if limits.name == "tenant" else "governed"
        order = CompileOrder(
            kind=contract.kind.value,
            canonical_text=contract.text,
            tokenizer_digest=self._digest,
            policy=PolicyWire(),
            limits=name,
        )
        began = time.monotonic()
        running = asyncio.ensure_future(
            self._pool.run(
                order.model_dump_json().encode(),
                budget=replace(limits.compile, wall_seconds=_PATIENT_WALL_SECONDS),
                deadline_seconds=4 * _PATIENT_WALL_SECONDS,
            )
        )
        peak = 0
        while not running.done():
            peak = max(peak, _resident_bytes())
            await asyncio.wait({running}, timeout=_SAMPLE_SECONDS)
        outcome, wall = running.result(), time.monotonic() - began
        verdict = Verdict(word=OK, read_seconds=read_seconds, wall_seconds=wall, peak_bytes=peak)
        match outcome:
            case JobTimedOut():
                return replace(verdict, word="timed_out", limit_name=outcome.limit_name)
            case JobCrashed():
                return replace(verdict, word="crashed", message=outcome.reason)
            case QueueFull():
                raise AssertionError(outcome)
            case JobFinished():
                return replace(_answered(verdict, outcome.payload), cpu_seconds=outcome.cpu_seconds)


def _answered(verdict: Verdict, payload: bytes) -> Verdict:
    answer = COMPILATION.validate_json(payload)
    if isinstance(answer, CompiledGrammar):
        return replace(verdict, grammar=answer.grammar, cost=answer.cost)
    first = answer.rejections[0]
    return replace(verdict, word=first.code, limit_name=first.limit_name or "", message=first.message)


def _refused(rejection: Rejection, read_seconds: float) -> Verdict:
    return Verdict(
        word=rejection.code.value,
        limit_name=rejection.limit_name or "",
        message=rejection.message,
        read_seconds=read_seconds,
    )


def _resident_bytes() -> int:
    """The most that one child of this process holds."""
    held = [0]
    for child in psutil.Process().children():
        try:
            held.append(child.memory_info().rss)
        except psutil.NoSuchProcess:
            continue
    return max(held)
