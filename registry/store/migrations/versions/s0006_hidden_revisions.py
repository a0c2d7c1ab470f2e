"""Retired revisions that are left out of every list."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table; its rows stay, as everything does that was said about a revision for good."""
    op.create_table(
        "hidden_revisions",
        sa.Column("revision_id", sa.String(40), nullable=False),
        sa.Column("hidden_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("hidden_by", sa.String(128), nullable=False),
        sa.ForeignKeyConstraint(["revision_id"], ["revisions.revision_id"], name="fk_hidden_revisions_revision_id"),
        sa.PrimaryKeyConstraint("revision_id", name="pk_hidden_revisions"),
    )
    if op.get_bind().dialect.name == "sqlite":
        for verb in ("UPDATE", "DELETE"):
            op.execute(
                f"CREATE TRIGGER hidden_revisions_no_{verb.lower()} BEFORE {verb} ON hidden_revisions "
                "BEGIN SELECT RAISE(ABORT, 'hidden_revisions is append-only'); END"
            )
        return
    op.execute(
        "CREATE TRIGGER hidden_revisions_append_only BEFORE UPDATE OR DELETE ON hidden_revisions "
        "FOR EACH ROW EXECUTE FUNCTION schemagate_append_only()"
    )
