"""Final validation as the gateway calls it: killable, bounded, and never in the gateway's own process."""

from collections import OrderedDict
from dataclasses import replace
from typing import Self

from compiler_pool.job import KEEPS_THREAD, JsonLike
from compiler_pool.process import JobCrashed, JobFinished, JobTimedOut, QueueFull, WorkerPool
from gateway.validation.job import ContractNeeded, JudgeJob, pack_job, unpack_verdict
from gateway.validation.judge import DEFAULT_LIMITS, DocumentLimits
from gateway.validation.verdict import Unjudged, UnjudgedReason, Verdict
from gateway.validation.worker import MAX_PREPARED_CONTRACTS
from policy.limits import ProcessBudget
from registry.contract import ContractKind

_MIB = 1024 * 1024

ADDRESS_SPACE_BYTES = 512 * _MIB
"""For one judgement, above the idle process: a document of 8 MiB parses into less than 300 MiB."""

STACK_BYTES = 64 * _MIB
"""`gateway.validation.worker.MAX_FRAMES` of the interpreter fit into it."""

WALL_PER_CPU_SECOND = 4.0
"""The limit is on CPU time, so that a busy machine makes no verdict fail; the wall clock stands behind it."""

_WORTH_NAMING_CHARACTERS = 4096
"""A longer contract is sent to a judge once and named afterwards; a shorter one costs less than being asked for."""

QUEUE_SECONDS = 5.0
"""Patience for a free judge, before the judgement's own time begins."""


class ValidationService:
    """Judges finished objects in processes of their own. A killed judge is replaced; others notice nothing."""

    def __init__(self, pool: WorkerPool, limits: DocumentLimits) -> None:
        self._pool = pool
        self._limits = limits
        self._sent: OrderedDict[str, None] = OrderedDict()

    @classmethod
    async def start(
        cls, *, num_workers: int = 1, max_queued: int = 256, limits: DocumentLimits = DEFAULT_LIMITS
    ) -> Self:
        """Start the judging processes; ready when they are."""
        config: dict[str, JsonLike] = {
            "max_document_bytes": limits.max_document_bytes,
            "max_nesting": limits.max_nesting,
            KEEPS_THREAD: True,
        }
        pool = await WorkerPool.start(
            "gateway.validation.worker:build",
            config,
            num_workers=num_workers,
            max_queued=max_queued,
            # A burst of requests keeps the event loop busy for longer than a hundred documents keep a judge.
            refuses_hopeless=False,
            budget=_budget(seconds=1.0),
        )
        return cls(pool, limits)

    @property
    def num_ready(self) -> int:
        """Judges that are alive, idle or busy."""
        return self._pool.num_ready

    async def validate(
        self,
        canonical_text: str,
        contract_digest: str,
        document: bytes,
        *,
        seconds: float,
        kind: ContractKind = ContractKind.JSON_SCHEMA,
    ) -> Verdict:
        """The verdict on `document` within `seconds` of CPU time.

        `canonical_text` is of that kind and `contract_digest` is its digest: judges keep prepared contracts by it.
        """
        if len(document) > self._limits.max_document_bytes:
            # Before it is copied into a pipe.
            message = f"the document has {len(document)} bytes; at most {self._limits.max_document_bytes} are judged"
            return Unjudged(reason=UnjudgedReason.DOCUMENT_LIMIT, message=message)
        budget = _budget(seconds=seconds)
        is_named = len(canonical_text) > _WORTH_NAMING_CHARACTERS and contract_digest in self._sent
        text = None if is_named else canonical_text
        job = JudgeJob(contract_digest=contract_digest, kind=kind, canonical_text=text, document=document)
        answer = await self._judged(job, budget)
        if isinstance(answer, ContractNeeded):
            # Another judge was told of it, or this one has forgotten; it is asked for once, then this is no answer.
            answer = await self._judged(replace(job, canonical_text=canonical_text), budget)
        if isinstance(answer, ContractNeeded):
            return Unjudged(reason=UnjudgedReason.CRASHED, message="the judge does not take the contract")
        self._sent[contract_digest] = None
        self._sent.move_to_end(contract_digest)
        if len(self._sent) > MAX_PREPARED_CONTRACTS:
            self._sent.popitem(last=False)
        return answer

    async def _judged(self, job: JudgeJob, budget: ProcessBudget) -> Verdict | ContractNeeded:
        outcome = await self._pool.run(
            pack_job(job), budget=budget, deadline_seconds=QUEUE_SECONDS + budget.wall_seconds
        )
        match outcome:
            case JobFinished():
                return unpack_verdict(outcome.payload)
            case JobTimedOut():
                message = f"not judged within {budget.cpu_seconds:g} s"
                return Unjudged(reason=UnjudgedReason.TIME, message=message)
            case JobCrashed():
                return Unjudged(reason=UnjudgedReason.CRASHED, message=f"the judge died ({outcome.reason})")
            case QueueFull():
                return Unjudged(reason=UnjudgedReason.BUSY, message="no judge came free in time")

    async def close(self) -> None:
        """Stop the judging processes."""
        await self._pool.close()


def _budget(*, seconds: float) -> ProcessBudget:
    return ProcessBudget(
        cpu_seconds=seconds,
        wall_seconds=seconds * WALL_PER_CPU_SECOND,
        address_space_bytes=ADDRESS_SPACE_BYTES,
        stack_bytes=STACK_BYTES,
    )
