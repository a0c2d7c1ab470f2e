"""A registry of a test's own: a fresh database, the services over it, a clock that the test moves, and who acts."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from gateway.compatibility.judges import GatewayJudges
from policy.entitlement import EVERY_TENANT, Entitlements
from policy.governance import RegistryPolicy
from policy.roles import ALL_ROLES, Role
from registry.audit import AuditEvent
from registry.audit_chain import Intact, verify_chain
from registry.catalogue import Catalogue, open_catalogue
from registry.compatibility.comparison import Comparison, ContractText, compare
from registry.contract import ContractKind
from registry.identifiers import ContractName, PrincipalId, RevisionNumber, SigningKeyId, TeamName, TenantId
from registry.naming import ByNumber
from registry.parsing import parse_json
from registry.public_keys import public_key_text
from registry.registration import Registration, RegistrationOutcome
from registry.revision import Actor, Revision
from registry.signatures import sign
from registry.store.bounds import MAX_EVENTS
from registry.store.database import Database

ACME, OTHER = TenantId("acme"), TenantId("other")


def an_actor(principal: str, *roles: Role, tenant: TenantId = ACME, team: str | None = None) -> Actor:
    """Somebody with roles."""
    return Actor(
        tenant=tenant,
        principal=PrincipalId(principal),
        roles=frozenset(roles),
        team=None if team is None else TeamName(team),
        key_id=f"key-of-{principal}",
    )


ANN = an_actor("ann", Role.AUTHOR)
BEA = an_actor("bea", Role.APPROVER)
CARL = an_actor("carl", Role.CALLER)
DAN = an_actor("dan", Role.AUTHOR, Role.APPROVER)
OLGA = an_actor("olga", Role.OPERATOR)
ZOE = an_actor("zoe", *ALL_ROLES, tenant=OTHER)


class InProcessComparer:
    """The comparison itself, with the judge of final validation, in this process."""

    def __init__(self) -> None:
        self.num_comparisons = 0

    async def compare(self, old: tuple[ContractKind, str], new: tuple[ContractKind, str]) -> Comparison:
        """Both answers."""
        self.num_comparisons += 1
        before, after = ContractText(kind=old[0], text=old[1]), ContractText(kind=new[0], text=new[1])
        return compare(before, after, GatewayJudges())


class MovedClock:
    """Goes on by a millisecond each time it is read, and otherwise when the test says so."""

    def __init__(self) -> None:
        self.now = datetime(2026, 3, 1, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.now += timedelta(milliseconds=1)
        return self.now

    def forward(self, **by: float) -> None:
        """Let time pass: `days`, `hours`, `seconds` …"""
        self.now += timedelta(**by)


@dataclass
class World:
    """One registry."""

    database: Database
    catalogue: Catalogue
    comparer: InProcessComparer
    clock: "MovedClock"
    keys: dict[SigningKeyId, Ed25519PrivateKey] = field(default_factory=dict)

    async def register(self, definition: Any, *, actor: Actor = ANN, name: str = "invoice", **said: Any) -> Revision:
        """Register a JSON Schema; the revision."""
        outcome = await self.outcome(definition, actor=actor, name=name, **said)
        assert outcome.stored is not None
        return outcome.stored.revision

    async def outcome(
        self,
        definition: Any,
        *,
        actor: Actor = ANN,
        name: str = "invoice",
        options: Mapping[str, Any] | None = None,
        **said: Any,
    ) -> RegistrationOutcome:
        """Register a JSON Schema; all that became of it."""
        return await self.catalogue.registrar.register(actor, asked(definition, name=name, **said), **(options or {}))

    async def set_policy(self, *, actor: Actor = OLGA, **rules: Any) -> None:
        """Set the tenant's policy, whatever it was."""
        await self.catalogue.policies.set_policy(actor, RegistryPolicy(**rules), expected_version=None)

    async def trust(self, *, actor: Actor = OLGA, expires_at: datetime | None = None) -> SigningKeyId:
        """Trust a new key, whose private half the test holds."""
        private = Ed25519PrivateKey.generate()
        raw = private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
        key = await self.catalogue.signing.trust_key(
            actor, public_key_text(raw), label="release", principal=PrincipalId("bea"), expires_at=expires_at
        )
        self.keys[key.key_id] = private
        return key.key_id

    async def sign(self, number: int, key_id: SigningKeyId, *, actor: Actor = ANN, name: str = "invoice") -> None:
        """Sign a revision with a key that `trust` has made."""
        payload = await self.catalogue.signing.payload(actor.tenant, name, RevisionNumber(number))
        signature = sign(self.keys[key_id], payload)
        await self.catalogue.signing.add_signature(
            actor, name, RevisionNumber(number), key_id=key_id, signature=signature
        )

    async def events(self, tenant: TenantId = ACME) -> list[AuditEvent]:
        """The tenant's whole chain, which is sound."""
        found: list[AuditEvent] = []
        while page := await self.catalogue.audit.events(tenant, after=len(found), limit=MAX_EVENTS):
            found.extend(page)
        head = await self.catalogue.audit.head(tenant)
        verdict = verify_chain(found, head, tenant=tenant)
        assert isinstance(verdict, Intact), verdict
        assert verdict.last == (0 if head is None else head.sequence)
        return found


def asked(definition: Any, *, name: str = "invoice", **said: Any) -> Registration:
    """What an author asks for: a JSON-like value, read as a caller's is."""
    value = parse_json(json.dumps(definition), max_bytes=2**20, max_nesting=64)
    return Registration(name=name, definition=value, **{"kind": ContractKind.JSON_SCHEMA, **said})


def pin(name: str, number: int = 1) -> ByNumber:
    """A pinned revision of one's own."""
    return ByNumber(name=ContractName(name), number=RevisionNumber(number))


default_url = "sqlite+aiosqlite://"
"""In memory; the fixture `each_database` puts a test's own database here."""


@asynccontextmanager
async def a_registry(url: str | None = None, *, governed: str = EVERY_TENANT) -> AsyncIterator[World]:
    """A registry that is gone afterwards."""
    database = await Database.open(default_url if url is None else url)
    try:
        comparer, clock = InProcessComparer(), MovedClock()
        catalogue = open_catalogue(
            database, comparer, clock=clock, entitlements=Entitlements(governed_tenants=frozenset({governed}))
        )
        yield World(database=database, catalogue=catalogue, comparer=comparer, clock=clock)
    finally:
        await database.close()


def closed(**properties: Any) -> dict[str, Any]:
    """An object with these members, all required, and no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": sorted(properties),
        "additionalProperties": False,
    }


STRING, INTEGER = {"type": "string"}, {"type": "integer"}
