"""Contracts, their revisions, and the names that move between those."""

from sqlalchemy import (
    Boolean,
    Column,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from registry.store.columns import UtcDateTime, Utf8
from registry.store.tables.metadata import METADATA

CONTRACTS = Table(
    "contracts",
    METADATA,
    Column("tenant", String(64), nullable=False),
    Column("name", String(128), nullable=False),
    Column("kind", String(32), nullable=False),
    Column("team", String(64)),
    Column("visibility", String(16), nullable=False),
    Column("contract_class", String(16), nullable=False),
    Column("compatibility", String(32)),
    Column("description", Text, nullable=False),
    Column("created_at", UtcDateTime(), nullable=False),
    Column("created_by", String(128), nullable=False),
    Column("version", Integer, nullable=False),
    Column("latest", Integer, nullable=False),
    Column("alias_floor", Integer, nullable=False),  # no alias made later starts at or below a version once seen
    Column("tombstoned_at", UtcDateTime()),
    PrimaryKeyConstraint("tenant", "name"),
    Index(
        "ix_contracts_shared",
        "tenant",
        "name",
        sqlite_where=text("visibility = 'shared' AND tombstoned_at IS NULL"),
        postgresql_where=text("visibility = 'shared' AND tombstoned_at IS NULL"),
    ),
)

REVISIONS = Table(
    "revisions",
    METADATA,
    Column("revision_id", String(40), primary_key=True),
    Column("tenant", String(64), nullable=False),
    Column("name", String(128), nullable=False),
    Column("number", Integer, nullable=False),
    Column("schema_id", Integer, nullable=False),
    Column("kind", String(32), nullable=False),
    Column("digest", String(80), nullable=False),
    Column("annotation_digest", String(80), nullable=False),
    Column("source_digest", String(80), nullable=False),
    Column("policy_digest", String(64), nullable=False),
    Column("policy", Text, nullable=False),
    Column("dialect", String(256)),
    Column("transformations", Utf8(), nullable=False),
    Column("profile", Text, nullable=False),
    Column("dependencies", Utf8(), nullable=False),
    Column("author", String(128), nullable=False),
    Column("message", Text, nullable=False),
    Column("created_at", UtcDateTime(), nullable=False),
    Column("source_text", Utf8(), nullable=False),
    Column("canonical_text", Utf8(), nullable=False),
    UniqueConstraint("tenant", "name", "number", name="uq_revisions_number"),
    ForeignKeyConstraint(["tenant", "name"], ["contracts.tenant", "contracts.name"], name="fk_revisions_contract"),
    Index("ix_revisions_content", "tenant", "name", "digest", "annotation_digest", "policy_digest", "number"),
    Index("ix_revisions_source", "tenant", "name", "source_digest", "digest", "number"),
    Index("ix_revisions_digest", "tenant", "digest", "created_at"),
    Index("ix_revisions_schema_id", "tenant", "schema_id"),
)

STATUSES = Table(
    # What may change about a revision stands apart from it, so that triggers can forbid every change to the rest.
    "revision_statuses",
    METADATA,
    Column("revision_id", String(40), ForeignKey("revisions.revision_id"), primary_key=True),
    Column("state", String(16), nullable=False),
    Column("changed_at", UtcDateTime(), nullable=False),
    Column("changed_by", String(128), nullable=False),
    Column("reason", Text, nullable=False),
    Column("tombstoned_at", UtcDateTime()),
    # Copies of its contract's visibility and its own digest: who looks for a digest among what is shared must not
    # touch, nor be slowed by, what is private.
    Column("is_shared", Boolean, nullable=False),
    Column("digest", String(80), nullable=False),
    Column("created_at", UtcDateTime(), nullable=False),
    Index("ix_revision_statuses_shared", "digest", "is_shared", "created_at"),
)

DEPENDENCIES = Table(
    "revision_dependencies",
    METADATA,
    Column("revision_id", String(40), ForeignKey("revisions.revision_id"), nullable=False),
    Column("dependency_id", String(40), ForeignKey("revisions.revision_id"), nullable=False, index=True),
    PrimaryKeyConstraint("revision_id", "dependency_id"),
)

SCHEMA_IDS = Table(
    "schema_ids",
    METADATA,
    Column("tenant", String(64), nullable=False),
    Column("kind", String(32), nullable=False),
    Column("source_digest", String(80), nullable=False),
    Column("schema_id", Integer, nullable=False),
    PrimaryKeyConstraint("tenant", "kind", "source_digest"),
    UniqueConstraint("tenant", "schema_id", name="uq_schema_ids_id"),
)

ALIASES = Table(
    "aliases",
    METADATA,
    Column("tenant", String(64), nullable=False),
    Column("name", String(128), nullable=False),
    Column("alias", String(64), nullable=False),
    Column("number", Integer, nullable=False),
    Column("revision_id", String(40), ForeignKey("revisions.revision_id"), nullable=False, index=True),
    Column("version", Integer, nullable=False),
    Column("moved_at", UtcDateTime(), nullable=False),
    Column("moved_by", String(128), nullable=False),
    Column("previous", Integer),
    PrimaryKeyConstraint("tenant", "name", "alias"),
    ForeignKeyConstraint(["tenant", "name"], ["contracts.tenant", "contracts.name"], name="fk_aliases_contract"),
)

PROMOTIONS = Table(
    "promotions",
    METADATA,
    Column("promotion_id", String(40), primary_key=True),
    Column("tenant", String(64), nullable=False),
    Column("name", String(128), nullable=False),
    Column("alias", String(64), nullable=False),
    Column("number", Integer, nullable=False),
    Column("state", String(16), nullable=False),
    Column("proposed_by", String(128), nullable=False),
    Column("proposed_at", UtcDateTime(), nullable=False),
    Column("alias_version", Integer),
    Column("reason", Text, nullable=False),
    Column("decided_by", String(128)),
    Column("decided_at", UtcDateTime()),
    ForeignKeyConstraint(["tenant", "name"], ["contracts.tenant", "contracts.name"], name="fk_promotions_contract"),
    Index("ix_promotions_listed", "tenant", "name", "proposed_at", "promotion_id"),
    Index("ix_promotions_state", "tenant", "state", "proposed_at", "promotion_id"),
)
