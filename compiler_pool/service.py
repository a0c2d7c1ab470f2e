"""What the pool's service does with a request: check it, look it up, join or start its compile, seal the result."""

import asyncio
import base64
import time
from collections.abc import Iterable
from dataclasses import replace

from pydantic import ValidationError

from compiler_pool.artifact import Artifact, ArtifactAddress, ArtifactKey, TokenizerDigest
from compiler_pool.cache import ArtifactCache, CachedFrame, CachedRefusal, SingleFlight
from compiler_pool.engine import ENGINE, ENGINE_VERSION
from compiler_pool.errors import DigestMismatchError, FrameError, UnknownTokenizerError
from compiler_pool.frame import KeyRing, open_frame, seal
from compiler_pool.job import JobCrashed, JobFinished, JobTimedOut, QueueFull
from compiler_pool.lowering.lower import LOWERING_VERSION
from compiler_pool.metrics import PoolMetrics
from compiler_pool.order import COMPILATION, CompiledGrammar, CompileOrder
from compiler_pool.process import WorkerPool
from compiler_pool.protocol import (
    Busy,
    CompileCost,
    Compiled,
    CompileOutcome,
    CompileRequest,
    Crashed,
    PoolIdentity,
    Rejected,
    RejectionWire,
    ReportEntryWire,
    TimedOut,
    TokenizerIdentity,
)
from policy.enforcement import EnforcementPolicy, KeywordStatus, ReportEntry, Unknown
from policy.limits import LIMIT_CLASSES
from policy.rejection import RejectionCode
from registry.contract import ContractDigest, ContractKind
from registry.digests import contract_digest

Outcome = CompileOutcome | Busy

_MIN_DEADLINE_SECONDS = 0.01
_CUT_SECONDS = 0.1
"""For the workers to cut a job at its deadline and tell what was spent, before the wait for it is given up."""
_RETRY_SECONDS = 1.0


class CompileService:
    """Compiles for the tokenizers its workers hold. Knows no HTTP."""

    def __init__(
        self,
        *,
        pool: WorkerPool,
        cache: ArtifactCache,
        ring: KeyRing,
        tokenizers: Iterable[TokenizerIdentity],
        metrics: PoolMetrics,
    ) -> None:
        self._pool, self._cache, self._ring, self._metrics = pool, cache, ring, metrics
        self._tokenizers = {tokenizer.digest: tokenizer for tokenizer in tokenizers}
        self._flights: SingleFlight[Outcome] = SingleFlight()

    @property
    def identity(self) -> PoolIdentity:
        """What goes into the addresses of this pool's artifacts."""
        return PoolIdentity(
            engine=ENGINE,
            engine_version=ENGINE_VERSION,
            lowering_version=LOWERING_VERSION,
            tokenizers=list(self._tokenizers.values()),
        )

    async def compile(self, request: CompileRequest) -> Outcome:
        """The outcome for one request. Raises DigestMismatchError and UnknownTokenizerError."""
        deadline = time.monotonic() + request.deadline_seconds
        if request.kind not in {kind.value for kind in ContractKind}:
            message = f"contracts of kind {request.kind!r} are not known"
            return Rejected(rejections=[RejectionWire(code=RejectionCode.UNSUPPORTED_KIND, message=message)])
        actual = contract_digest(ContractKind(request.kind), request.canonical_text)
        # The digest becomes part of the address: a wrong one would file this contract under another's name.
        if actual != request.contract_digest:
            raise DigestMismatchError(claimed=request.contract_digest, actual=actual)
        if request.tokenizer_digest not in self._tokenizers:
            raise UnknownTokenizerError(request.tokenizer_digest)
        address = _address(request)
        outcome = await self._cached(address.key)
        source = "hit"
        while outcome is None:
            try:
                async with asyncio.timeout(max(_seconds_left(deadline), _MIN_DEADLINE_SECONDS) + _CUT_SECONDS):
                    outcome, has_joined = await self._flights.run(
                        address.key, lambda: self._compile(request, address, deadline)
                    )
            except TimeoutError:
                outcome, has_joined = Busy(retry_after_seconds=_RETRY_SECONDS), False
            source = "joined" if has_joined else "miss"
            if has_joined and not isinstance(outcome, Compiled | Rejected) and _seconds_left(deadline) > 0:
                # Somebody else's patience ran out, or their worker died: that is no answer to this request.
                outcome = None
        self._metrics.answered(outcome.outcome, source)
        return outcome

    async def _cached(self, key: ArtifactKey) -> Outcome | None:
        match await self._cache.get(key):
            case CachedFrame() as entry:
                try:
                    artifact = open_frame(entry.frame, self._ring)
                except FrameError:
                    return None  # signed with a key that has been retired: compile anew
                return self._compiled(artifact, entry.frame, CompileCost.model_validate_json(entry.cost), is_hit=True)
            case CachedRefusal() as entry:
                try:
                    return Rejected.model_validate_json(entry.answer)
                except ValidationError:
                    return None
            case None:
                return None

    async def _compile(self, request: CompileRequest, address: ArtifactAddress, deadline: float) -> Outcome:
        limits = LIMIT_CLASSES[request.limits]
        order = CompileOrder(
            kind=request.kind,
            canonical_text=request.canonical_text,
            tokenizer_digest=request.tokenizer_digest,
            policy=request.policy,
            limits=request.limits,
        )
        started = time.monotonic()
        result = await self._pool.run(
            order.model_dump_json().encode(),
            budget=limits.compile,
            deadline_seconds=max(_seconds_left(deadline), _MIN_DEADLINE_SECONDS),
            partition=request.tenant_partition,
        )
        match result:
            case QueueFull():
                return Busy(retry_after_seconds=result.retry_after_seconds, spent_seconds=result.spent_seconds)
            case JobTimedOut():
                return TimedOut(limit_name=result.limit_name, limit_seconds=result.limit_seconds)
            case JobCrashed():
                return Crashed(reason=result.reason)
            case JobFinished():
                queue_seconds = time.monotonic() - started - result.wall_seconds
                return await self._settle(result, address, queue_seconds)

    async def _settle(self, result: JobFinished, address: ArtifactAddress, queue_seconds: float) -> Outcome:
        """Seal and remember what a worker made, or remember that it refused."""
        compilation = COMPILATION.validate_json(result.payload)
        assert compilation.cost is not None
        # The process's own account includes what no stage counts: reading the order, writing the answer.
        cost = compilation.cost.model_copy(
            update={"queue_ms": max(queue_seconds, 0.0) * 1e3, "cpu_ms": result.cpu_seconds * 1e3}
        )
        self._metrics.compiled("rejected" if isinstance(compilation, Rejected) else "compiled", cost)
        if isinstance(compilation, Rejected):
            rejected = compilation.model_copy(update={"cost": cost})
            if not any(rejection.limit_name == "max_step_seconds" for rejection in rejected.rejections):
                await self._cache.put(address.key, CachedRefusal(answer=rejected.model_dump_json().encode()))
            return rejected
        artifact = _artifact(compilation, address, cost)
        try:
            frame = seal(artifact, self._ring)
        except FrameError as error:
            message = f"the grammar is too large to carry: {error}"
            return Rejected(rejections=[RejectionWire(code=RejectionCode.COMPILE_REFUSED, message=message)], cost=cost)
        await self._cache.put(address.key, CachedFrame(frame=frame, cost=cost.model_dump_json().encode()))
        return self._compiled(artifact, frame, cost, is_hit=False)

    @staticmethod
    def _compiled(artifact: Artifact, frame: bytes, cost: CompileCost, *, is_hit: bool) -> Compiled:
        report = [
            ReportEntryWire(pointer=entry.pointer, keyword=entry.keyword, status=entry.status.value)
            for entry in artifact.report
        ]
        # A hit costs its caller nothing: neither time in the queue nor CPU.
        if is_hit:
            cost = cost.model_copy(update={"queue_ms": 0.0, "cpu_ms": 0.0})
        return Compiled(
            artifact_key=artifact.key,
            frame=base64.b64encode(frame).decode(),
            report=report,
            cost=cost,
            cache="hit" if is_hit else "miss",
        )


def _address(request: CompileRequest) -> ArtifactAddress:
    policy = EnforcementPolicy(
        allow_checked_after=request.policy.allow_checked_after,
        unknown_keyword=Unknown(request.policy.unknown_keyword),
        unknown_format=Unknown(request.policy.unknown_format),
    )
    return ArtifactAddress(
        contract_digest=ContractDigest(request.contract_digest),
        tokenizer_digest=TokenizerDigest(request.tokenizer_digest),
        engine=ENGINE,
        engine_version=ENGINE_VERSION,
        lowering_version=LOWERING_VERSION,
        policy_digest=policy.digest,
        limits=request.limits,
        tenant_partition=request.tenant_partition,
    )


def _artifact(compilation: CompiledGrammar, address: ArtifactAddress, cost: CompileCost) -> Artifact:
    report = tuple(
        ReportEntry(pointer=entry.pointer, keyword=entry.keyword, status=KeywordStatus(entry.status))
        for entry in compilation.report
    )
    return Artifact(
        address=address,
        grammar=compilation.grammar,
        engine_budget=replace(LIMIT_CLASSES[address.limits].engine),
        report=report,
        compile_ms=cost.lower_ms + cost.compile_ms + cost.trial_ms,
        cpu_ms=cost.cpu_ms,
    )


def _seconds_left(deadline: float) -> float:
    return deadline - time.monotonic()
