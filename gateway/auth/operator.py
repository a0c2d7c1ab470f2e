"""Who changes tenants and keys, as the audit of the tenant that is changed will name them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from registry.contract import JsonValue
from registry.identifiers import PrincipalId, TenantId

OPERATOR_AT_HAND: Final = PrincipalId("operator-at-hand")
"""Who the audit names where keys are made and revoked by whoever holds the database itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """A person or program, the key that was used, and whose operator it is; the last two None for who is at hand."""

    principal: PrincipalId
    key_id: str | None = None
    tenant: TenantId | None = None

    def told_in(self, tenant: TenantId) -> Mapping[str, JsonValue]:
        """What an event of `tenant` says more: a principal's name means somebody only within its own tenant."""
        return {} if self.tenant in {None, tenant} else {"operator_of": self.tenant}


AT_HAND: Final = Operator(principal=OPERATOR_AT_HAND)
