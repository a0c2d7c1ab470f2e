"""Stage 6 and 12: what a tenant may spend. Reserved at its upper bound before any work, settled at what it was.

Calling order: `reserve`, work, `settle` exactly once, however the work ends.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from registry.contract import ContractDigest
from registry.identifiers import TenantId


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """The most that one request can spend."""

    tokens: int
    compile_cpu_ms: int
    contract_digest: ContractDigest | None


@dataclass(slots=True, kw_only=True)
class Meter:
    """What one request has spent so far; filled in by whoever spends, read when the request is settled."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    forced_tokens: int = 0
    """A part of `completion_tokens`."""
    compile_cpu_ms: float = 0.0

    @property
    def tokens(self) -> int:
        """What counts against a budget of tokens."""
        return self.prompt_tokens + self.completion_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """A reservation that was granted. `headers` are the tenant's `x-ratelimit-*` after it."""

    lease_id: str
    tenant: TenantId
    headers: Mapping[str, str]


class BudgetLedger(Protocol):
    """Where reservations are kept: in this process, or somewhere that several gateways share."""

    async def reserve(self, tenant: TenantId, demand: Demand) -> Lease:
        """Reserve all of `demand`, or nothing.

        Raises:
            BudgetRefusedError: one of the tenant's limits would be passed.
        """
        ...

    async def settle(self, lease: Lease, meter: Meter) -> None:
        """Replace the reservation by what was spent, and end the request's place among the concurrent ones."""
        ...
