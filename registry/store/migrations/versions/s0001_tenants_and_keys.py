"""Tenants and API keys. The first version of the gateway made them without migrations: such tables are taken over."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the two tables where they are missing."""
    present = set(sa.inspect(op.get_bind()).get_table_names())
    if "tenants" not in present:
        op.create_table(
            "tenants",
            sa.Column("id", sa.String(64), primary_key=True),
            sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        )
    if "api_keys" not in present:
        op.create_table(
            "api_keys",
            sa.Column("id", sa.String(32), primary_key=True),
            sa.Column("tenant_id", sa.String(64), sa.ForeignKey("tenants.id"), nullable=False),
            sa.Column("digest", sa.String(64), nullable=False),
            sa.Column("label", sa.String(128), nullable=False),
            sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
            sa.Column("expires_at", sa.DateTime(timezone=True)),
            sa.Column("revoked_at", sa.DateTime(timezone=True)),
        )
        op.create_index("ix_api_keys_tenant_id", "api_keys", ["tenant_id"])
