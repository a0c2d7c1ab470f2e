"""What running the registry leaves behind: counts of use, and answers kept to be given again."""

from sqlalchemy import (
    BigInteger,
    Column,
    Date,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
)

from registry.store.columns import UtcDateTime
from registry.store.tables.metadata import METADATA

USAGE = Table(
    "revision_usage",
    METADATA,
    Column("revision_id", String(40), ForeignKey("revisions.revision_id"), nullable=False),
    Column("day", Date, nullable=False),
    Column("num_requests", BigInteger, nullable=False),
    Column("last_used_at", UtcDateTime(), nullable=False),
    PrimaryKeyConstraint("revision_id", "day"),
)

IDEMPOTENCY = Table(
    "idempotency_records",
    METADATA,
    Column("tenant", String(64), nullable=False),
    Column("key_digest", String(64), nullable=False),
    Column("request_digest", String(64), nullable=False),
    Column("lease", String(32), nullable=False),  # who works on it; only that one may finish it
    Column("lease_expires_at", UtcDateTime(), nullable=False),
    Column("expires_at", UtcDateTime(), nullable=False),
    Column("status", Integer),
    Column("headers", Text),
    Column("body", LargeBinary),
    PrimaryKeyConstraint("tenant", "key_digest"),
    Index("ix_idempotency_records_expires_at", "expires_at"),
)
