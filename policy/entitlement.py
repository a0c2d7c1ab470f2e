"""What whoever runs the installation allows a tenant, beyond what the tenant may decide for itself."""

from dataclasses import dataclass
from typing import Final

EVERY_TENANT: Final = "*"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entitlements:
    """Governed contracts cost more processor time and share artifacts between tenants: no tenant grants them itself."""

    governed_tenants: frozenset[str] = frozenset()
    """Names of tenants; `*` for all."""

    def may_govern(self, tenant: str) -> bool:
        """Whether the tenant's contracts may be governed ones, if its own policy wants any."""
        return tenant in self.governed_tenants or EVERY_TENANT in self.governed_tenants


NO_ENTITLEMENTS: Final = Entitlements()
"""What is not granted is not there."""
