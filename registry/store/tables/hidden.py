"""Retired revisions that are not even listed among the retired any more."""

from sqlalchemy import Column, ForeignKey, String, Table

from registry.store.columns import UtcDateTime
from registry.store.tables.metadata import METADATA

HIDDEN = Table(
    # Rows are only added: what was hidden stays hidden, and its bytes and its number stay where they are.
    "hidden_revisions",
    METADATA,
    Column("revision_id", String(40), ForeignKey("revisions.revision_id"), primary_key=True),
    Column("hidden_at", UtcDateTime(), nullable=False),
    Column("hidden_by", String(128), nullable=False),
)
