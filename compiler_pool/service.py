"""What the pool's service does with a request: check it, look it up, join or start its compile, seal the result."""

import asyncio
import time
from collections.abc import Iterable

from compiler_pool.answers import address_of, artifact_of, compiled, free_of_charge, is_deterministic, kept_answer
from compiler_pool.artifact import ArtifactAddress, ArtifactKey
from compiler_pool.cache import CachedFrame, CachedRefusal, CacheEntry
from compiler_pool.engine import ENGINE, ENGINE_VERSION
from compiler_pool.errors import DigestMismatchError, FrameError, UnknownTokenizerError
from compiler_pool.frame import KeyRing, seal
from compiler_pool.job import JobCrashed, JobFinished, JobTimedOut, Partition, QueueFull
from compiler_pool.lowering.version import LOWERING_VERSION
from compiler_pool.metrics import PoolMetrics
from compiler_pool.order import COMPILATION, CompileOrder
from compiler_pool.process import WorkerPool
from compiler_pool.protocol import (
    Busy,
    Compiled,
    CompileOutcome,
    CompileRequest,
    Crashed,
    PoolIdentity,
    Rejected,
    RejectionWire,
    TimedOut,
    TokenizerIdentity,
    UsesReport,
)
from compiler_pool.redis_leases import Found
from compiler_pool.shared_flight import Computed, Late, SharedFlight
from compiler_pool.single_flight import SingleFlight
from compiler_pool.standing import Standing, Urgency
from compiler_pool.tiered_cache import TieredArtifactCache
from policy.limits import LIMIT_CLASSES
from policy.rejection import RejectionCode
from registry.contract import ContractKind
from registry.digests import contract_digest

Outcome = CompileOutcome | Busy

_MIN_DEADLINE_SECONDS = 0.01
_CUT_SECONDS = 0.1
"""For the workers to cut a job at its deadline and tell what was spent, before the wait for it is given up."""


class CompileService:
    """Compiles for the tokenizers its workers hold. Knows no HTTP."""

    def __init__(
        self,
        *,
        pool: WorkerPool,
        cache: TieredArtifactCache,
        shared: SharedFlight | None,
        ring: KeyRing,
        tokenizers: Iterable[TokenizerIdentity],
        metrics: PoolMetrics,
    ) -> None:
        self._pool, self._cache, self._shared = pool, cache, shared
        self._ring, self._metrics = ring, metrics
        self._standings: dict[ArtifactKey, Standing] = {}
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
        address = address_of(request)
        outcome = self._kept(await self._cache.get(address))
        source = "hit"
        while outcome is None:
            if (standing := self._standings.get(address.key)) is not None:
                standing.raise_to(_urgency(request))  # somebody waits now for what may have been nobody's
            try:
                async with asyncio.timeout(max(_seconds_left(deadline), _MIN_DEADLINE_SECONDS) + _CUT_SECONDS):
                    outcome, has_joined = await self._flights.run(
                        address.key, lambda: self._lead(request, address, deadline)
                    )
            except TimeoutError:
                outcome, has_joined = self._busy(_standing(request)), False
            source = "joined" if has_joined else "miss"
            if has_joined and not isinstance(outcome, Compiled | Rejected) and _seconds_left(deadline) > 0:
                # Somebody else's patience ran out, or their worker died: that is no answer to this request.
                outcome = None
            elif has_joined and isinstance(outcome, Compiled | Rejected):
                outcome = free_of_charge(outcome)
        self._metrics.answered(outcome.outcome, source)
        return outcome

    async def used(self, report: UsesReport) -> None:
        """Count what gateways used without asking."""
        for key, num_times in report.uses.items():
            await self._cache.used(ArtifactKey(key), num_times)

    async def _lead(self, request: CompileRequest, address: ArtifactAddress, deadline: float) -> Outcome:
        """For all who wait in this process: compile, or wait for another process that does."""
        standing = _standing(request)
        self._standings[address.key] = standing
        try:
            if self._shared is None:
                return await self._compile(request, address, standing, deadline)
            shared = await self._shared.run(
                address, standing, lambda: self._compile(request, address, standing, deadline), deadline=deadline
            )
            match shared:
                case Computed():
                    return shared.outcome
                case Late():
                    return self._busy(standing)
                case Found():
                    await self._cache.found(address, shared.entry)
                    kept = self._kept(shared.entry)
                    return kept or await self._compile(request, address, standing, deadline)
        finally:
            if self._standings.get(address.key) is standing:
                del self._standings[address.key]

    def _kept(self, entry: CacheEntry | None) -> Outcome | None:
        return None if entry is None else kept_answer(entry, self._ring)

    def _busy(self, standing: Standing) -> Busy:
        return Busy(retry_after_seconds=self._pool.retry_seconds(standing))

    async def _compile(
        self, request: CompileRequest, address: ArtifactAddress, standing: Standing, deadline: float
    ) -> Outcome:
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
            standing=standing,
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
            if is_deterministic(rejected):
                refusal = CachedRefusal(answer=rejected.model_dump_json().encode(), cpu_ms=cost.cpu_ms)
                await self._cache.put(address, refusal)
            return rejected
        artifact = artifact_of(compilation, address, cost)
        try:
            frame = seal(artifact, self._ring)
        except FrameError as error:
            message = f"the grammar is too large to carry: {error}"
            return Rejected(rejections=[RejectionWire(code=RejectionCode.COMPILE_REFUSED, message=message)], cost=cost)
        kept = CachedFrame(frame=frame, cost=cost.model_dump_json().encode(), cpu_ms=cost.cpu_ms)
        await self._cache.put(address, kept)
        return compiled(artifact, frame, cost, is_hit=False)


def _standing(request: CompileRequest) -> Standing:
    return Standing(partition=Partition(request.tenant_partition), urgency=_urgency(request))


def _urgency(request: CompileRequest) -> Urgency:
    if request.urgency == "precompile":
        return Urgency.PRECOMPILE
    return Urgency.GOVERNED if request.limits == "governed" else Urgency.TENANT


def _seconds_left(deadline: float) -> float:
    return deadline - time.monotonic()
