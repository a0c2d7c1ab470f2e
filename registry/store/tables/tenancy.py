"""Tenants, their teams and API keys, their ledger and chain of audit, their policy."""

from sqlalchemy import Column, ForeignKey, Integer, PrimaryKeyConstraint, String, Table, Text

from registry.store.columns import UtcDateTime
from registry.store.tables.metadata import METADATA

TENANTS = Table(
    "tenants",
    METADATA,
    Column("id", String(64), primary_key=True),
    Column("created_at", UtcDateTime(), nullable=False),
    Column("name", String(128), nullable=False, server_default=""),
    Column("disabled_at", UtcDateTime()),
)

TEAMS = Table(
    # Never deleted: contracts, budgets and the audit name them.
    "teams",
    METADATA,
    Column("tenant_id", String(64), ForeignKey("tenants.id"), nullable=False),
    Column("name", String(64), nullable=False),
    Column("created_at", UtcDateTime(), nullable=False),
    PrimaryKeyConstraint("tenant_id", "name"),
)

API_KEYS = Table(
    "api_keys",
    METADATA,
    Column("id", String(32), primary_key=True),
    Column("tenant_id", String(64), ForeignKey("tenants.id"), nullable=False, index=True),
    Column("digest", String(64), nullable=False),
    Column("label", String(128), nullable=False),
    Column("created_at", UtcDateTime(), nullable=False),
    Column("expires_at", UtcDateTime()),
    Column("revoked_at", UtcDateTime()),
    Column("principal", String(128), nullable=False, server_default=""),
    Column("team", String(64)),
    Column("roles", String(128), nullable=False, server_default="caller"),
    Column("scopes", String(256)),  # NULL: those of the roles
    Column("rotated_at", UtcDateTime()),
    Column("previous_digest", String(64)),
    Column("previous_until", UtcDateTime()),
    Column("last_used_at", UtcDateTime()),  # written by the minute, never on a request's path
)

LEDGERS = Table(
    # One row a tenant, locked first by whatever writes for it: writes of one tenant come one after the other, and
    # every number that counts within a tenant comes from here.
    "ledgers",
    METADATA,
    Column("tenant", String(64), primary_key=True),
    Column("last_schema_id", Integer, nullable=False),
    Column("audit_sequence", Integer, nullable=False),
    Column("audit_digest", String(64), nullable=False),
)

AUDIT_EVENTS = Table(
    "audit_events",
    METADATA,
    Column("tenant", String(64), nullable=False),
    Column("sequence", Integer, nullable=False),
    Column("at", UtcDateTime(), nullable=False),
    Column("actor", String(128), nullable=False),
    Column("key_id", String(64)),
    Column("action", String(32), nullable=False),
    Column("subject", Text, nullable=False),
    Column("details", Text, nullable=False),
    Column("previous", String(64), nullable=False),
    Column("digest", String(64), nullable=False),
    PrimaryKeyConstraint("tenant", "sequence"),
)

POLICIES = Table(
    "registry_policies",
    METADATA,
    Column("tenant", String(64), primary_key=True),
    Column("policy", Text, nullable=False),
    Column("version", Integer, nullable=False),
    Column("changed_at", UtcDateTime(), nullable=False),
    Column("changed_by", String(128), nullable=False),
)
