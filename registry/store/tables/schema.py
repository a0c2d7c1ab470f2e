"""All tables: importing this module fills the metadata."""

from registry.store.tables import contracts, hidden, operations, settings, signing, tenancy
from registry.store.tables.metadata import METADATA

__all__ = ["METADATA", "contracts", "hidden", "operations", "settings", "signing", "tenancy"]
