"""Names of things in the registry that could be swapped by mistake."""

from typing import NewType

TenantId = NewType("TenantId", str)
"""A tenant's stable name; never a metric label."""

TeamName = NewType("TeamName", str)
"""A team within a tenant: owns contracts."""

PrincipalId = NewType("PrincipalId", str)
"""Who acts: a person or a service, however many keys they hold. Two-person rules compare these."""

ContractName = NewType("ContractName", str)
"""A contract's name, unique within its tenant for ever; a Confluent subject."""

AliasName = NewType("AliasName", str)
"""A movable name of one revision of a contract."""

RevisionNumber = NewType("RevisionNumber", int)
"""1, 2, 3 … within one contract; a Confluent version. Never reused."""

RevisionId = NewType("RevisionId", str)
"""`rev_<32 hex>`: random, so that it tells nothing of what others register."""

SchemaId = NewType("SchemaId", int)
"""Counts within one tenant; the same source text under two names has one. A Confluent schema id."""

SigningKeyId = NewType("SigningKeyId", str)
"""`ed25519:<first 32 hex of the SHA-256 of the raw public key>`."""

PromotionId = NewType("PromotionId", str)
"""`prm_<32 hex>`."""
