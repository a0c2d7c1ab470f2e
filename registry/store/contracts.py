"""Contracts, revisions and aliases: what is read of them, and each change as one transaction with its audit event.

Whether the actor may do it is known before: roles and ownership are the services' question. What only the state of
the database can answer (numbers, preconditions, what still refers to what) is answered here, under lock.
"""

from collections.abc import Mapping
from datetime import datetime

from sqlalchemy import select

from registry.audit import AuditAction
from registry.contract import ContractDigest, JsonValue
from registry.identifiers import AliasName, ContractName, RevisionId, RevisionNumber, SchemaId, TenantId
from registry.naming import Reference
from registry.revision import Actor, Alias, Contract, RevisionState
from registry.store import aliasing, changing, registering, rows, searching, statuses
from registry.store.bounds import DEFAULT_PAGE
from registry.store.database import Database
from registry.store.faults import retried
from registry.store.listing import list_contracts, list_revisions
from registry.store.looking import (
    find_alias,
    find_contract,
    find_revision,
    find_revision_by_id,
    find_visible_contract,
)
from registry.store.notes import checked_note, checked_revision
from registry.store.records import (
    BareContract,
    ContractChanges,
    ContractQuery,
    NewRevision,
    Page,
    Registered,
    Sameness,
    ServedRevision,
    StoredRevision,
    Unchanged,
)
from registry.store.serving import find_served
from registry.store.tables.contracts import ALIASES


class ContractStore:
    """One for a process; it holds nothing but its database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @retried
    async def register(
        self,
        actor: Actor,
        new: NewRevision,
        *,
        same: Sameness,
        expected_latest: RevisionNumber | None,
        revive: bool = False,
        at: datetime,
    ) -> Registered:
        """Give `new` the next number of its contract, which comes into being with its first revision.

        A live revision that is the same comes back as it is, whatever `expected_latest`. None as `expected_latest`
        says that the name is new; with `revive`, a retired name lives again and its numbers go on.

        Raises:
            PreconditionFailedError: the contract's latest number is not `expected_latest`.
            TombstonedError: the name is retired.
            NotFoundError: a dependency is not there, retired, private to another tenant, or of another digest.
            StateError: `contract_kind`, `too_many_revisions`, `first_state`, `too_large`.
        """
        checked_revision(new)
        async with self._database.writing() as session:
            return await registering.register(
                session, actor, new, same=same, expected_latest=expected_latest, revive=revive, at=at
            )

    @retried
    async def contract(self, tenant: TenantId, name: ContractName) -> Contract | None:
        """A tenant's contract, retired ones as well."""
        async with self._database.looking() as session:
            return await find_contract(session, tenant, name)

    @retried
    async def visible_contract(self, viewer: TenantId, owner: TenantId, name: ContractName) -> Contract | None:
        """One's own contract, retired ones as well, or another tenant's live one that is shared."""
        async with self._database.looking() as session:
            return await find_visible_contract(session, viewer, owner, name)

    @retried
    async def contracts(
        self, viewer: TenantId, query: ContractQuery, *, cursor: str | None = None, limit: int = DEFAULT_PAGE
    ) -> Page[Contract]:
        """The viewer's own contracts by name, then what other tenants share.

        Raises:
            InvalidNameError: not a cursor of this question.
        """
        async with self._database.reading() as session:
            return await list_contracts(session, viewer, query, cursor=cursor, limit=limit)

    @retried
    async def change_contract(
        self,
        actor: Actor,
        name: ContractName,
        changes: ContractChanges,
        *,
        expected_version: int | None,
        at: datetime,
    ) -> Contract:
        """Change what may change; what already is as asked is no change and leaves the version.

        Raises:
            NotFoundError, TombstonedError: no such contract, or no more.
            PreconditionFailedError: its version is another.
            StateError: `still_referenced`: another tenant's contract is made of this one, so it stays shared.
        """
        if not isinstance(changes.description, Unchanged):
            checked_note("a description", changes.description)
        async with self._database.writing() as session:
            return await changing.change_contract(
                session, actor, name, changes, expected_version=expected_version, at=at
            )

    @retried
    async def tombstone_contract(self, actor: Actor, name: ContractName, *, reason: str, at: datetime) -> Contract:
        """Retire a contract and all its revisions; nothing is deleted, and the name stays taken.

        Raises:
            NotFoundError, TombstonedError: no such contract, or no more.
            StateError: `still_referenced`: it has an alias, or a live revision of another contract refers to it.
        """
        checked_note("a reason", reason)
        async with self._database.writing() as session:
            return await changing.tombstone_contract(session, actor, name, reason=reason, at=at)

    @retried
    async def revision(self, tenant: TenantId, name: ContractName, number: RevisionNumber) -> StoredRevision | None:
        """A tenant's revision, retired ones as well."""
        async with self._database.looking() as session:
            return await find_revision(session, tenant, name, number)

    @retried
    async def revision_by_id(self, revision_id: RevisionId) -> StoredRevision | None:
        """Of any tenant, retired ones as well: whether the asker may see it is the asker's question."""
        async with self._database.looking() as session:
            return await find_revision_by_id(session, revision_id)

    @retried
    async def revisions(
        self,
        tenant: TenantId,
        name: ContractName,
        *,
        cursor: str | None = None,
        limit: int = DEFAULT_PAGE,
        newest_first: bool = True,
        include_tombstoned: bool = False,
    ) -> Page[StoredRevision]:
        """A contract's revisions by number; none where there is no such contract.

        Raises:
            InvalidNameError: not a cursor of this question.
        """
        async with self._database.looking() as session:
            return await list_revisions(
                session,
                tenant,
                name,
                cursor=cursor,
                limit=limit,
                newest_first=newest_first,
                include_tombstoned=include_tombstoned,
            )

    @retried
    async def revisions_with_digest(
        self,
        viewer: TenantId,
        digest: ContractDigest,
        *,
        name: ContractName | None = None,
        owner: TenantId | None = None,
    ) -> tuple[StoredRevision, ...]:
        """Live revisions with this content that the viewer may see, newest first, at most `MAX_SAME`."""
        async with self._database.reading() as session:
            return await searching.with_digest(session, viewer, digest, name=name, owner=owner)

    @retried
    async def revisions_with_schema_id(self, tenant: TenantId, schema_id: SchemaId) -> tuple[StoredRevision, ...]:
        """A tenant's revisions with this source text, retired ones as well, oldest first, at most `MAX_SAME`."""
        async with self._database.looking() as session:
            return await searching.with_schema_id(session, tenant, schema_id)

    @retried
    async def revision_with_source(
        self, tenant: TenantId, name: ContractName, source_digest: str
    ) -> StoredRevision | None:
        """The newest live revision of a contract with exactly this source text."""
        async with self._database.looking() as session:
            return await searching.with_source(session, tenant, name, source_digest)

    @retried
    async def dependents(self, revision_id: RevisionId) -> tuple[StoredRevision, ...]:
        """Live revisions, of any tenant, whose text refers to this one; at most `MAX_DEPENDENTS`, oldest first."""
        async with self._database.looking() as session:
            return await searching.dependents(session, revision_id)

    @retried
    async def dependents_of_contract(self, tenant: TenantId, name: ContractName) -> tuple[StoredRevision, ...]:
        """Live revisions, of any tenant, that refer to any of a contract's and are not its own; the tenant's first.

        At most `MAX_DEPENDENTS`, oldest first among each.
        """
        async with self._database.looking() as session:
            return await searching.dependents_of_contract(session, tenant, name)

    @retried
    async def set_state(
        self,
        actor: Actor,
        name: ContractName,
        number: RevisionNumber,
        state: RevisionState,
        *,
        reason: str,
        at: datetime,
    ) -> StoredRevision:
        """Move a revision forwards; being there already is no change.

        Raises:
            NotFoundError, TombstonedError: no such contract or revision, or no more.
            StateError: `backwards_state`; `still_referenced`: an alias points to what shall no longer be served.
        """
        checked_note("a reason", reason)
        async with self._database.writing() as session:
            return await statuses.set_state(session, actor, name, number, state, reason=reason, at=at)

    @retried
    async def tombstone_revision(
        self, actor: Actor, name: ContractName, number: RevisionNumber, *, reason: str, at: datetime
    ) -> StoredRevision:
        """Retire a revision; its bytes and its number stay.

        Raises:
            NotFoundError, TombstonedError: no such contract or revision, or no more.
            StateError: `still_referenced`: an alias points to it, or a live revision of any tenant refers to it.
        """
        checked_note("a reason", reason)
        async with self._database.writing() as session:
            return await statuses.tombstone_revision(session, actor, name, number, reason=reason, at=at)

    @retried
    async def alias(self, tenant: TenantId, name: ContractName, alias: AliasName) -> Alias | None:
        """Where a tenant's alias points."""
        async with self._database.looking() as session:
            return await find_alias(session, tenant, name, alias)

    @retried
    async def aliases(self, tenant: TenantId, name: ContractName) -> tuple[Alias, ...]:
        """All of a contract's, by name; there are at most `MAX_ALIASES`."""
        statement = select(*rows.ALIAS).where(ALIASES.c.tenant == tenant, ALIASES.c.name == name)
        async with self._database.looking() as session:
            return tuple(rows.alias(row) for row in await session.execute(statement.order_by(ALIASES.c.alias)))

    @retried
    async def move_alias(
        self,
        actor: Actor,
        name: ContractName,
        alias: AliasName,
        number: RevisionNumber,
        *,
        expected_version: int | None,
        must_be_new: bool,
        reason: str,
        action: AuditAction = AuditAction.ALIAS_MOVED,
        details: Mapping[str, JsonValue] | None = None,
        at: datetime,
    ) -> Alias:
        """Point an alias to a revision; a draft is activated by it, in the same transaction.

        `details` are added to the audit event's.

        Raises:
            NotFoundError, TombstonedError: no such contract or revision, or no more.
            PreconditionFailedError: the alias has another version, or is there though it must be new.
            StateError: `sunset_revision`, `too_many_aliases`.
        """
        checked_note("a reason", reason)
        async with self._database.writing() as session:
            return await aliasing.move_alias(
                session,
                actor,
                name,
                alias,
                number,
                expected_version=expected_version,
                must_be_new=must_be_new,
                reason=reason,
                action=action,
                at=at,
                extra=dict(details or {}),
            )

    @retried
    async def drop_alias(
        self,
        actor: Actor,
        name: ContractName,
        alias: AliasName,
        *,
        expected_version: int | None,
        reason: str,
        at: datetime,
    ) -> None:
        """Take an alias away. One of its name made later goes on counting versions.

        Raises:
            NotFoundError, TombstonedError: no such contract or alias, or no more.
            PreconditionFailedError: the alias has another version.
        """
        checked_note("a reason", reason)
        async with self._database.writing() as session:
            await aliasing.drop_alias(
                session, actor, name, alias, expected_version=expected_version, reason=reason, at=at
            )

    @retried
    async def serving(self, viewer: TenantId, reference: Reference) -> ServedRevision | BareContract | None:
        """What a reference leads to for the viewer, in one statement; nothing of it is judged.

        None for what is not there and for what is another's private one, alike. A retired contract or revision is
        found by its own tenant only. A digest leads to a live revision: one that may be served before one that may
        not, then the viewer's own, then the newest.
        """
        async with self._database.looking() as session:
            return await find_served(session, viewer, reference)
