"""Where reservations are kept, whoever keeps them: in this process, or in a Redis that several gateways share.

Calling order: `reserve`, work, `renew` now and then, `settle` however the work ends.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from policy.budget import Amounts, Demand, Exhausted, Level, LevelLimits
from policy.periods import Period
from registry.identifiers import TenantId


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountName:
    """Whose account. `subject` is the team or the key's id, "" for the tenant as a whole."""

    tenant: TenantId
    level: Level
    subject: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitedAccount:
    """An account with the limits that hold for it now."""

    name: AccountName
    limits: LevelLimits


Accounts = Sequence[LimitedAccount]
"""All that one request counts for, of one tenant, the narrowest first; all or none of them grant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowStanding:
    """What a window has come to; `taken` includes what is reserved."""

    period: Period
    begin_ms: int
    end_ms: int
    num_requests: int
    taken: Amounts
    num_digests: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What one account has come to, window by window in the order of its limits."""

    account: LimitedAccount
    num_running: int
    num_streams: int
    windows: tuple[WindowStanding, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Standings:
    """All accounts of a request at one moment of the ledger's own clock."""

    at_ms: int
    accounts: tuple[Standing, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Granted:
    """Reserved in every account. `is_local`: by this gateway alone, under its share of the limits."""

    standings: Standings
    is_local: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """Reserved in none."""

    exhausted: Exhausted
    standings: Standings
    is_local: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """What was used stands in the place of what was reserved."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedBefore:
    """The reservation was settled before, or given up for lost and charged in full; nothing was counted again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Postponed:
    """The ledger does not answer; what was used is counted when it does, or else the reservation is charged in full."""


class BudgetLedger(Protocol):
    """Reservations of every account. No method raises for what a ledger in another process does."""

    @property
    def never_suspends(self) -> bool:
        """Whether `reserve` and `settle` are over in one step, so that no cancellation comes into the middle of one."""
        ...

    @property
    def degradation(self) -> str | None:
        """What is wrong with it, for whoever runs the gateway; None: nothing."""
        ...

    async def reserve(self, accounts: Accounts, demand: Demand, lease_id: str) -> Granted | Refused:
        """Reserve all of `demand` in all accounts, or nothing in any."""
        ...

    async def settle(self, accounts: Accounts, lease_id: str, used: Amounts) -> Settled | EndedBefore | Postponed:
        """Replace the reservation by what was used, and end the request's place among the concurrent ones."""
        ...

    async def renew(self, accounts: Accounts, lease_id: str) -> None:
        """Move the reservation's deadline on, if it has not ended."""
        ...

    async def standings(self, accounts: Accounts) -> Standings:
        """What the accounts have come to, without counting a request."""
        ...

    async def tend(self) -> None:
        """What has to be done now and then, whether or not anybody asks: forget what is over, catch up."""
        ...

    async def close(self) -> None:
        """Nothing is asked any more."""
        ...
