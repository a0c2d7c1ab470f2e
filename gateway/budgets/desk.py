"""Stage 6 and 12: what a caller may spend. Reserved at its upper bound before any work, settled at what it was.

Calling order: `reserve`, work, `settle` exactly once, however the work ends; `run` in one task, `close` at the end.
"""

import asyncio
import secrets
import time
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import structlog

from gateway.auth.authenticator import Caller
from gateway.budgets.answers import limit_headers, refused
from gateway.budgets.errors import PriceUnknownError
from gateway.budgets.ledger import Accounts, BudgetLedger, EndedBefore, Granted, Refused, Standings
from gateway.budgets.limits import BudgetLimits
from gateway.budgets.meter import Meter
from gateway.tasks import TaskOwner
from policy.budget import Amounts, Demand
from policy.prices import Cost, PriceTable, Quote, nano_usd

_log = structlog.get_logger(__name__)

_BEATS_A_LEASE: Final = 3
"""A reservation is renewed so often before it would lapse."""
_LAST_SECONDS: Final = 2.0
"""How long a shutdown waits for what is being settled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestDemand:
    """The most that one request can use. `compile_cpu_ms` is 0 where the artifact is at hand."""

    model: str | None = None
    prompt_tokens: int = 0
    """As often as the prompt is read."""
    completion_tokens: int = 0
    """Of all choices together."""
    context_tokens: int = 0
    """That all choices together can hold: no more than this is ever used."""
    num_attempts: int = 1
    """With those that a repair may add."""
    compile_cpu_ms: int = 0
    contract_digest: str | None = None
    is_stream: bool = False

    @property
    def tokens(self) -> int:
        """Prompt and completion, of all attempts; those after the first have what was answered in their prompt."""
        first = min(self.context_tokens, self.prompt_tokens + self.completion_tokens)
        return first + (self.num_attempts - 1) * self.context_tokens

    def cost(self, quote: Quote) -> Cost | None:
        """The most that it can cost; None where a price is not known."""
        first = quote.upper_bound(
            prompt_tokens=self.prompt_tokens,
            completion_tokens=self.completion_tokens,
            context_tokens=self.context_tokens,
            compile_cpu_us=self.compile_cpu_ms * 1000,
        )
        if first is None or self.num_attempts == 1:
            return first
        again = quote.upper_bound(
            prompt_tokens=self.context_tokens,
            completion_tokens=self.completion_tokens,
            context_tokens=self.context_tokens,
            compile_cpu_us=0,
        )
        if again is None:
            return None
        return Cost(
            prefill=first.prefill,
            decode=first.decode,
            compile=first.compile,
            retry=again.total * (self.num_attempts - 1),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """A reservation that was granted. `headers` are what the caller is told, `quote` the prices that hold for it."""

    lease_id: str
    accounts: Accounts = field(repr=False)
    headers: Mapping[str, str]
    quote: Quote


class BudgetDesk:
    """One gateway's way to its ledger."""

    def __init__(self, ledger: BudgetLedger, limits: BudgetLimits, *, prices: PriceTable, lease_seconds: float) -> None:
        self.ledger = ledger
        self.limits = limits
        self._prices = prices
        self._beat_seconds = lease_seconds / _BEATS_A_LEASE
        self._running: dict[str, tuple[Lease, float]] = {}
        self._tasks = TaskOwner()
        self._settling: set[asyncio.Task[object]] = set()

    async def reserve(self, caller: Caller, demand: RequestDemand) -> Lease:
        """Reserve all of `demand`, or nothing.

        Raises:
            BudgetRefusedError: one of the caller's limits would be passed.
            PriceUnknownError: money is limited, and nobody knows what this costs.
            BudgetUnreadableError, StoreUnavailableError: nobody knows what is allowed.
        """
        accounts = await self.limits.accounts_of(caller)
        quote = self._prices.quote(demand.model)
        cost = demand.cost(quote)
        if cost is None and any(account.limits.limits_money for account in accounts):
            raise PriceUnknownError(demand.model if quote.model is None else None)
        amounts = Amounts(
            tokens=demand.tokens,
            nano_usd=0 if cost is None else nano_usd(cost.total),
            compile_cpu_us=demand.compile_cpu_ms * 1000,
        )
        asked = Demand(amounts=amounts, digest=demand.contract_digest, is_stream=demand.is_stream)
        lease_id = secrets.token_hex(16)
        answer = await self._reserve(accounts, asked, lease_id)
        headers = limit_headers(answer.standings, is_local=answer.is_local)
        if isinstance(answer, Refused):
            raise refused(answer.exhausted, headers)
        lease = Lease(lease_id=lease_id, accounts=accounts, headers=headers, quote=quote)
        self._running[lease_id] = (lease, time.monotonic())
        return lease

    async def settle(self, lease: Lease, meter: Meter) -> None:
        """Replace the reservation by what was used, and end the request's place among the concurrent ones. Whoever
        waits may be cancelled: it is settled all the same."""
        self._running.pop(lease.lease_id, None)
        cost = lease.quote.cost(meter.consumption())
        used = Amounts(
            tokens=meter.tokens,
            nano_usd=0 if cost is None else nano_usd(cost.total),
            compile_cpu_us=meter.compile_cpu_us,
        )
        if self.ledger.never_suspends:
            await self._settled(lease.accounts, lease.lease_id, used)
        else:
            await asyncio.shield(self._settle(lease.accounts, lease.lease_id, used))

    async def standings(self, caller: Caller) -> Standings:
        """What all accounts of a caller have come to.

        Raises:
            BudgetUnreadableError, StoreUnavailableError: nobody knows what is allowed.
        """
        return await self.ledger.standings(await self.limits.accounts_of(caller))

    async def run(self) -> None:
        """Keep what runs from being taken for lost, again and again, until cancelled."""
        while True:
            await asyncio.sleep(self._beat_seconds)
            try:
                await self.beat()
            except Exception:
                _log.exception("reservations could not be renewed")

    async def beat(self) -> None:
        """Renew what has run for a while, and let the ledger do what it has to do now and then."""
        now = time.monotonic()
        for lease_id, (lease, renewed_at) in list(self._running.items()):
            # Most requests are over before their first beat.
            if now - renewed_at >= self._beat_seconds / 2 and lease_id in self._running:
                await self.ledger.renew(lease.accounts, lease_id)
                if lease_id in self._running:
                    self._running[lease_id] = (lease, now)
        await self.ledger.tend()

    async def close(self) -> None:
        """Settle what ends in this moment, then let go of the ledger."""
        if self._settling:
            await asyncio.wait(self._settling, timeout=_LAST_SECONDS)
        await self._tasks.close()
        await self.ledger.close()

    async def _reserve(self, accounts: Accounts, asked: Demand, lease_id: str) -> Granted | Refused:
        if self.ledger.never_suspends:
            return await self.ledger.reserve(accounts, asked, lease_id)
        # In a task of its own: if the caller goes away while it is under way, it may be granted all the same, and
        # somebody has to give it back.
        reserving = self._tasks.start(self.ledger.reserve(accounts, asked, lease_id), name="reserve")
        try:
            return await asyncio.shield(reserving)
        except asyncio.CancelledError:
            self._start(self._give_back(reserving, accounts, lease_id))
            raise

    async def _give_back(self, reserving: "asyncio.Task[Granted | Refused]", accounts: Accounts, lease_id: str) -> None:
        await asyncio.wait({reserving})
        await self.ledger.settle(accounts, lease_id, Amounts())

    def _settle(self, accounts: Accounts, lease_id: str, used: Amounts) -> "asyncio.Task[object]":
        return self._start(self._settled(accounts, lease_id, used))

    async def _settled(self, accounts: Accounts, lease_id: str, used: Amounts) -> None:
        if isinstance(await self.ledger.settle(accounts, lease_id, used), EndedBefore):
            _log.warning("a reservation had lapsed before its request ended: it was charged in full")

    def _start(self, work: Coroutine[Any, Any, object]) -> "asyncio.Task[object]":
        task = self._tasks.start(work, name="settle")
        self._settling.add(task)
        task.add_done_callback(self._settling.discard)
        return task
