"""Giving a revision its number: one transaction under the tenant's lock."""

import secrets
from dataclasses import replace
from datetime import datetime

from sqlalchemy import insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from registry.audit import AuditAction
from registry.errors import NotFoundError, PreconditionFailedError, StateError, TombstonedError
from registry.identifiers import RevisionId, RevisionNumber, SchemaId, TenantId
from registry.revision import Actor, Contract, Revision, RevisionState, RevisionStatus, Visibility
from registry.store import rows
from registry.store.audit_log import append
from registry.store.bounds import MAX_REVISIONS
from registry.store.encoding import write_dependencies, write_enforcement, write_names, write_profile
from registry.store.ledger import lock_ledger, take_schema_id
from registry.store.looking import find_contract, select_revisions
from registry.store.records import NewRevision, Registered, Sameness, StoredRevision
from registry.store.tables.contracts import CONTRACTS, DEPENDENCIES, REVISIONS, SCHEMA_IDS, STATUSES

FIRST_STATES = frozenset({RevisionState.DRAFT, RevisionState.ACTIVE})


async def register(
    session: AsyncConnection,
    actor: Actor,
    new: NewRevision,
    *,
    same: Sameness,
    expected_latest: RevisionNumber | None,
    revive: bool,
    at: datetime,
) -> Registered:
    """See `ContractStore.register`."""
    await lock_ledger(session, actor.tenant)
    contract = await find_contract(session, actor.tenant, new.name)
    if contract is not None:
        if contract.tombstoned_at is not None and not revive:
            raise TombstonedError("contract", new.name)
        if contract.kind is not new.kind:
            raise StateError(
                "contract_kind", f"{new.name} holds contracts of kind {contract.kind}, not {new.kind}: use another name"
            )
        present = await _same_revision(session, actor.tenant, new, same)
        if present is not None and contract.tombstoned_at is None:
            return Registered(contract=contract, revision=present.revision, status=present.status, is_new=False)
    observed = None if contract is None else contract.latest
    if observed != expected_latest:
        raise PreconditionFailedError(expected=expected_latest, observed=observed)
    if contract is None:
        contract = await _make_contract(session, actor, new, at)
    else:
        contract = await _next_number(session, actor, contract, at)
    revision = await _insert(session, actor, new, contract, at)
    status = RevisionStatus(state=new.state, changed_at=at, changed_by=actor.principal)
    await session.execute(
        insert(STATUSES).values(
            revision_id=revision.revision_id,
            state=status.state.value,
            changed_at=at,
            changed_by=actor.principal,
            reason="",
            is_shared=contract.visibility is Visibility.SHARED,
            digest=new.digest,
            created_at=at,
        )
    )
    await append(
        session,
        actor,
        AuditAction.REVISION_REGISTERED,
        subject={"name": new.name, "number": revision.number},
        details={
            "digest": new.digest,
            "annotation_digest": new.annotation_digest,
            "source_digest": new.source_digest,
            "policy_digest": new.policy.digest,
            "revision_id": revision.revision_id,
            "state": new.state.value,
            "message": new.message,
        },
        at=at,
    )
    return Registered(contract=contract, revision=revision, status=status, is_new=True)


async def _same_revision(
    session: AsyncConnection, tenant: TenantId, new: NewRevision, same: Sameness
) -> StoredRevision | None:
    statement = select_revisions().where(
        REVISIONS.c.tenant == tenant, REVISIONS.c.name == new.name, REVISIONS.c.digest == new.digest
    )
    match same:
        case Sameness.CONTENT:
            statement = statement.where(
                REVISIONS.c.annotation_digest == new.annotation_digest, REVISIONS.c.policy_digest == new.policy.digest
            )
        case Sameness.SOURCE:
            statement = statement.where(REVISIONS.c.source_digest == new.source_digest)
    # While one is live the same is not registered again, so the newest decides: if it is retired, all are.
    row = (await session.execute(statement.order_by(REVISIONS.c.number.desc()).limit(1))).one_or_none()
    found = None if row is None else rows.stored(row)
    return found if found is not None and found.status.tombstoned_at is None else None


async def _make_contract(session: AsyncConnection, actor: Actor, new: NewRevision, at: datetime) -> Contract:
    contract = Contract(
        tenant=actor.tenant,
        name=new.name,
        kind=new.kind,
        team=new.team,
        visibility=new.visibility,
        contract_class=new.contract_class,
        compatibility=new.compatibility,
        description=new.description,
        created_at=at,
        created_by=actor.principal,
        version=1,
        latest=RevisionNumber(1),
    )
    await session.execute(
        insert(CONTRACTS).values(
            tenant=contract.tenant,
            name=contract.name,
            kind=contract.kind.value,
            team=contract.team,
            visibility=contract.visibility.value,
            contract_class=contract.contract_class.value,
            compatibility=None if contract.compatibility is None else contract.compatibility.value,
            description=contract.description,
            created_at=at,
            created_by=contract.created_by,
            version=contract.version,
            latest=contract.latest,
            alias_floor=0,
        )
    )
    await append(
        session,
        actor,
        AuditAction.CONTRACT_REGISTERED,
        subject={"name": new.name},
        details={
            "kind": new.kind.value,
            "team": new.team,
            "visibility": new.visibility.value,
            "contract_class": new.contract_class.value,
            "compatibility": None if new.compatibility is None else new.compatibility.value,
            "description": new.description,
        },
        at=at,
    )
    return contract


async def _next_number(session: AsyncConnection, actor: Actor, contract: Contract, at: datetime) -> Contract:
    if contract.latest >= MAX_REVISIONS:
        raise StateError(
            "too_many_revisions", f"{contract.name} has {MAX_REVISIONS} revisions, the most that one name can have"
        )
    version = contract.version
    if contract.tombstoned_at is not None:
        version += 1
        await append(session, actor, AuditAction.CONTRACT_REVIVED, subject={"name": contract.name}, details={}, at=at)
    number = RevisionNumber(contract.latest + 1)
    await session.execute(
        update(CONTRACTS)
        .where(CONTRACTS.c.tenant == contract.tenant, CONTRACTS.c.name == contract.name)
        .values(latest=number, version=version, tombstoned_at=None)
    )
    return replace(contract, latest=number, version=version, tombstoned_at=None)


async def _insert(
    session: AsyncConnection, actor: Actor, new: NewRevision, contract: Contract, at: datetime
) -> Revision:
    needed = await _hold_dependencies(session, actor.tenant, new)
    revision = Revision(
        revision_id=RevisionId(f"rev_{secrets.token_hex(16)}"),
        tenant=actor.tenant,
        name=new.name,
        number=contract.latest,
        schema_id=await _schema_id(session, actor.tenant, new),
        kind=new.kind,
        digest=new.digest,
        annotation_digest=new.annotation_digest,
        source_text=new.source_text,
        source_digest=new.source_digest,
        canonical_text=new.canonical_text,
        dialect=new.dialect,
        transformations=tuple(new.transformations),
        profile=dict(new.profile),
        policy=new.policy,
        dependencies=tuple(new.dependencies),
        author=actor.principal,
        message=new.message,
        created_at=at,
    )
    await session.execute(
        insert(REVISIONS).values(
            revision_id=revision.revision_id,
            tenant=revision.tenant,
            name=revision.name,
            number=revision.number,
            schema_id=revision.schema_id,
            kind=revision.kind.value,
            digest=revision.digest,
            annotation_digest=revision.annotation_digest,
            source_digest=revision.source_digest,
            policy_digest=revision.policy.digest,
            policy=write_enforcement(revision.policy),
            dialect=revision.dialect,
            transformations=write_names(revision.transformations),
            profile=write_profile(revision.profile),
            dependencies=write_dependencies(revision.dependencies),
            author=revision.author,
            message=revision.message,
            created_at=at,
            source_text=revision.source_text,
            canonical_text=revision.canonical_text,
        )
    )
    if needed:
        await session.execute(
            insert(DEPENDENCIES),
            [{"revision_id": revision.revision_id, "dependency_id": dependency} for dependency in needed],
        )
    return revision


async def _hold_dependencies(session: AsyncConnection, tenant: TenantId, new: NewRevision) -> list[RevisionId]:
    """Keep what the revision refers to from being retired before it is there itself; in one order, against deadlock."""
    needed = sorted({dependency.revision_id for dependency in new.dependencies})
    if not needed:
        return []
    held = (
        select(STATUSES.c.revision_id, STATUSES.c.digest, REVISIONS.c.tenant, STATUSES.c.is_shared)
        .join(REVISIONS, REVISIONS.c.revision_id == STATUSES.c.revision_id)
        .where(STATUSES.c.revision_id.in_(needed), STATUSES.c.tombstoned_at.is_(None))
        .order_by(STATUSES.c.revision_id)
        .with_for_update(read=True, of=STATUSES)
    )
    found = {
        row.revision_id: row.digest for row in await session.execute(held) if row.tenant == tenant or row.is_shared
    }
    for dependency in new.dependencies:
        if found.get(dependency.revision_id) != dependency.digest:
            raise NotFoundError("revision", dependency.uri)
    return needed


async def _schema_id(session: AsyncConnection, tenant: TenantId, new: NewRevision) -> SchemaId:
    known = select(SCHEMA_IDS.c.schema_id).where(
        SCHEMA_IDS.c.tenant == tenant,
        SCHEMA_IDS.c.kind == new.kind.value,
        SCHEMA_IDS.c.source_digest == new.source_digest,
    )
    present = (await session.execute(known)).scalar_one_or_none()
    if present is not None:
        return SchemaId(present)
    fresh = await take_schema_id(session, tenant)
    await session.execute(
        insert(SCHEMA_IDS).values(tenant=tenant, kind=new.kind.value, source_digest=new.source_digest, schema_id=fresh)
    )
    return fresh
