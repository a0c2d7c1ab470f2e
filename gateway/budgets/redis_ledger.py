"""Budgets that several gateways share: the accounts of `policy.account`, kept by scripts in one Redis."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from gateway.budgets.ledger import (
    AccountName,
    Accounts,
    EndedBefore,
    Granted,
    LimitedAccount,
    Refused,
    Settled,
    Standing,
    Standings,
    WindowStanding,
)
from gateway.budgets.redis_link import RedisLink, Unanswered
from gateway.budgets.scripts import CHARGE, MEMORY, NAMES, RENEW, RESERVE, SETTLE
from policy.account import exhausted
from policy.budget import Amounts, Budget, Demand, Exhausted, LevelLimits, WindowLimits

_BUDGETS = {
    b"requests": Budget.REQUESTS,
    b"tokens": Budget.TOKENS,
    b"nano_usd": Budget.MONEY,
    b"compile_cpu_us": Budget.COMPILE_CPU_MS,
    b"digests": Budget.UNIQUE_DIGESTS,
    b"concurrent_requests": Budget.CONCURRENT_REQUESTS,
    b"concurrent_streams": Budget.CONCURRENT_STREAMS,
}
"""As the scripts call them."""


class RedisBudgetLedger:
    """As `BudgetLedger`, with one more answer: that Redis gave none."""

    def __init__(
        self,
        link: RedisLink,
        *,
        lease_seconds: float,
        now_ms: Callable[[], int] | None = None,
        on_lost: Callable[[int], None] = lambda _: None,
    ) -> None:
        self._link = link
        self._lease_ms = round(lease_seconds * 1000)
        self._now_ms = now_ms
        self._on_lost = on_lost

    @property
    def is_down(self) -> bool:
        """Whether it has not answered lately."""
        return self._link.is_down

    async def reserve(self, accounts: Accounts, demand: Demand, lease_id: str) -> Granted | Refused | Unanswered:
        """In one round trip."""
        return await self._reserve(accounts, demand, lease_id)

    async def standings(self, accounts: Accounts) -> Standings | Unanswered:
        """Likewise, without counting a request."""
        outcome = await self._reserve(accounts, Demand(), "")
        return outcome.standings if isinstance(outcome, Granted | Refused) else outcome

    async def settle(self, accounts: Accounts, lease_id: str, used: Amounts) -> Settled | EndedBefore | Unanswered:
        """In one round trip; repeated, it changes nothing."""
        arguments = [self._now(), lease_id, *_amounts(used)]
        answer = await self._link.run(SETTLE, _names(accounts), arguments)
        if isinstance(answer, Unanswered):
            return answer
        return Settled() if answer.value else EndedBefore()

    async def charge(self, accounts: Accounts, used: Amounts) -> Unanswered | None:
        """Count a request that was granted elsewhere; repeated, it counts again."""
        limits = [argument for limited in accounts for argument in _limits(limited.limits)]
        answer = await self._link.run(CHARGE, _names(accounts), [self._now(), *_amounts(used), *limits])
        return answer if isinstance(answer, Unanswered) else None

    async def renew(self, accounts: Accounts, lease_id: str) -> Unanswered | None:
        """Move a deadline on."""
        answer = await self._link.run(RENEW, _names(accounts), [self._now(), lease_id, self._lease_ms])
        return answer if isinstance(answer, Unanswered) else None

    async def may_evict(self) -> bool | Unanswered:
        """Whether Redis forgets accounts that are in use when its memory is full."""
        answer = await self._link.run(MEMORY, [], [])
        if isinstance(answer, Unanswered):
            return answer
        members = dict(line.partition(":")[::2] for line in answer.value.decode().splitlines())
        return members.get("maxmemory", "0") != "0" and members.get("maxmemory_policy") != "noeviction"

    async def close(self) -> None:
        """Close the connections."""
        await self._link.close()

    def _now(self) -> str | int:
        return "" if self._now_ms is None else self._now_ms()

    async def _reserve(self, accounts: Accounts, demand: Demand, lease_id: str) -> Granted | Refused | Unanswered:
        arguments: list[str | int] = [self._now(), lease_id, self._lease_ms, *_amounts(demand.amounts)]
        arguments += [int(demand.is_stream), demand.digest or ""]
        for limited in accounts:
            arguments += _limits(limited.limits)
        answer = await self._link.run(RESERVE, _names(accounts), arguments)
        if isinstance(answer, Unanswered):
            return answer
        at_ms, num_lost, refused, numbers = answer.value
        if num_lost:
            self._on_lost(num_lost)
        standings = Standings(
            at_ms=at_ms,
            accounts=tuple(_standing(limited, row) for limited, row in zip(accounts, numbers, strict=True)),
        )
        if not refused:
            return Granted(standings=standings)
        return Refused(exhausted=_exhausted(_Refusal(*refused), standings), standings=standings)


@dataclass(frozen=True, slots=True)
class _Refusal:
    """As the script says it; places count from 1, and place 0 is no window."""

    account: int
    window: int
    budget: bytes
    observed: int
    added: int


def _exhausted(refusal: _Refusal, standings: Standings) -> Exhausted:
    standing, budget = standings.accounts[refusal.account - 1], _BUDGETS[refusal.budget]
    limits, level = standing.account.limits, standing.account.name.level
    if refusal.window == 0:
        is_stream = budget is Budget.CONCURRENT_STREAMS
        limit = limits.max_concurrent_streams if is_stream else limits.max_concurrent_requests
        assert limit is not None
        return Exhausted(
            level=level,
            period=None,
            budget=budget,
            limit=limit,
            observed=refusal.observed,
            resets_in_ms=None,
            fits_never=limit == 0,
        )
    window = limits.windows[refusal.window - 1]
    return exhausted(
        level=level,
        period=window.period,
        budget=budget,
        limit=dict(zip(_BUDGETS, _window(window)[1:], strict=False))[refusal.budget],
        observed=refusal.observed,
        added=refusal.added,
        resets_in_ms=standing.windows[refusal.window - 1].end_ms - standings.at_ms,
    )


def _standing(limited: LimitedAccount, row: list[int]) -> Standing:
    num_running, num_streams, *numbers = row
    rows = [numbers[at : at + 7] for at in range(0, len(numbers), 7)]
    return Standing(
        account=limited,
        num_running=num_running,
        num_streams=num_streams,
        windows=tuple(
            WindowStanding(
                period=window.period,
                begin_ms=begin,
                end_ms=end,
                num_requests=requests,
                taken=Amounts(tokens=tokens, nano_usd=nano_usd, compile_cpu_us=compile_cpu_us),
                num_digests=digests,
            )
            for window, (begin, end, requests, tokens, nano_usd, compile_cpu_us, digests) in zip(
                limited.limits.windows, rows, strict=True
            )
        ),
    )


def _amounts(amounts: Amounts) -> list[str | int]:
    return [amounts.tokens, amounts.nano_usd, amounts.compile_cpu_us]


def _limits(limits: LevelLimits) -> list[str | int]:
    found: list[str | int] = [_sent(limits.max_concurrent_requests), _sent(limits.max_concurrent_streams)]
    found.append(len(limits.windows))
    for window in limits.windows:
        found += _window(window)
    return found


def _window(window: WindowLimits) -> list[Any]:
    """In the order of `_BUDGETS`, after the window's name."""
    compile_cpu_ms = window.max_compile_cpu_ms
    return [
        window.period.spelling,
        _sent(window.max_requests),
        _sent(window.max_tokens),
        _sent(window.max_nano_usd),
        _sent(None if compile_cpu_ms is None else compile_cpu_ms * 1000),
        _sent(window.max_unique_digests),
    ]


def _sent(limit: int | None) -> int:
    return -1 if limit is None else limit


def _names(accounts: Accounts) -> list[str]:
    return [f"{prefix_of(limited.name)}:{name}" for limited in accounts for name in NAMES]


def prefix_of(name: AccountName) -> str:
    """What all names of an account begin with. The tenant is the hash tag: one slot of a cluster has all of it."""
    return f"schemagate:budget:{{{quote(name.tenant, safe='')}}}:{name.level}:{quote(name.subject, safe='')}"
