"""Rules evaluated as the gateway asks for it: killable, bounded, and never in the gateway's own process."""

import asyncio
from collections.abc import Sequence

import structlog

from compiler_pool.errors import WorkerStartError
from compiler_pool.job import MAX_MESSAGE_BYTES
from compiler_pool.process import JobCrashed, JobFinished, JobOutcome, JobTimedOut, QueueFull, WorkerPool
from gateway.rules.finished import Finished, RuleContext
from gateway.rules.job import (
    CelVerdict,
    CheckJob,
    EvaluationJob,
    Refusal,
    pack_job,
    unpack_refusals,
    unpack_verdicts,
)
from gateway.rules.rule_set import Rule, Target
from gateway.rules.verdict import RuleFault, Undecided
from policy.limits import ProcessBudget

_log = structlog.get_logger(__name__)

_MIB = 1024 * 1024

ADDRESS_SPACE_BYTES = 512 * _MIB
"""For one answer, above the idle process: the parsed answer, and what its rules make of it."""

STACK_BYTES = 64 * _MIB
"""Nesting of an answer is at most 512."""

WALL_PER_CPU_SECOND = 4.0
"""The limit is on CPU time, so that a busy machine fails no answer; the wall clock stands behind it."""

QUEUE_SECONDS = 5.0
"""Patience for a free process, before the rules' own time begins."""

CHECK_SECONDS = 2.0
"""CPU time for compiling a document of rules."""


class RuleProcesses:
    """Processes that are started when the first rule is set or asked: who has no rules pays for none."""

    def __init__(self, *, num_workers: int, seconds: float, max_queued: int = 256) -> None:
        self._num_workers = num_workers
        self._seconds = seconds
        self._max_queued = max_queued
        self._starting = asyncio.Lock()
        self._pool: WorkerPool | None = None

    async def check(self, expressions: Sequence[tuple[Target, str]]) -> tuple[Refusal | None, ...] | RuleFault:
        """What is wrong with each expression, or why that could not be found out."""
        outcome = await self._run(pack_job(CheckJob(expressions=tuple(expressions))), seconds=CHECK_SECONDS)
        return unpack_refusals(outcome) if isinstance(outcome, bytes) else outcome

    async def evaluate(
        self, rules: Sequence[Rule], finished: Sequence[Finished], context: RuleContext
    ) -> tuple[CelVerdict, ...]:
        """One verdict a rule. All share one job: where it is cut, none of them has a verdict."""
        job = EvaluationJob(
            expressions=tuple((rule.target, rule.cel) for rule in rules),
            finished=tuple(finished),
            circumstances={"caller": context.caller(), "contract": context.contract(), "request": context.request()},
        )
        outcome = await self._run(pack_job(job), seconds=self._seconds, partition=context.tenant)
        return unpack_verdicts(outcome) if isinstance(outcome, bytes) else (Undecided(fault=outcome),) * len(rules)

    async def close(self) -> None:
        """Stop the processes, if there are any."""
        async with self._starting:
            if self._pool is not None:
                await self._pool.close()
                self._pool = None

    async def _run(self, payload: bytes, *, seconds: float, partition: str = "") -> bytes | RuleFault:
        if len(payload) > MAX_MESSAGE_BYTES - _MIB:
            return RuleFault.UNREPRESENTABLE
        try:
            pool = await self._started()
        except WorkerStartError as error:
            _log.error("the rules' processes do not start", why=str(error))
            return RuleFault.CRASHED
        budget = _budget(seconds=seconds)
        outcome = await pool.run(
            payload, budget=budget, deadline_seconds=QUEUE_SECONDS + budget.wall_seconds, partition=partition
        )
        return _answer(outcome)

    async def _started(self) -> WorkerPool:
        if self._pool is None:
            async with self._starting:
                if self._pool is None:
                    self._pool = await WorkerPool.start(
                        "gateway.rules.worker:build",
                        {},
                        num_workers=self._num_workers,
                        max_queued=self._max_queued,
                        budget=_budget(seconds=self._seconds),
                    )
        return self._pool


def _answer(outcome: JobOutcome | QueueFull) -> bytes | RuleFault:
    match outcome:
        case JobFinished():
            return outcome.payload
        case JobTimedOut():
            return RuleFault.TIME
        case JobCrashed():
            return RuleFault.CRASHED
        case QueueFull():
            return RuleFault.BUSY


def _budget(*, seconds: float) -> ProcessBudget:
    return ProcessBudget(
        cpu_seconds=seconds,
        wall_seconds=seconds * WALL_PER_CPU_SECOND,
        address_space_bytes=ADDRESS_SPACE_BYTES,
        stack_bytes=STACK_BYTES,
    )
