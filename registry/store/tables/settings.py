"""What operators set for tenants, as documents: one for each topic and subject."""

from sqlalchemy import Column, Integer, PrimaryKeyConstraint, String, Table, Text

from registry.store.columns import UtcDateTime
from registry.store.tables.metadata import METADATA

TENANT_SETTINGS = Table(
    "tenant_settings",
    METADATA,
    Column("tenant", String(64), nullable=False),
    Column("topic", String(32), nullable=False),
    Column("subject", String(160), nullable=False),  # "" is the tenant as a whole
    Column("document", Text, nullable=False),
    Column("version", Integer, nullable=False),
    Column("changed_at", UtcDateTime(), nullable=False),
    Column("changed_by", String(128), nullable=False),
    PrimaryKeyConstraint("tenant", "topic", "subject"),
)
