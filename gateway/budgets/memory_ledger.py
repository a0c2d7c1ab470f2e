"""Budgets in this process: right for one gateway, and the twin of a ledger that several share."""

import math
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping

from gateway.budgets.ledger import Demand, Lease, Meter
from gateway.errors import BudgetRefusedError
from gateway.settings import GatewaySettings
from policy.budget import Budget, BudgetLimits, BudgetState, Exhausted, Usage, reserve, settle
from policy.budget import Demand as PolicyDemand
from registry.identifiers import TenantId

WINDOW_SECONDS = 60.0
_MAX_TENANTS = 10_000
"""States of tenants that spend nothing now are dropped beyond this, the least recently seen first."""

_SPOKEN = {
    Budget.REQUESTS: "requests per minute",
    Budget.TOKENS: "tokens per minute",
    Budget.COMPILE_CPU_MS: "milliseconds of compiling per minute",
    Budget.UNIQUE_DIGESTS: "different contracts per minute",
    Budget.CONCURRENT_REQUESTS: "requests at one moment",
}


class MemoryBudgetLedger:
    """`BudgetLedger` over `policy.budget`. No call suspends, so a cancelled request is settled all the same."""

    def __init__(self, limits: BudgetLimits, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._limits = limits
        self._monotonic = monotonic
        self._states: OrderedDict[TenantId, BudgetState] = OrderedDict()

    @classmethod
    def from_settings(cls, settings: GatewaySettings) -> "MemoryBudgetLedger":
        """The same limits for every tenant, in windows of a minute."""
        limits = BudgetLimits(
            window_seconds=WINDOW_SECONDS,
            max_requests=settings.requests_per_minute,
            max_tokens=settings.tokens_per_minute,
            max_compile_cpu_ms=settings.compile_cpu_ms_per_minute,
            max_unique_digests=settings.unique_contracts_per_minute,
            max_concurrent_requests=settings.max_concurrent_requests,
        )
        return cls(limits)

    async def reserve(self, tenant: TenantId, demand: Demand) -> Lease:
        """See `BudgetLedger`."""
        now = self._monotonic()
        wanted = PolicyDemand(
            reservation_id=secrets.token_hex(8),
            num_tokens=demand.tokens,
            compile_cpu_ms=demand.compile_cpu_ms,
            digest=demand.contract_digest,
        )
        answer = reserve(self._states.get(tenant, BudgetState()), wanted, self._limits, now_seconds=now)
        self._keep(tenant, answer.state)
        headers = self._headers(answer.state, now)
        if isinstance(answer, Exhausted):
            raise _refusal(answer, headers)
        return Lease(lease_id=wanted.reservation_id, tenant=tenant, headers=headers)

    async def settle(self, lease: Lease, meter: Meter) -> None:
        """See `BudgetLedger`."""
        usage = Usage(num_tokens=meter.tokens, compile_cpu_ms=meter.compile_cpu_ms)
        state = self._states[lease.tenant]
        self._keep(lease.tenant, settle(state, lease.lease_id, usage, self._limits, now_seconds=self._monotonic()))

    def state_of(self, tenant: TenantId) -> BudgetState:
        """What a tenant has spent and reserved."""
        return self._states.get(tenant, BudgetState())

    def _keep(self, tenant: TenantId, state: BudgetState) -> None:
        self._states[tenant] = state
        self._states.move_to_end(tenant)
        if len(self._states) > _MAX_TENANTS:
            idle = next((name for name, each in self._states.items() if not each.reserved), None)
            if idle is not None and idle != tenant:
                del self._states[idle]

    def _headers(self, state: BudgetState, now: float) -> Mapping[str, str]:
        limits = self._limits
        reset = _duration(max(0.0, state.window_start_seconds + limits.window_seconds - now))
        spent_tokens = state.num_tokens + state.num_reserved_tokens
        return {
            "x-ratelimit-limit-requests": str(limits.max_requests),
            "x-ratelimit-remaining-requests": str(max(0, limits.max_requests - state.num_requests)),
            "x-ratelimit-reset-requests": reset,
            "x-ratelimit-limit-tokens": str(limits.max_tokens),
            "x-ratelimit-remaining-tokens": str(max(0, limits.max_tokens - spent_tokens)),
            "x-ratelimit-reset-tokens": reset,
        }


def _refusal(answer: Exhausted, headers: Mapping[str, str]) -> BudgetRefusedError:
    will_ever_fit = math.isfinite(answer.retry_after_seconds)
    advice = "ask again later" if will_ever_fit else "this request alone is larger than that"
    return BudgetRefusedError(
        f"at most {answer.limit:g} {_SPOKEN[answer.which]}, and this would be {answer.observed:g}: {advice}",
        budget=str(answer.which),
        limit=answer.limit,
        observed=answer.observed,
        retry_after_seconds=answer.retry_after_seconds if will_ever_fit else None,
        headers=headers,
    )


def _duration(seconds: float) -> str:
    """As OpenAI spells it: `350ms`, `12s`, `1m0s`."""
    if 0 < seconds < 1:
        return f"{math.ceil(seconds * 1000)}ms"
    whole = math.ceil(seconds)
    return f"{whole // 60}m{whole % 60}s" if whole >= 60 else f"{whole}s"
