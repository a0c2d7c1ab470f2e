"""Revisions for tests that need one and no store."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from policy.enforcement import EnforcementPolicy
from registry.contract import AnnotationDigest, ContractDigest, ContractKind
from registry.identifiers import ContractName, PrincipalId, RevisionId, RevisionNumber, SchemaId, TenantId
from registry.revision import Revision

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)

_REVISION = Revision(
    revision_id=RevisionId("rev_" + "0" * 32),
    tenant=TenantId("acme"),
    name=ContractName("invoice"),
    number=RevisionNumber(7),
    schema_id=SchemaId(1),
    kind=ContractKind.JSON_SCHEMA,
    digest=ContractDigest("sha256:" + "1" * 64),
    annotation_digest=AnnotationDigest("sha256:" + "2" * 64),
    source_text="true",
    source_digest="3" * 64,
    canonical_text="true",
    dialect=None,
    transformations=(),
    profile={},
    policy=EnforcementPolicy(),
    dependencies=(),
    author=PrincipalId("ann"),
    message="",
    created_at=NOON,
)


def a_revision(**changes: Any) -> Revision:
    """Revision 7 of acme's `invoice`, or that with changes."""
    return replace(_REVISION, **changes)
