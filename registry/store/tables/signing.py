"""Keys that tenants trust, and signatures made with them."""

from sqlalchemy import Column, ForeignKey, ForeignKeyConstraint, PrimaryKeyConstraint, String, Table, Text

from registry.store.columns import UtcDateTime
from registry.store.tables.metadata import METADATA

SIGNING_KEYS = Table(
    "signing_keys",
    METADATA,
    Column("tenant", String(64), nullable=False),
    Column("key_id", String(64), nullable=False),
    Column("public_key", String(64), nullable=False),
    Column("label", Text, nullable=False),
    Column("principal", String(128), nullable=False),
    Column("added_at", UtcDateTime(), nullable=False),
    Column("expires_at", UtcDateTime()),
    Column("revoked_at", UtcDateTime()),
    Column("revocation_reason", Text, nullable=False),
    PrimaryKeyConstraint("tenant", "key_id"),
)

SIGNATURES = Table(
    "signatures",
    METADATA,
    Column("revision_id", String(40), ForeignKey("revisions.revision_id"), nullable=False),
    Column("key_id", String(64), nullable=False),
    Column("tenant", String(64), nullable=False),
    Column("signature", String(128), nullable=False),
    Column("signed_by", String(128), nullable=False),
    Column("signed_at", UtcDateTime(), nullable=False),
    PrimaryKeyConstraint("revision_id", "key_id"),
    ForeignKeyConstraint(
        ["tenant", "key_id"], ["signing_keys.tenant", "signing_keys.key_id"], name="fk_signatures_signing_key"
    ),
)
