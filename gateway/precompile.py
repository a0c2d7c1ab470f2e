"""Governed contracts are compiled before anybody asks: when an alias comes to name one, when this gateway starts, and
when the compiler pool becomes another one.

Whatever is compiled here waits behind whatever a caller waits for, in the pool's line as well. The work is the
installation's own and charged to nobody: contracts come here by a promotion, which takes two people, and what is
compiled already costs nothing. What does not come about is not missed: the first request compiles it.
"""

import asyncio
from collections.abc import Awaitable, Callable
from enum import StrEnum
from typing import Final, Protocol

import structlog

from compiler_pool.artifact import TokenizerDigest
from compiler_pool.protocol import PoolIdentity
from gateway.artifacts import ArtifactSource
from gateway.auth.authenticator import Caller
from gateway.compilers import Compiler
from gateway.errors import CompilerUnavailableError, ContractLookupError, GatewayError
from gateway.identifiers import KeyId, TenantPartition
from gateway.intake import ContractIntake
from gateway.intent import NamedContract
from gateway.metrics import GatewayMetrics
from gateway.outcome import CacheTier, TakenContract
from gateway.stages import StageClock
from policy.limits import GOVERNED
from registry.errors import RegistryError
from registry.identifiers import PrincipalId, TenantId
from registry.revision import Actor, Alias
from registry.store.governed import PAGE, GovernedAlias

_log = structlog.get_logger(__name__)

MAX_WAITING: Final = 10_000
"""Aliases; of more, the first request compiles."""
MAX_ATTEMPTS: Final = 5
"""While the pool is busy or gone."""
_LOOK_SECONDS: Final = 1.0
"""Between two looks at who the pool is."""
_MAX_PAUSE_SECONDS: Final = 30.0


class Precompiled(StrEnum):
    """What became of one contract for one tokenizer, or of one alias that never came so far."""

    COMPILED = "compiled"
    PRESENT = "present"
    """Somewhere it was there already."""
    REFUSED = "refused"
    """It cannot be enforced, or not within its budget: no request under it will succeed."""
    NOT_SERVED = "not_served"
    """The name is not given out now: not signed any more, or moved on."""
    GIVEN_UP = "given_up"
    """The pool was busy or gone again and again."""
    DROPPED = "dropped"
    """Too many were waiting."""


class GovernedAliases(Protocol):
    """Where they are listed (`registry.store.governed`)."""

    def aliases(self, *, after: GovernedAlias | None = None) -> Awaitable[tuple[GovernedAlias, ...]]:
        """The next page; fewer than `PAGE` mean that these were the last."""
        ...


class Precompiler:
    """Calling order: `alias_moved` at any time; `watch` in one task and `work` in as many as may compile at a time."""

    def __init__(
        self,
        *,
        governed: GovernedAliases,
        intake: ContractIntake,
        compiler: Compiler,
        artifacts: ArtifactSource,
        partition_of: Callable[[TenantId], TenantPartition],
        metrics: GatewayMetrics,
    ) -> None:
        self._governed, self._intake, self._compiler, self._artifacts = governed, intake, compiler, artifacts
        self._partition_of, self._metrics = partition_of, metrics
        self._waiting: dict[GovernedAlias, None] = {}
        self._has_work = asyncio.Event()
        self._swept: PoolIdentity | None = None
        for outcome in Precompiled:
            metrics.precompiles.labels(outcome=outcome)

    @property
    def num_waiting(self) -> int:
        """Aliases whose turn has not come."""
        return len(self._waiting)

    def alias_moved(self, alias: Alias) -> None:
        """An alias names another revision now. Whether that is governed is found out when its turn comes."""
        self._add(GovernedAlias(tenant=alias.tenant, name=alias.name, alias=alias.alias))

    async def watch(self) -> None:
        """See to all governed contracts whenever the pool is one that they were not compiled by. Until cancelled."""
        while True:
            identity = self._compiler.identity
            if self._compiler.is_live and identity is not None and identity != self._swept:
                try:
                    await self._sweep()
                    self._swept = identity
                except RegistryError as error:
                    _log.warning("governed contracts cannot be listed", why=str(error))
            await asyncio.sleep(_LOOK_SECONDS)

    async def work(self) -> None:
        """Take one after another. Until cancelled."""
        while True:
            await self._has_work.wait()
            alias = next(iter(self._waiting), None)
            if alias is None:
                self._has_work.clear()
                continue
            del self._waiting[alias]
            self._metrics.precompiles_waiting.set(len(self._waiting))
            try:
                await self._see_to(alias)
            except Exception:
                _log.exception("a governed contract could not be compiled in advance", contract=alias.name)

    async def _sweep(self) -> None:
        after: GovernedAlias | None = None
        while True:
            page = await self._governed.aliases(after=after)
            for alias in page:
                self._add(alias)
            if len(page) < PAGE:
                return
            after = page[-1]

    def _add(self, alias: GovernedAlias) -> None:
        if alias not in self._waiting and len(self._waiting) >= MAX_WAITING:
            self._metrics.precompiles.labels(outcome=Precompiled.DROPPED).inc()
            return
        self._waiting[alias] = None
        self._metrics.precompiles_waiting.set(len(self._waiting))
        self._has_work.set()

    async def _see_to(self, alias: GovernedAlias) -> None:
        spelled = f"{alias.name}@{alias.alias}"
        try:
            taken = await self._intake.take(NamedContract(name=spelled, param=""), self._owner(alias), StageClock())
        except ContractLookupError as error:
            self._count(Precompiled.NOT_SERVED, alias, why=str(error))
            return
        except GatewayError as error:
            self._count(Precompiled.REFUSED, alias, why=str(error))
            return
        if taken.limits is not GOVERNED:
            return
        for tokenizer in sorted(self._compiler.tokenizers):
            await self._compile(alias, taken, TokenizerDigest(tokenizer))

    async def _compile(self, alias: GovernedAlias, taken: TakenContract, tokenizer: TokenizerDigest) -> None:
        for attempt in range(1, MAX_ATTEMPTS + 1):
            try:
                bound = await self._artifacts.precompile(taken, tokenizer)
            except CompilerUnavailableError as error:
                if attempt == MAX_ATTEMPTS:
                    self._count(Precompiled.GIVEN_UP, alias, why=str(error))
                    if not self._compiler.is_live:
                        self._swept = None  # all of them again, once the pool is back
                    return
                await asyncio.sleep(min(error.retry_after_seconds * attempt, _MAX_PAUSE_SECONDS))
            except GatewayError as error:
                self._count(Precompiled.REFUSED, alias, why=str(error))
                return
            else:
                is_new = bound.tier is CacheTier.COMPILED
                self._metrics.precompile_cpu_seconds.inc(bound.compile_cpu_ms / 1000)
                self._count(
                    Precompiled.COMPILED if is_new else Precompiled.PRESENT,
                    alias,
                    tokenizer=tokenizer,
                    cpu_ms=round(bound.compile_cpu_ms, 3),
                )
                return

    def _count(self, outcome: Precompiled, alias: GovernedAlias, **details: object) -> None:
        self._metrics.precompiles.labels(outcome=outcome).inc()
        say = _log.warning if outcome in {Precompiled.REFUSED, Precompiled.GIVEN_UP} else _log.info
        say(
            "governed contract seen to",
            outcome=str(outcome),
            contract=alias.name,
            alias=alias.alias,
            tenant=alias.tenant,
            **details,
        )

    def _owner(self, alias: GovernedAlias) -> Caller:
        """The contract's owner, as far as reading it goes; it has no role and no key."""
        return Caller(
            tenant=alias.tenant,
            key_id=KeyId(""),
            partition=self._partition_of(alias.tenant),
            actor=Actor(tenant=alias.tenant, principal=PrincipalId("precompile"), roles=frozenset()),
        )
