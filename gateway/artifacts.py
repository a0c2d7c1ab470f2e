"""Stage 7: the artifact of a contract, from this process's cache or from the compiler pool, compiled once for all who
wait for it.

Only `compiled` is kept. What the pool refuses it refuses again from its own memory; timeouts and crashes say nothing
about the next attempt.
"""

import asyncio
import base64
import binascii
import time
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Literal, assert_never

from compiler_pool.artifact import ArtifactAddress, ArtifactKey, TokenizerDigest
from compiler_pool.bounded_cache import BoundedCache
from compiler_pool.cache import weight_of
from compiler_pool.errors import PoolUnavailableError
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
)
from compiler_pool.single_flight import SingleFlight
from compiler_pool.wire_values import policy_wire, text_of
from gateway.artifact_uses import ArtifactUses
from gateway.budgets.meter import Meter
from gateway.compilers import Compiler
from gateway.errors import (
    CompileCrashedError,
    CompilerUnavailableError,
    CompileTimedOutError,
    ContractRefusedError,
)
from gateway.metrics import GatewayMetrics
from gateway.nodes import SignedArtifact
from gateway.outcome import BoundContract, CacheTier, TakenContract
from policy.enforcement import KeywordStatus, ReportEntry
from policy.limits import LimitClass
from policy.rejection import Rejection, RejectionCode
from policy.text_bounds import TextReport

_Outcome = CompileOutcome | Busy | PoolUnavailableError

_RETRY_SECONDS = 1.0
_PRECOMPILE_SECONDS = 60.0
"""The patience of a compile that nobody waits for."""
_POOL_SHARE = 0.9
"""Of a request's patience, what the pool is given: it has to say that it is busy before the request gives up."""
_MIN_DEADLINE_SECONDS = 0.01
_ENTRY_OVERHEAD_BYTES = 512
_REPORT_ENTRY_BYTES = 200
"""What an entry of a report holds in memory beside its pointer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _KeptArtifact:
    """A compiled contract as L1 keeps it, read once."""

    frame: bytes
    report: tuple[ReportEntry, ...]
    text: TextReport
    cost: CompileCost


class ArtifactSource:
    """Obtains artifacts. A compile belongs to all who wait for it and ends when the last of them has gone."""

    def __init__(
        self,
        compiler: Compiler,
        *,
        cache_bytes: int,
        compile_seconds: float,
        metrics: GatewayMetrics,
        uses: ArtifactUses,
    ) -> None:
        self._compiler = compiler
        self._uses = uses
        self._compile_seconds = compile_seconds
        self._metrics = metrics
        self._cache: BoundedCache[ArtifactKey, _KeptArtifact] = BoundedCache(max_bytes=cache_bytes, weight=weight_of)
        self._flights: SingleFlight[_Outcome] = SingleFlight()

    def is_cached(self, taken: TakenContract, tokenizer: TokenizerDigest) -> bool:
        """Whether `obtain` will find the artifact here, so that no compile has to be paid for in advance."""
        identity = self._compiler.identity
        if identity is None:
            return False
        return self._cache.get(_address(identity, taken, tokenizer).key) is not None

    async def obtain(self, taken: TakenContract, tokenizer: TokenizerDigest, meter: Meter) -> BoundContract:
        """The contract, bound to a tokenizer. A compile is put on the meter of exactly one of those who waited for it.

        Who leaves as the last of them, on a timeout or cancelled, pays the compile budget: the work was done or killed.

        Raises:
            ContractRefusedError: it cannot be enforced, by pointer.
            CompileTimedOutError: it costs too much.
            CompileCrashedError: it took a worker down.
            CompilerUnavailableError: nothing was decided; try again.
        """
        identity = self._compiler.identity
        if identity is None:
            raise _unavailable()
        if tokenizer not in self._compiler.tokenizers:
            raise _unavailable("the compiler pool has not this model's tokenizer")
        address = _address(identity, taken, tokenizer)
        cached = self._cache.get(address.key)
        self._metrics.count_look_up("l1", "miss" if cached is None else "hit")
        if cached is not None:
            self._uses.count(address.key)
            return _bound(taken, address.key, cached, CacheTier.L1)
        outcome = await self._compiled_once(address, taken, meter)
        return self._accept(outcome, address, taken)

    async def precompile(self, taken: TakenContract, tokenizer: TokenizerDigest) -> BoundContract:
        """The contract, bound, compiled if it must be, behind whatever somebody waits for.

        Not in flight with those: a request that came to wait for this would wait as if it were nobody. The pool joins
        the two, and lets the compile rise to whom it has become urgent for. Raises as `obtain` does.
        """
        identity = self._compiler.identity
        if identity is None:
            raise _unavailable()
        address = _address(identity, taken, tokenizer)
        if (kept := self._cache.get(address.key)) is not None:
            return _bound(taken, address.key, kept, CacheTier.L1)
        deadline = time.monotonic() + _PRECOMPILE_SECONDS
        outcome = await self._compile(address, taken, deadline, urgency="precompile")
        return self._accept(outcome, address, taken)

    async def _compiled_once(self, address: ArtifactAddress, taken: TakenContract, meter: Meter) -> _Outcome:
        deadline = time.monotonic() + self._compile_seconds
        before = meter.compile_cpu_ms

        def charge(outcome: _Outcome | None) -> None:
            meter.compile_cpu_ms += _budget_ms(taken.limits) if outcome is None else _cpu_ms(outcome, taken.limits)

        def join() -> Awaitable[tuple[_Outcome, bool]]:
            return self._flights.run(address.key, lambda: self._compile(address, taken, deadline), claim=charge)

        try:
            async with asyncio.timeout(self._compile_seconds):
                outcome, has_joined = await join()
                # Somebody else's lack of time is no answer to this request; who paid for it took their place, though.
                if has_joined and _is_transient(outcome) and meter.compile_cpu_ms == before:
                    outcome, _ = await join()
        except TimeoutError:
            raise _unavailable("the compiler pool has not answered in time; ask again") from None
        return outcome

    async def _compile(
        self,
        address: ArtifactAddress,
        taken: TakenContract,
        deadline: float,
        *,
        urgency: Literal["answer", "precompile"] = "answer",
    ) -> _Outcome:
        request = CompileRequest(
            kind=str(taken.contract.kind),
            canonical_text=taken.contract.text,
            contract_digest=taken.contract.digest,
            tokenizer_digest=address.tokenizer_digest,
            policy=policy_wire(taken.policy),
            limits=_limit_name(taken.limits),
            tenant_partition=address.tenant_partition,
            deadline_seconds=max((deadline - time.monotonic()) * _POOL_SHARE, _MIN_DEADLINE_SECONDS),
            urgency=urgency,
        )
        try:
            outcome = await self._compiler.client.compile(request)
        except PoolUnavailableError as error:
            self._compiler.mark_down(str(error))
            self._metrics.compiles.labels(outcome="unavailable").inc()
            return error
        self._metrics.compiles.labels(outcome=outcome.outcome).inc()
        if isinstance(outcome, Compiled):
            self._metrics.count_look_up("pool", outcome.cache)
            self._keep(address, outcome)
        return outcome

    def _keep(self, address: ArtifactAddress, compiled: Compiled) -> None:
        if compiled.artifact_key != address.key:
            return  # `_accept` refuses it
        try:
            artifact = _kept(compiled)
        except CompilerUnavailableError:
            return  # `_accept` says so to each who waits, after one of them has paid
        size = len(artifact.frame) + _ENTRY_OVERHEAD_BYTES
        size += sum(len(entry.pointer) + _REPORT_ENTRY_BYTES for entry in artifact.report)
        size += sum(len(place.pointer) + _REPORT_ENTRY_BYTES for place in artifact.text.bounded)
        self._cache.put(address.key, artifact, num_bytes=size, owner=address.tenant_partition)
        self._metrics.cache_bytes.set(self._cache.num_bytes)

    def _accept(self, outcome: _Outcome, address: ArtifactAddress, taken: TakenContract) -> BoundContract:
        match outcome:
            case Compiled():
                if outcome.artifact_key != address.key:
                    # The pool has become another one (engine, lowering) since it was last asked who it is.
                    self._compiler.mark_down("changed its identity")
                    raise _unavailable("the compiler pool is being replaced; ask again")
                tier = CacheTier.POOL if outcome.cache == "hit" else CacheTier.COMPILED
                return _bound(taken, address.key, _kept(outcome), tier)
            case Rejected():
                rejections = tuple(_rejection(each, taken) for each in outcome.rejections)
                raise ContractRefusedError(rejections, param=taken.param)
            case TimedOut():
                raise CompileTimedOutError(
                    limit_name=outcome.limit_name, limit_seconds=outcome.limit_seconds, param=taken.param
                )
            case Crashed():
                raise CompileCrashedError(param=taken.param)
            case Busy():
                message = "the compiler pool is busy; ask again"
                raise CompilerUnavailableError(message, retry_after_seconds=outcome.retry_after_seconds)
            case PoolUnavailableError():
                raise _unavailable()
            case _:
                assert_never(outcome)


def _address(identity: PoolIdentity, taken: TakenContract, tokenizer: TokenizerDigest) -> ArtifactAddress:
    return ArtifactAddress(
        contract_digest=taken.contract.digest,
        tokenizer_digest=tokenizer,
        engine=identity.engine,
        engine_version=identity.engine_version,
        lowering_version=identity.lowering_version,
        policy_digest=taken.policy.digest,
        limits=taken.limits.name,
        tenant_partition=taken.partition,
    )


def _budget_ms(limits: LimitClass) -> float:
    return limits.compile.cpu_seconds * 1000


def _cpu_ms(outcome: _Outcome, limits: LimitClass) -> float:
    """What a tenant is charged. Where a worker was killed, the most CPU that it can have used."""
    match outcome:
        case Compiled():
            return outcome.cost.cpu_ms if outcome.cache == "miss" else 0.0
        case Rejected():
            return 0.0 if outcome.cost is None else outcome.cost.cpu_ms
        case TimedOut(limit_name="wall_seconds"):
            return min(_budget_ms(limits), outcome.limit_seconds * 1000)
        case TimedOut() | Crashed():
            return _budget_ms(limits)
        case Busy():
            return min(_budget_ms(limits), outcome.spent_seconds * 1000)
        case PoolUnavailableError():
            return 0.0
        case _:
            assert_never(outcome)


def _is_transient(outcome: _Outcome) -> bool:
    """Whether it tells of a moment, or of somebody's deadline, and not of the contract."""
    match outcome:
        case Busy() | PoolUnavailableError() | TimedOut(limit_name="wall_seconds"):
            return True
        case Compiled() | Rejected() | TimedOut() | Crashed():
            return False
        case _:
            assert_never(outcome)


def _unavailable(message: str = "the compiler pool does not answer; ask again") -> CompilerUnavailableError:
    return CompilerUnavailableError(message, retry_after_seconds=_RETRY_SECONDS)


def _limit_name(limits: LimitClass) -> Literal["tenant", "governed"]:
    # `none` is for corpora on an author's own machine; no caller of a gateway gets it.
    match limits.name:
        case "tenant":
            return "tenant"
        case "governed":
            return "governed"
        case name:
            raise ValueError(f"a gateway takes contracts under `tenant` or `governed` limits, not {name!r}")


def _kept(compiled: Compiled) -> _KeptArtifact:
    try:
        frame = base64.b64decode(compiled.frame, validate=True)
    except binascii.Error:
        raise _unavailable("the compiler pool sent an artifact that cannot be read") from None
    return _KeptArtifact(
        frame=frame,
        report=tuple(_entry(each) for each in compiled.report),
        text=text_of(compiled.text),
        cost=compiled.cost,
    )


def _bound(taken: TakenContract, key: ArtifactKey, artifact: _KeptArtifact, tier: CacheTier) -> BoundContract:
    return BoundContract(
        taken=taken,
        signed=SignedArtifact(key=key, frame=artifact.frame),
        compiled_report=artifact.report,
        compiled_text=artifact.text,
        cost=artifact.cost,
        tier=tier,
    )


def _entry(entry: ReportEntryWire) -> ReportEntry:
    return ReportEntry(pointer=entry.pointer, keyword=entry.keyword, status=KeywordStatus(entry.status))


def _rejection(rejection: RejectionWire, taken: TakenContract) -> Rejection:
    try:
        code = RejectionCode(rejection.code)
    except ValueError:  # a newer pool's reason: still a refusal, under the nearest name that we have
        code = RejectionCode.COMPILE_REFUSED
    return Rejection(
        code=code,
        message=rejection.message,
        pointer=taken.contract.source_pointer(rejection.pointer),
        keyword=rejection.keyword,
        limit_name=rejection.limit_name,
        limit=_whole(rejection.limit),
        observed=_whole(rejection.observed),
        suggestion=rejection.suggestion,
        conflicts=tuple(map(taken.contract.source_pointer, rejection.conflicts)),
    )


def _whole(number: float | None) -> float | None:
    return int(number) if number is not None and number.is_integer() else number
