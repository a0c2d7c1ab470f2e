"""What was stored stays as it was stored: triggers, so that no statement of ours or anybody's changes it by mistake.

They bind whoever may use the tables. Who may drop triggers is told by the chain of audit only.
"""

from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

IDENTITIES = {
    "revisions": ("revision_id = NEW.revision_id", "tenant = NEW.tenant AND name = NEW.name AND number = NEW.number"),
    "signatures": ("revision_id = NEW.revision_id AND key_id = NEW.key_id",),
    "audit_events": ("tenant = NEW.tenant AND sequence = NEW.sequence",),
}
"""What makes a row the same as one that is there."""

IMMUTABLE = ("revisions", "revision_dependencies", "schema_ids", "signatures", "audit_events")


def upgrade() -> None:
    """Refuse UPDATE and DELETE, and on PostgreSQL TRUNCATE, of the tables above."""
    if op.get_bind().dialect.name == "sqlite":
        for table in IMMUTABLE:
            for verb in ("UPDATE", "DELETE"):
                op.execute(
                    f"CREATE TRIGGER {table}_no_{verb.lower()} BEFORE {verb} ON {table} "
                    f"BEGIN SELECT RAISE(ABORT, '{table} is append-only'); END"
                )
        for table, identities in IDENTITIES.items():
            # `INSERT OR REPLACE` deletes without asking the trigger above, unless its connection was told to ask.
            for number, identity in enumerate(("rowid = NEW.rowid", *identities)):
                present = f"EXISTS (SELECT 1 FROM {table} WHERE {identity})"  # noqa: S608 - names of this file
                op.execute(
                    f"CREATE TRIGGER {table}_no_replace_{number} BEFORE INSERT ON {table} WHEN {present} "
                    f"BEGIN SELECT RAISE(ABORT, '{table} is append-only'); END"
                )
        return
    op.execute(
        "CREATE FUNCTION schemagate_append_only() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'restrict_violation'; END $$"
    )
    for table in IMMUTABLE:
        op.execute(
            f"CREATE TRIGGER {table}_append_only BEFORE UPDATE OR DELETE ON {table} "
            "FOR EACH ROW EXECUTE FUNCTION schemagate_append_only()"
        )
        op.execute(
            f"CREATE TRIGGER {table}_no_truncate BEFORE TRUNCATE ON {table} "
            "FOR EACH STATEMENT EXECUTE FUNCTION schemagate_append_only()"
        )
