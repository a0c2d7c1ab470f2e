"""Contracts, revisions, their statuses, dependencies and signatures; aliases and promotions."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "contracts",
        sa.Column("tenant", sa.String(64), nullable=False),
        sa.Column("name", sa.String(128), nullable=False),
        sa.Column("kind", sa.String(32), nullable=False),
        sa.Column("team", sa.String(64)),
        sa.Column("visibility", sa.String(16), nullable=False),
        sa.Column("contract_class", sa.String(16), nullable=False),
        sa.Column("compatibility", sa.String(32)),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_by", sa.String(128), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("latest", sa.Integer(), nullable=False),
        sa.Column("alias_floor", sa.Integer(), nullable=False),
        sa.Column("tombstoned_at", sa.DateTime(timezone=True)),
        sa.PrimaryKeyConstraint("tenant", "name", name="pk_contracts"),
    )
    op.create_index(
        "ix_contracts_shared",
        "contracts",
        ["tenant", "name"],
        sqlite_where=sa.text("visibility = 'shared' AND tombstoned_at IS NULL"),
        postgresql_where=sa.text("visibility = 'shared' AND tombstoned_at IS NULL"),
    )
    op.create_table(
        "revisions",
        sa.Column("revision_id", sa.String(40), nullable=False),
        sa.Column("tenant", sa.String(64), nullable=False),
        sa.Column("name", sa.String(128), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("schema_id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(32), nullable=False),
        sa.Column("digest", sa.String(80), nullable=False),
        sa.Column("annotation_digest", sa.String(80), nullable=False),
        sa.Column("source_digest", sa.String(80), nullable=False),
        sa.Column("policy_digest", sa.String(64), nullable=False),
        sa.Column("policy", sa.Text(), nullable=False),
        sa.Column("dialect", sa.String(256)),
        sa.Column("transformations", sa.LargeBinary(), nullable=False),
        sa.Column("profile", sa.Text(), nullable=False),
        sa.Column("dependencies", sa.LargeBinary(), nullable=False),
        sa.Column("author", sa.String(128), nullable=False),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("source_text", sa.LargeBinary(), nullable=False),
        sa.Column("canonical_text", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant", "name"], ["contracts.tenant", "contracts.name"], name="fk_revisions_contract"
        ),
        sa.PrimaryKeyConstraint("revision_id", name="pk_revisions"),
        sa.UniqueConstraint("tenant", "name", "number", name="uq_revisions_number"),
    )
    op.create_index(
        "ix_revisions_content",
        "revisions",
        ["tenant", "name", "digest", "annotation_digest", "policy_digest", "number"],
    )
    op.create_index("ix_revisions_digest", "revisions", ["tenant", "digest", "created_at"])
    op.create_index("ix_revisions_schema_id", "revisions", ["tenant", "schema_id"])
    op.create_index("ix_revisions_source", "revisions", ["tenant", "name", "source_digest", "digest", "number"])
    op.create_table(
        "revision_statuses",
        sa.Column("revision_id", sa.String(40), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("changed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("changed_by", sa.String(128), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("tombstoned_at", sa.DateTime(timezone=True)),
        sa.Column("is_shared", sa.Boolean(), nullable=False),
        sa.Column("digest", sa.String(80), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["revision_id"], ["revisions.revision_id"], name="fk_revision_statuses_revision_id"),
        sa.PrimaryKeyConstraint("revision_id", name="pk_revision_statuses"),
    )
    op.create_index("ix_revision_statuses_shared", "revision_statuses", ["digest", "is_shared", "created_at"])
    op.create_table(
        "revision_dependencies",
        sa.Column("revision_id", sa.String(40), nullable=False),
        sa.Column("dependency_id", sa.String(40), nullable=False),
        sa.ForeignKeyConstraint(
            ["dependency_id"], ["revisions.revision_id"], name="fk_revision_dependencies_dependency_id"
        ),
        sa.ForeignKeyConstraint(
            ["revision_id"], ["revisions.revision_id"], name="fk_revision_dependencies_revision_id"
        ),
        sa.PrimaryKeyConstraint("revision_id", "dependency_id", name="pk_revision_dependencies"),
    )
    op.create_index("ix_revision_dependencies_dependency_id", "revision_dependencies", ["dependency_id"])
    op.create_table(
        "schema_ids",
        sa.Column("tenant", sa.String(64), nullable=False),
        sa.Column("kind", sa.String(32), nullable=False),
        sa.Column("source_digest", sa.String(80), nullable=False),
        sa.Column("schema_id", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "kind", "source_digest", name="pk_schema_ids"),
        sa.UniqueConstraint("tenant", "schema_id", name="uq_schema_ids_id"),
    )
    op.create_table(
        "aliases",
        sa.Column("tenant", sa.String(64), nullable=False),
        sa.Column("name", sa.String(128), nullable=False),
        sa.Column("alias", sa.String(64), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("revision_id", sa.String(40), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("moved_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("moved_by", sa.String(128), nullable=False),
        sa.Column("previous", sa.Integer()),
        sa.ForeignKeyConstraint(["revision_id"], ["revisions.revision_id"], name="fk_aliases_revision_id"),
        sa.ForeignKeyConstraint(["tenant", "name"], ["contracts.tenant", "contracts.name"], name="fk_aliases_contract"),
        sa.PrimaryKeyConstraint("tenant", "name", "alias", name="pk_aliases"),
    )
    op.create_index("ix_aliases_revision_id", "aliases", ["revision_id"])
    op.create_table(
        "promotions",
        sa.Column("promotion_id", sa.String(40), nullable=False),
        sa.Column("tenant", sa.String(64), nullable=False),
        sa.Column("name", sa.String(128), nullable=False),
        sa.Column("alias", sa.String(64), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("proposed_by", sa.String(128), nullable=False),
        sa.Column("proposed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("alias_version", sa.Integer()),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("decided_by", sa.String(128)),
        sa.Column("decided_at", sa.DateTime(timezone=True)),
        sa.ForeignKeyConstraint(
            ["tenant", "name"], ["contracts.tenant", "contracts.name"], name="fk_promotions_contract"
        ),
        sa.PrimaryKeyConstraint("promotion_id", name="pk_promotions"),
    )
    op.create_index("ix_promotions_listed", "promotions", ["tenant", "name", "proposed_at", "promotion_id"])
    op.create_index("ix_promotions_state", "promotions", ["tenant", "state", "proposed_at", "promotion_id"])
    op.create_table(
        "signatures",
        sa.Column("revision_id", sa.String(40), nullable=False),
        sa.Column("key_id", sa.String(64), nullable=False),
        sa.Column("tenant", sa.String(64), nullable=False),
        sa.Column("signature", sa.String(128), nullable=False),
        sa.Column("signed_by", sa.String(128), nullable=False),
        sa.Column("signed_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["revision_id"], ["revisions.revision_id"], name="fk_signatures_revision_id"),
        sa.ForeignKeyConstraint(
            ["tenant", "key_id"], ["signing_keys.tenant", "signing_keys.key_id"], name="fk_signatures_signing_key"
        ),
        sa.PrimaryKeyConstraint("revision_id", "key_id", name="pk_signatures"),
    )
