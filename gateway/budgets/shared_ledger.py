"""The ledger in Redis, with what holds while Redis is gone: this gateway's share, and afterwards what it owes.

Rates fall to this gateway's part of each; budgets in money, or over long windows, are refused above a small reserve.
All that is said: in the answer's headers, in `/readyz`, in metrics and in the log.
"""

from collections import deque
from dataclasses import dataclass, replace
from typing import Final

import structlog

from gateway.budgets.ledger import (
    Accounts,
    EndedBefore,
    Granted,
    Postponed,
    Refused,
    Settled,
    Standings,
)
from gateway.budgets.local_share import LocalShare
from gateway.budgets.memory_ledger import MemoryBudgetLedger
from gateway.budgets.redis_ledger import RedisBudgetLedger
from gateway.budgets.redis_link import Unanswered
from gateway.metrics import GatewayMetrics
from policy.budget import Amounts, Demand

_log = structlog.get_logger(__name__)

_MAX_OWED: Final = 10_000
"""Ends of requests that wait for Redis; what comes after is charged in full where it was reserved there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Owed:
    """What Redis has to be told. `was_reserved`: it may have the reservation. `was_local`: it has never counted it."""

    accounts: Accounts
    lease_id: str
    used: Amounts
    was_reserved: bool
    was_local: bool


class SharedBudgetLedger:
    """`BudgetLedger` over Redis. Nothing is asked twice within one call: at most one round trip a question."""

    def __init__(
        self, redis: RedisBudgetLedger, local: MemoryBudgetLedger, share: LocalShare, metrics: GatewayMetrics
    ) -> None:
        self._redis, self._local, self._share, self._metrics = redis, local, share, metrics
        self._granted_here: dict[str, bool] = {}
        """Reservations that this gateway granted alone, and whether Redis may have granted them too."""
        self._owed: deque[_Owed] = deque()
        self._is_examined = False

    never_suspends = False

    @property
    def degradation(self) -> str | None:
        """See `BudgetLedger`."""
        return "budgets: Redis does not answer, this gateway grants its share" if self._redis.is_down else None

    async def reserve(self, accounts: Accounts, demand: Demand, lease_id: str) -> Granted | Refused:
        """See `BudgetLedger`."""
        answer = await self._redis.reserve(accounts, demand, lease_id)
        self._tell(answer)
        rates = self._share.rates(accounts)
        match answer:
            case Granted():
                await self._local.hold(rates, demand, lease_id)
                return answer
            case Refused():
                return answer
            case Unanswered(may_have_run=may_have_run):
                local = await self._local.reserve((*rates, *self._share.reserves(accounts)), demand, lease_id)
                if isinstance(local, Granted):
                    self._granted_here[lease_id] = may_have_run
                elif may_have_run:
                    self._owe(accounts, lease_id, Amounts(), was_reserved=True, was_local=False)
                return replace(local, is_local=True)

    async def settle(self, accounts: Accounts, lease_id: str, used: Amounts) -> Settled | EndedBefore | Postponed:
        """See `BudgetLedger`."""
        local = await self._local.settle(self._here(accounts), lease_id, used)
        may_have_run = self._granted_here.pop(lease_id, None)
        if may_have_run is not None:
            # Settled twice, it is no longer among those granted here, and Redis knows nothing of it.
            if isinstance(local, Settled):
                self._owe(accounts, lease_id, used, was_reserved=may_have_run, was_local=True)
            return Postponed()
        answer = await self._redis.settle(accounts, lease_id, used)
        self._tell(answer)
        if isinstance(answer, Unanswered):
            self._owe(accounts, lease_id, used, was_reserved=True, was_local=False)
            return Postponed()
        return answer

    async def renew(self, accounts: Accounts, lease_id: str) -> None:
        """See `BudgetLedger`."""
        await self._local.renew(self._here(accounts), lease_id)
        if lease_id not in self._granted_here:
            self._tell(await self._redis.renew(accounts, lease_id))

    async def standings(self, accounts: Accounts) -> Standings:
        """See `BudgetLedger`."""
        answer = await self._redis.standings(accounts)
        self._tell(answer)
        if isinstance(answer, Unanswered):
            return await self._local.standings(self._share.rates(accounts))
        return answer

    async def tend(self) -> None:
        """Tell Redis what it has not heard, until it does not answer."""
        await self._local.tend()
        await self._examine()
        while self._owed:
            owed = self._owed.popleft()
            if not await self._pay(owed):
                break
        self._metrics.budget_owed.set(len(self._owed))

    async def close(self) -> None:
        """Close the connections. What is owed then is charged in full, where it was reserved, when it lapses."""
        await self.tend()
        await self._redis.close()

    async def _examine(self) -> None:
        """Once: a ledger that can be evicted is a limit that may be lifted."""
        if self._is_examined:
            return
        may_evict = await self._redis.may_evict()
        self._is_examined = isinstance(may_evict, bool)
        if may_evict is True:
            _log.warning(
                "the Redis of budgets evicts what is in use when its memory is full, and evicted budgets begin anew: "
                "set its maxmemory-policy to noeviction, or give budgets a Redis of their own"
            )

    async def _pay(self, owed: _Owed) -> bool:
        if owed.was_reserved:
            settled = await self._redis.settle(owed.accounts, owed.lease_id, owed.used)
            self._tell(settled)
            if isinstance(settled, Unanswered):
                self._owed.appendleft(owed)  # told again, it changes nothing
                return False
            if isinstance(settled, Settled):
                return True
        if not owed.was_local:
            return True
        unanswered = await self._redis.charge(owed.accounts, owed.used)
        self._tell(unanswered)
        if unanswered is None:
            return True
        if unanswered.may_have_run:
            # Told again, it might count twice.
            _log.warning("what was granted without Redis may not have been counted there")
        else:
            self._owed.appendleft(replace(owed, was_reserved=False))
        return False

    def _here(self, accounts: Accounts) -> Accounts:
        return (*self._share.rates(accounts), *self._share.reserves(accounts))

    def _owe(self, accounts: Accounts, lease_id: str, used: Amounts, *, was_reserved: bool, was_local: bool) -> None:
        if len(self._owed) >= _MAX_OWED:
            _log.error("too much waits for Redis: the end of a request is not counted there")
            return
        self._owed.append(
            _Owed(accounts=accounts, lease_id=lease_id, used=used, was_reserved=was_reserved, was_local=was_local)
        )

    def _tell(self, answer: object) -> None:
        why = str(answer.why) if isinstance(answer, Unanswered) else "answered"
        self._metrics.budget_questions.labels(outcome=why).inc()
        self._metrics.budget_degraded.set(int(self._redis.is_down))
