"""Words that tests of the store share: who acts, and revisions told apart by one number."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from policy.enforcement import EnforcementPolicy
from policy.roles import ALL_ROLES
from registry.contract import AnnotationDigest, ContractDigest, ContractKind
from registry.identifiers import AliasName, ContractName, PrincipalId, RevisionNumber, TenantId
from registry.revision import Actor, RevisionState
from registry.store.audit_log import AuditLog
from registry.store.contracts import ContractStore
from registry.store.database import Database
from registry.store.records import NewRevision, Registered, Sameness

ACME, OTHER = TenantId("acme"), TenantId("other")
ADA = Actor(tenant=ACME, principal=PrincipalId("ada"), roles=ALL_ROLES, key_id="0123456789abcdef")
BOB = Actor(tenant=ACME, principal=PrincipalId("bob"), roles=ALL_ROLES)
EVE = Actor(tenant=OTHER, principal=PrincipalId("eve"), roles=ALL_ROLES)
INVOICE = ContractName("invoice")
PROD = AliasName("prod")
NOON = datetime(2026, 3, 1, 12, 0, 0, 123456, tzinfo=UTC)


def later(seconds: float) -> datetime:
    """Some time after noon."""
    return NOON + timedelta(seconds=seconds)


def digest(content: int) -> ContractDigest:
    """The digest of the content of that number."""
    return ContractDigest(f"sha256:{content:064x}")


def new(content: int, *, name: ContractName = INVOICE, **changes: Any) -> NewRevision:
    """A revision of the content of that number."""
    values: dict[str, Any] = {
        "name": name,
        "kind": ContractKind.JSON_SCHEMA,
        "digest": digest(content),
        "annotation_digest": AnnotationDigest(f"sha256:{0:064x}"),
        "source_text": f'{{"const":{content}}}',
        "source_digest": f"{content:064x}",
        "canonical_text": f'{{"const":{content}}}',
        "policy": EnforcementPolicy(),
        "state": RevisionState.ACTIVE,
    }
    return NewRevision(**(values | changes))


def number(value: int) -> RevisionNumber:
    """A revision's number."""
    return RevisionNumber(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """An open database and the two stores that nearly every test asks."""

    database: Database
    contracts: ContractStore
    audit: AuditLog

    async def register(
        self, content: int, *, actor: Actor = ADA, same: Sameness = Sameness.CONTENT, **changes: Any
    ) -> Registered:
        """Register a content under whatever number comes next."""
        revision = new(content, **changes)
        present = await self.contracts.contract(actor.tenant, revision.name)
        latest = None if present is None else present.latest
        return await self.contracts.register(
            actor, revision, same=same, expected_latest=latest, revive=True, at=later(content)
        )

    async def point(self, to: int, *, actor: Actor = ADA, name: ContractName = INVOICE, alias: str = "prod") -> None:
        """Move an alias, whatever its version."""
        await self.contracts.move_alias(
            actor, name, AliasName(alias), number(to), expected_version=None, must_be_new=False, reason="", at=NOON
        )

    async def actions(self, actor: Actor = ADA) -> list[str]:
        """What the tenant's audit tells, in order."""
        return [event.action.value for event in await self.audit.events(actor.tenant, after=0, limit=1_000)]


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[World]:
    """A world in that database, closed at the end."""
    database = await Database.open(url)
    try:
        yield World(database=database, contracts=ContractStore(database), audit=AuditLog(database))
    finally:
        await database.close()
