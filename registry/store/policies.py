"""Tenants' rules for their own registries."""

from datetime import datetime

from sqlalchemy import insert, select, update

from policy.governance import RegistryPolicy
from registry.audit import AuditAction
from registry.errors import PreconditionFailedError
from registry.identifiers import PrincipalId, TenantId
from registry.revision import Actor
from registry.store.audit_log import append
from registry.store.database import Database
from registry.store.encoding import policy_members, read_policy, write_members
from registry.store.faults import retried
from registry.store.ledger import lock_ledger
from registry.store.records import PolicyRecord
from registry.store.tables.tenancy import POLICIES


class PolicyStore:
    """One policy a tenant."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @retried
    async def policy(self, tenant: TenantId) -> PolicyRecord:
        """The default, with version 0, where none was set."""
        async with self._database.looking() as session:
            row = (await session.execute(select(POLICIES).where(POLICIES.c.tenant == tenant))).one_or_none()
        if row is None:
            return PolicyRecord(policy=RegistryPolicy(), version=0)
        return PolicyRecord(
            policy=read_policy(row.policy),
            version=row.version,
            changed_at=row.changed_at,
            changed_by=PrincipalId(row.changed_by),
        )

    @retried
    async def set_policy(
        self, actor: Actor, policy: RegistryPolicy, *, expected_version: int | None, at: datetime
    ) -> PolicyRecord:
        """Put a policy in the place of the one before; the same policy again is no change.

        Raises:
            PreconditionFailedError: the version is not `expected_version` (0: none was set).
        """
        async with self._database.writing() as session:
            await lock_ledger(session, actor.tenant)
            row = (await session.execute(select(POLICIES).where(POLICIES.c.tenant == actor.tenant))).one_or_none()
            observed = 0 if row is None else int(row.version)
            before = RegistryPolicy() if row is None else read_policy(row.policy)
            if expected_version is not None and observed != expected_version:
                raise PreconditionFailedError(expected=expected_version, observed=observed)
            if row is not None and before == policy:
                return PolicyRecord(
                    policy=policy,
                    version=observed,
                    changed_at=row.changed_at,
                    changed_by=PrincipalId(row.changed_by),
                )
            values = {
                "policy": write_members(policy_members(policy)),
                "version": observed + 1,
                "changed_at": at,
                "changed_by": actor.principal,
            }
            if row is None:
                await session.execute(insert(POLICIES).values(tenant=actor.tenant, **values))
            else:
                await session.execute(update(POLICIES).where(POLICIES.c.tenant == actor.tenant).values(values))
            await append(
                session,
                actor,
                AuditAction.POLICY_SET,
                subject={"tenant": actor.tenant},
                details={
                    "from": policy_members(before),
                    "to": policy_members(policy),
                    "version": observed + 1,
                },
                at=at,
            )
        return PolicyRecord(policy=policy, version=observed + 1, changed_at=at, changed_by=actor.principal)
