"""One worker of conform: a killable child that answers line after line, replaced whenever a line kills it.

A line is two jobs on the same child, because they have different budgets: first the contract, under exactly what its
limit class lets a compile cost, then its instances. What the first compiled stays in the child for the second.
"""

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Self

from cli.conform.answer import ConformAnswer, ConformVerdict
from cli.conform.lines import MAX_LINE_BYTES, InputLine, line_id
from cli.conform.wire import ContractAnswer, contract_job, instances_job, read_contract_answer, read_instances_answer
from compiler_pool.job import JobCrashed, JobFinished, JobTimedOut, JsonLike
from compiler_pool.worker import WorkerProcess
from policy.limits import LimitClass, ProcessBudget
from policy.rejection import RejectionCode

ENTRY = "cli.conform.worker:build"

INSTANCE_CPU_SECONDS = 1.0
"""For matching one instance, above the limit class's time for validating it: 1,000 masks of a millisecond."""

MAX_INSTANCES_CPU_SECONDS = 300.0
"""For all instances of a line."""

WALL_PER_CPU_SECOND = 4.0
"""Room for a busy machine: verdicts hang on CPU time, the wall clock only ends what sleeps."""


class LineWorker:
    """Answers one line at a time. Every line gets its answer, whatever it does to the child."""

    def __init__(
        self, process: WorkerProcess, config: Mapping[str, JsonLike], limits: LimitClass, *, entry: str
    ) -> None:
        self._process = process
        self._entry = entry
        self._config = config
        self._limits = limits

    @classmethod
    async def start(cls, config: Mapping[str, JsonLike], limits: LimitClass, *, entry: str = ENTRY) -> Self:
        """Start the child and wait until its tokenizer is loaded. Raises `compiler_pool.errors.WorkerStartError`."""
        process = await WorkerProcess.start(entry, config, budget=limits.compile)
        return cls(process, config, limits, entry=entry)

    async def close(self) -> None:
        """Kill the child."""
        await self._process.close()

    async def answer(self, line: InputLine) -> ConformAnswer:
        """The answer to one line."""
        if not line.is_whole:
            return ConformAnswer(
                id=line_id(line.data),
                verdict=ConformVerdict.REJECTED,
                code=RejectionCode.LIMIT_EXCEEDED,
                pointer="",
                message=f"The line has {line.num_bytes} bytes; at most {MAX_LINE_BYTES} are read.",
            )
        if not self._process.is_alive:
            self._process = await WorkerProcess.start(self._entry, self._config, budget=self._limits.compile)
        started = time.perf_counter()
        outcome = await self._process.run(contract_job(line.data), budget=self._limits.compile)
        if not isinstance(outcome, JobFinished):
            elapsed_ms = (time.perf_counter() - started) * 1000
            answer = ConformAnswer(id=line_id(line.data), verdict=ConformVerdict.CRASHED, compile_ms=elapsed_ms)
            return _lost(answer, outcome, during="the contract was compiled")
        contract = read_contract_answer(outcome.payload)
        if contract.answer.verdict is not ConformVerdict.ACCEPTED:
            return contract.answer
        return await self._with_instances(contract)

    async def _with_instances(self, contract: ContractAnswer) -> ConformAnswer:
        outcome = await self._process.run(instances_job(), budget=self._instances_budget(contract.num_instances))
        if not isinstance(outcome, JobFinished):
            return _lost(contract.answer, outcome, during="the instances were tried")
        tried = read_instances_answer(outcome.payload)
        return replace(
            contract.answer, instances=tried.instances, mask_us=tried.mask_us, first_mask_ms=tried.first_mask_ms
        )

    def _instances_budget(self, num_instances: int) -> ProcessBudget:
        each = INSTANCE_CPU_SECONDS + self._limits.validation_seconds
        # The prototype is built once more before the first instance.
        seconds = min(self._limits.compile.cpu_seconds + each * (num_instances + 1), MAX_INSTANCES_CPU_SECONDS)
        return replace(self._limits.compile, cpu_seconds=seconds, wall_seconds=seconds * WALL_PER_CPU_SECOND)


def _lost(answer: ConformAnswer, outcome: JobTimedOut | JobCrashed, *, during: str) -> ConformAnswer:
    match outcome:
        case JobTimedOut(limit_name=limit_name, limit_seconds=limit_seconds):
            message = f"{limit_name} ran past {limit_seconds:g} s while {during}."
            return replace(answer, verdict=ConformVerdict.TIMEOUT, code=limit_name, pointer="", message=message)
        case JobCrashed(reason=reason):
            message = f"The worker died ({reason}) while {during}."
            return replace(answer, verdict=ConformVerdict.CRASHED, code=reason, pointer="", message=message)
