"""A tenant's policy for its own registry: who reads it, who sets it, and what may be written there."""

from typing import Final

from policy.governance import RegistryPolicy
from policy.roles import Action
from registry.compatibility.modes import CompatibilityMode
from registry.errors import InvalidNameError
from registry.identifiers import TenantId
from registry.permissions import alias_name, require
from registry.resolution import Clock, Resolving
from registry.revision import Actor
from registry.store.policies import PolicyStore
from registry.store.records import PolicyRecord

MAX_PROTECTED_ALIASES: Final = 100


class Policies:
    """Reads and sets them. The store keeps who set what, and the audit says so."""

    def __init__(self, store: PolicyStore, resolver: Resolving, *, clock: Clock) -> None:
        self._store = store
        self._resolver = resolver
        self._clock = clock

    async def policy(self, tenant: TenantId) -> PolicyRecord:
        """The policy in force; the default, with version 0, where none was set."""
        return await self._store.policy(tenant)

    async def set_policy(self, actor: Actor, policy: RegistryPolicy, *, expected_version: int | None) -> PolicyRecord:
        """Raises `ForbiddenError`, `InvalidNameError`, `PreconditionFailedError`."""
        require(actor, Action.SET_POLICY)
        if policy.compatibility is not None and policy.compatibility not in set(CompatibilityMode):
            raise InvalidNameError("a compatibility level", policy.compatibility)
        if len(policy.protected_aliases) > MAX_PROTECTED_ALIASES:
            reason = f"at most {MAX_PROTECTED_ALIASES} aliases are protected"
            raise InvalidNameError("a list of aliases", str(len(policy.protected_aliases)), reason=reason)
        for alias in policy.protected_aliases:
            alias_name(alias)
        record = await self._store.set_policy(actor, policy, expected_version=expected_version, at=self._clock())
        self._resolver.forget(actor.tenant)
        return record
