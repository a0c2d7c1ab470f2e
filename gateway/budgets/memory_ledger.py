"""Budgets in this process: right for one gateway, and the twin of a ledger that several share."""

from collections.abc import Callable
from datetime import UTC, datetime

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
from policy.account import Account, advance, charge, hold, refusal, renew, settle
from policy.budget import Amounts, Demand, Level
from registry.identifiers import TenantId

LEASE_SECONDS = 30.0


def wall_clock_ms() -> int:
    """Milliseconds since 1970: windows are told to callers, and months begin by the calendar."""
    return round(datetime.now(UTC).timestamp() * 1000)


class MemoryBudgetLedger:
    """`BudgetLedger` over `policy.account`. No call suspends, so a cancelled request is settled all the same.

    What it knows is bounded by the keys, teams and tenants that there are: an account is forgotten when its last
    window is over, never before.
    """

    degradation: str | None = None
    never_suspends = True

    def __init__(
        self,
        *,
        lease_seconds: float = LEASE_SECONDS,
        now_ms: Callable[[], int] = wall_clock_ms,
        on_lost: Callable[[int], None] = lambda _: None,
    ) -> None:
        self._lease_ms = round(lease_seconds * 1000)
        self._now_ms = now_ms
        self._on_lost = on_lost
        self._accounts: dict[AccountName, Account] = {}

    async def reserve(self, accounts: Accounts, demand: Demand, lease_id: str) -> Granted | Refused:
        """See `BudgetLedger`."""
        now = self._now_ms()
        current = self._advanced(accounts, now)
        for limited, account in zip(accounts, current, strict=True):
            found = refusal(account, demand, limited.limits, limited.name.level, now)
            if found is not None:
                return Refused(exhausted=found, standings=_standings(accounts, current, now))
        return Granted(standings=self._held(accounts, current, demand, lease_id, now))

    async def hold(self, accounts: Accounts, demand: Demand, lease_id: str) -> None:
        """Reserve whatever the limits say: somebody else has granted it."""
        now = self._now_ms()
        self._held(accounts, self._advanced(accounts, now), demand, lease_id, now)

    async def settle(self, accounts: Accounts, lease_id: str, used: Amounts) -> Settled | EndedBefore:
        """See `BudgetLedger`."""
        now = self._now_ms()
        outcome: Settled | EndedBefore = EndedBefore()
        for limited in accounts:
            settled = settle(self._accounts.get(limited.name, Account()), lease_id, used, now)
            if settled is not None:
                self._accounts[limited.name] = settled
                outcome = Settled()
        return outcome

    async def charge(self, accounts: Accounts, used: Amounts) -> None:
        """Count a request that was granted elsewhere."""
        now = self._now_ms()
        for limited in accounts:
            account = self._accounts.get(limited.name, Account())
            self._accounts[limited.name] = charge(account, limited.limits, used, now)

    async def renew(self, accounts: Accounts, lease_id: str) -> None:
        """See `BudgetLedger`."""
        deadline = self._now_ms() + self._lease_ms
        for limited in accounts:
            renewed = renew(self._accounts.get(limited.name, Account()), lease_id, deadline)
            if renewed is not None:
                self._accounts[limited.name] = renewed

    async def standings(self, accounts: Accounts) -> Standings:
        """See `BudgetLedger`."""
        now = self._now_ms()
        return _standings(accounts, self._advanced(accounts, now), now)

    async def tend(self) -> None:
        """Forget the accounts in which nothing is left."""
        now = self._now_ms()
        for name in [name for name, account in self._accounts.items() if account.is_over(now)]:
            del self._accounts[name]

    async def close(self) -> None:
        """Nothing to close."""

    def account(self, name: AccountName) -> Account:
        """The account as it was left."""
        return self._accounts.get(name, Account())

    def state_of(self, tenant: TenantId) -> Account:
        """The account of a tenant as a whole."""
        return self.account(AccountName(tenant=tenant, level=Level.TENANT))

    def spent_of(self, tenant: TenantId) -> Amounts:
        """What a tenant has spent in its shortest window, without what is reserved."""
        windows = sorted(self.state_of(tenant).windows.values(), key=lambda window: window.end_ms - window.begin_ms)
        return windows[0].spent if windows else Amounts()

    def _advanced(self, accounts: Accounts, now: int) -> list[Account]:
        return [self._advance(limited, now) for limited in accounts]

    def _advance(self, limited: LimitedAccount, now: int) -> Account:
        advanced = advance(self._accounts.get(limited.name, Account()), limited.limits, now)
        if advanced.num_lost and limited.name.level is Level.TENANT:  # each is lost in every account, and one
            self._on_lost(advanced.num_lost)
        self._accounts[limited.name] = advanced.account
        return advanced.account

    def _held(self, accounts: Accounts, current: list[Account], demand: Demand, lease_id: str, now: int) -> Standings:
        deadline = now + self._lease_ms
        held = [
            hold(account, lease_id, demand, limited.limits, deadline)
            for limited, account in zip(accounts, current, strict=True)
        ]
        self._accounts.update({limited.name: account for limited, account in zip(accounts, held, strict=True)})
        return _standings(accounts, held, now)


def _standings(accounts: Accounts, states: list[Account], now: int) -> Standings:
    return Standings(
        at_ms=now,
        accounts=tuple(_standing(limited, account) for limited, account in zip(accounts, states, strict=True)),
    )


def _standing(limited: LimitedAccount, account: Account) -> Standing:
    windows = (account.windows[limits.period.spelling] for limits in limited.limits.windows)
    return Standing(
        account=limited,
        num_running=len(account.held),
        num_streams=account.num_streams,
        windows=tuple(
            WindowStanding(
                period=window.period,
                begin_ms=window.begin_ms,
                end_ms=window.end_ms,
                num_requests=window.num_requests,
                taken=window.spent.plus(account.reserved),
                num_digests=len(window.digests),
            )
            for window in windows
        ),
    )
