"""Whom a key belongs to and what it may do; ledgers, audit, policies, trusted signing keys."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Existing keys become callers, each its own principal."""
    op.add_column("api_keys", sa.Column("principal", sa.String(128), nullable=False, server_default=""))
    op.add_column("api_keys", sa.Column("team", sa.String(64)))
    op.add_column("api_keys", sa.Column("roles", sa.String(128), nullable=False, server_default="caller"))
    op.execute("UPDATE api_keys SET principal = 'key:' || id")
    op.create_table(
        "ledgers",
        sa.Column("tenant", sa.String(64), nullable=False),
        sa.Column("last_schema_id", sa.Integer(), nullable=False),
        sa.Column("audit_sequence", sa.Integer(), nullable=False),
        sa.Column("audit_digest", sa.String(64), nullable=False),
        sa.PrimaryKeyConstraint("tenant", name="pk_ledgers"),
    )
    op.create_table(
        "audit_events",
        sa.Column("tenant", sa.String(64), nullable=False),
        sa.Column("sequence", sa.Integer(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("actor", sa.String(128), nullable=False),
        sa.Column("key_id", sa.String(64)),
        sa.Column("action", sa.String(32), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("details", sa.Text(), nullable=False),
        sa.Column("previous", sa.String(64), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "sequence", name="pk_audit_events"),
    )
    op.create_table(
        "registry_policies",
        sa.Column("tenant", sa.String(64), nullable=False),
        sa.Column("policy", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("changed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("changed_by", sa.String(128), nullable=False),
        sa.PrimaryKeyConstraint("tenant", name="pk_registry_policies"),
    )
    op.create_table(
        "signing_keys",
        sa.Column("tenant", sa.String(64), nullable=False),
        sa.Column("key_id", sa.String(64), nullable=False),
        sa.Column("public_key", sa.String(64), nullable=False),
        sa.Column("label", sa.Text(), nullable=False),
        sa.Column("principal", sa.String(128), nullable=False),
        sa.Column("added_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True)),
        sa.Column("revoked_at", sa.DateTime(timezone=True)),
        sa.Column("revocation_reason", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "key_id", name="pk_signing_keys"),
    )
