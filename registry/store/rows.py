"""From rows to the registry's values. Columns of joined tables are told apart by the labels of `labelled`."""

from typing import Any

from sqlalchemy import ColumnElement, Row, Table

from registry.compatibility.modes import CompatibilityMode
from registry.contract import AnnotationDigest, ContractDigest, ContractKind
from registry.identifiers import (
    AliasName,
    ContractName,
    PrincipalId,
    PromotionId,
    RevisionId,
    RevisionNumber,
    SchemaId,
    SigningKeyId,
    TeamName,
    TenantId,
)
from registry.revision import (
    Alias,
    Contract,
    ContractClass,
    Promotion,
    PromotionState,
    Revision,
    RevisionState,
    RevisionStatus,
    Signature,
    SigningKey,
    Visibility,
)
from registry.store.encoding import read_dependencies, read_enforcement, read_names, read_profile
from registry.store.records import StoredRevision
from registry.store.tables.contracts import ALIASES, CONTRACTS, REVISIONS, STATUSES
from registry.store.tables.signing import SIGNATURES, SIGNING_KEYS

AnyRow = Row[Any]


def labelled(table: Table) -> list[ColumnElement[Any]]:
    """Every column, called `<table>__<column>`."""
    return [column.label(f"{table.name}__{column.name}") for column in table.columns]


CONTRACT = labelled(CONTRACTS)
REVISION = labelled(REVISIONS) + labelled(STATUSES)
ALIAS = labelled(ALIASES)
SIGNATURE = labelled(SIGNATURES) + labelled(SIGNING_KEYS)


def contract(row: AnyRow) -> Contract:
    """From the columns `CONTRACT`."""
    level = row.contracts__compatibility
    return Contract(
        tenant=TenantId(row.contracts__tenant),
        name=ContractName(row.contracts__name),
        kind=ContractKind(row.contracts__kind),
        team=None if row.contracts__team is None else TeamName(row.contracts__team),
        visibility=Visibility(row.contracts__visibility),
        contract_class=ContractClass(row.contracts__contract_class),
        compatibility=None if level is None else CompatibilityMode(level),
        description=row.contracts__description,
        created_at=row.contracts__created_at,
        created_by=PrincipalId(row.contracts__created_by),
        version=row.contracts__version,
        latest=RevisionNumber(row.contracts__latest),
        tombstoned_at=row.contracts__tombstoned_at,
    )


def revision(row: AnyRow) -> Revision:
    """From the columns `REVISION`."""
    return Revision(
        revision_id=RevisionId(row.revisions__revision_id),
        tenant=TenantId(row.revisions__tenant),
        name=ContractName(row.revisions__name),
        number=RevisionNumber(row.revisions__number),
        schema_id=SchemaId(row.revisions__schema_id),
        kind=ContractKind(row.revisions__kind),
        digest=ContractDigest(row.revisions__digest),
        annotation_digest=AnnotationDigest(row.revisions__annotation_digest),
        source_text=row.revisions__source_text,
        source_digest=row.revisions__source_digest,
        canonical_text=row.revisions__canonical_text,
        dialect=row.revisions__dialect,
        transformations=read_names(row.revisions__transformations),
        profile=read_profile(row.revisions__profile),
        policy=read_enforcement(row.revisions__policy),
        dependencies=read_dependencies(row.revisions__dependencies),
        author=PrincipalId(row.revisions__author),
        message=row.revisions__message,
        created_at=row.revisions__created_at,
    )


def status(row: AnyRow) -> RevisionStatus:
    """From the columns `REVISION`."""
    return RevisionStatus(
        state=RevisionState(row.revision_statuses__state),
        changed_at=row.revision_statuses__changed_at,
        changed_by=PrincipalId(row.revision_statuses__changed_by),
        reason=row.revision_statuses__reason,
        tombstoned_at=row.revision_statuses__tombstoned_at,
    )


def stored(row: AnyRow) -> StoredRevision:
    """From the columns `REVISION`."""
    return StoredRevision(revision=revision(row), status=status(row))


def alias(row: AnyRow) -> Alias:
    """From the columns `ALIAS`."""
    previous = row.aliases__previous
    return Alias(
        tenant=TenantId(row.aliases__tenant),
        name=ContractName(row.aliases__name),
        alias=AliasName(row.aliases__alias),
        number=RevisionNumber(row.aliases__number),
        revision_id=RevisionId(row.aliases__revision_id),
        version=row.aliases__version,
        moved_at=row.aliases__moved_at,
        moved_by=PrincipalId(row.aliases__moved_by),
        previous=None if previous is None else RevisionNumber(previous),
    )


def signature(row: AnyRow) -> Signature:
    """From the columns `SIGNATURE`."""
    return Signature(
        revision_id=RevisionId(row.signatures__revision_id),
        key_id=SigningKeyId(row.signatures__key_id),
        signature=row.signatures__signature,
        signed_by=PrincipalId(row.signatures__signed_by),
        signed_at=row.signatures__signed_at,
    )


def signing_key(row: AnyRow) -> SigningKey:
    """From the columns `SIGNATURE`, or `labelled(SIGNING_KEYS)`."""
    return SigningKey(
        key_id=SigningKeyId(row.signing_keys__key_id),
        tenant=TenantId(row.signing_keys__tenant),
        public_key=row.signing_keys__public_key,
        label=row.signing_keys__label,
        principal=PrincipalId(row.signing_keys__principal),
        added_at=row.signing_keys__added_at,
        expires_at=row.signing_keys__expires_at,
        revoked_at=row.signing_keys__revoked_at,
        revocation_reason=row.signing_keys__revocation_reason,
    )


def promotion(row: AnyRow) -> Promotion:
    """From a row of the table of promotions."""
    decided_by = row.decided_by
    return Promotion(
        promotion_id=PromotionId(row.promotion_id),
        tenant=TenantId(row.tenant),
        name=ContractName(row.name),
        alias=AliasName(row.alias),
        number=RevisionNumber(row.number),
        state=PromotionState(row.state),
        proposed_by=PrincipalId(row.proposed_by),
        proposed_at=row.proposed_at,
        reason=row.reason,
        alias_version=row.alias_version,
        decided_by=None if decided_by is None else PrincipalId(decided_by),
        decided_at=row.decided_at,
    )
