"""Tenants that can be named and disabled, teams, and keys with scopes, a second secret and the time of last use."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

_TEAMS_IN_USE = """
INSERT INTO teams (tenant_id, name, created_at)
SELECT tenant_id, team, MIN(created_at) FROM api_keys WHERE team IS NOT NULL GROUP BY tenant_id, team
"""


def upgrade() -> None:
    """Add what is new. Every key keeps what it could do: no scopes written down means those of its roles."""
    op.add_column("tenants", sa.Column("name", sa.String(128), nullable=False, server_default=""))
    op.add_column("tenants", sa.Column("disabled_at", sa.DateTime(timezone=True)))
    op.create_table(
        "teams",
        sa.Column("tenant_id", sa.String(64), nullable=False),
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], name="fk_teams_tenant_id"),
        sa.PrimaryKeyConstraint("tenant_id", "name", name="pk_teams"),
    )
    op.execute(_TEAMS_IN_USE)
    op.add_column("api_keys", sa.Column("scopes", sa.String(256)))
    op.add_column("api_keys", sa.Column("rotated_at", sa.DateTime(timezone=True)))
    op.add_column("api_keys", sa.Column("previous_digest", sa.String(64)))
    op.add_column("api_keys", sa.Column("previous_until", sa.DateTime(timezone=True)))
    op.add_column("api_keys", sa.Column("last_used_at", sa.DateTime(timezone=True)))
