"""Signing keys that a tenant trusts, and the signatures made with them. What a signature is worth is judged above."""

from datetime import datetime

from sqlalchemy import func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from registry.audit import AuditAction
from registry.errors import InvalidNameError, NotFoundError, StateError
from registry.identifiers import ContractName, RevisionId, RevisionNumber, SigningKeyId, TenantId
from registry.revision import Actor, Signature, SigningKey
from registry.store import rows
from registry.store.audit_log import append
from registry.store.bounds import MAX_SIGNATURES, MAX_SIGNING_KEYS
from registry.store.database import Database
from registry.store.faults import retried
from registry.store.ledger import lock_ledger
from registry.store.looking import live_contract, live_revision
from registry.store.notes import checked_note
from registry.store.tables.signing import SIGNATURES, SIGNING_KEYS

MAX_LABEL_CHARACTERS = 128


class SignatureStore:
    """Keys and signatures of all tenants; every method names one."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @retried
    async def add_key(self, actor: Actor, key: SigningKey) -> SigningKey:
        """Trust a key in the actor's tenant from `key.added_at` on; a live one that is trusted already stays as it is.

        Raises:
            StateError: `key_revoked`: revoked keys stay revoked; `too_many_keys`.
            InvalidNameError: its label cannot be kept.
        """
        checked_note("a label", key.label)
        if len(key.label) > MAX_LABEL_CHARACTERS:
            raise InvalidNameError("a label", key.label, reason=f"at most {MAX_LABEL_CHARACTERS} characters")
        async with self._database.writing() as session:
            await lock_ledger(session, actor.tenant)
            present = await _find_key(session, actor.tenant, key.key_id)
            if present is not None and present.revoked_at is not None:
                raise StateError("key_revoked", f"{key.key_id} was revoked and cannot be trusted again: make a new key")
            if present is not None:
                return present
            counted = select(func.count()).select_from(SIGNING_KEYS).where(SIGNING_KEYS.c.tenant == actor.tenant)
            if (await session.execute(counted)).scalar_one() >= MAX_SIGNING_KEYS:
                raise StateError("too_many_keys", f"a tenant has at most {MAX_SIGNING_KEYS} signing keys")
            await session.execute(
                insert(SIGNING_KEYS).values(
                    tenant=actor.tenant,
                    key_id=key.key_id,
                    public_key=key.public_key,
                    label=key.label,
                    principal=key.principal,
                    added_at=key.added_at,
                    expires_at=key.expires_at,
                    revoked_at=None,
                    revocation_reason="",
                )
            )
            await append(
                session,
                actor,
                AuditAction.SIGNING_KEY_TRUSTED,
                subject={"signing_key": key.key_id},
                details={
                    "public_key": key.public_key,
                    "label": key.label,
                    "principal": key.principal,
                    "expires_at": None if key.expires_at is None else key.expires_at.isoformat(),
                },
                at=key.added_at,
            )
            added = await _find_key(session, actor.tenant, key.key_id)
        assert added is not None
        return added

    @retried
    async def revoke_key(self, actor: Actor, key_id: SigningKeyId, *, reason: str, at: datetime) -> SigningKey:
        """Trust a key no more; one that is revoked already stays as it is.

        Raises:
            NotFoundError: the tenant has no such key.
        """
        checked_note("a reason", reason)
        async with self._database.writing() as session:
            await lock_ledger(session, actor.tenant)
            present = await _find_key(session, actor.tenant, key_id)
            if present is None:
                raise NotFoundError("signing key", key_id)
            if present.revoked_at is not None:
                return present
            await session.execute(
                update(SIGNING_KEYS)
                .where(SIGNING_KEYS.c.tenant == actor.tenant, SIGNING_KEYS.c.key_id == key_id)
                .values(revoked_at=at, revocation_reason=reason)
            )
            await append(
                session,
                actor,
                AuditAction.SIGNING_KEY_REVOKED,
                subject={"signing_key": key_id},
                details={"reason": reason},
                at=at,
            )
            revoked = await _find_key(session, actor.tenant, key_id)
        assert revoked is not None
        return revoked

    @retried
    async def key(self, tenant: TenantId, key_id: SigningKeyId) -> SigningKey | None:
        """A key that the tenant trusts, or once did."""
        async with self._database.looking() as session:
            return await _find_key(session, tenant, key_id)

    @retried
    async def keys(self, tenant: TenantId) -> tuple[SigningKey, ...]:
        """All of a tenant's, revoked ones too, oldest first; there are at most `MAX_SIGNING_KEYS`."""
        statement = select(*rows.labelled(SIGNING_KEYS)).where(SIGNING_KEYS.c.tenant == tenant)
        ordered = statement.order_by(SIGNING_KEYS.c.added_at, SIGNING_KEYS.c.key_id)
        async with self._database.looking() as session:
            return tuple(rows.signing_key(row) for row in await session.execute(ordered))

    @retried
    async def add_signature(
        self, actor: Actor, name: ContractName, number: RevisionNumber, signature: Signature
    ) -> Signature:
        """Keep a signature that has been verified; a second one of the same key changes nothing.

        Raises:
            NotFoundError, TombstonedError: no such revision or key, or no more.
            StateError: `key_revoked`: meanwhile; `too_many_signatures`.
        """
        async with self._database.writing() as session:
            await lock_ledger(session, actor.tenant)
            await live_contract(session, actor.tenant, name)
            target = await live_revision(session, actor.tenant, name, number)
            if target.revision.revision_id != signature.revision_id:
                raise NotFoundError("revision", signature.revision_id)
            key = await _find_key(session, actor.tenant, signature.key_id)
            if key is None:
                raise NotFoundError("signing key", signature.key_id)
            if key.revoked_at is not None:
                raise StateError("key_revoked", f"{signature.key_id} was revoked")
            present = await _signatures(session, signature.revision_id)
            for known, _ in present:
                if known.key_id == signature.key_id:
                    return known
            if len(present) >= MAX_SIGNATURES:
                raise StateError("too_many_signatures", f"{name}@{number} has {MAX_SIGNATURES} signatures already")
            await session.execute(
                insert(SIGNATURES).values(
                    revision_id=signature.revision_id,
                    key_id=signature.key_id,
                    tenant=actor.tenant,
                    signature=signature.signature,
                    signed_by=signature.signed_by,
                    signed_at=signature.signed_at,
                )
            )
            await append(
                session,
                actor,
                AuditAction.REVISION_SIGNED,
                subject={"name": name, "number": number},
                details={
                    "revision_id": signature.revision_id,
                    "digest": target.revision.digest,
                    "signing_key": signature.key_id,
                    "signature": signature.signature,
                },
                at=signature.signed_at,
            )
        return signature

    @retried
    async def signatures(self, revision_id: RevisionId) -> tuple[tuple[Signature, SigningKey], ...]:
        """A revision's signatures, each with its key as it is now, oldest first."""
        async with self._database.looking() as session:
            return await _signatures(session, revision_id)


async def _find_key(session: AsyncConnection, tenant: TenantId, key_id: SigningKeyId) -> SigningKey | None:
    statement = select(*rows.labelled(SIGNING_KEYS)).where(
        SIGNING_KEYS.c.tenant == tenant, SIGNING_KEYS.c.key_id == key_id
    )
    row = (await session.execute(statement)).one_or_none()
    return None if row is None else rows.signing_key(row)


async def _signatures(session: AsyncConnection, revision_id: RevisionId) -> tuple[tuple[Signature, SigningKey], ...]:
    joined = SIGNATURES.join(
        SIGNING_KEYS,
        (SIGNING_KEYS.c.tenant == SIGNATURES.c.tenant) & (SIGNING_KEYS.c.key_id == SIGNATURES.c.key_id),
    )
    statement = select(*rows.SIGNATURE).select_from(joined).where(SIGNATURES.c.revision_id == revision_id)
    ordered = statement.order_by(SIGNATURES.c.signed_at, SIGNATURES.c.key_id)
    return tuple((rows.signature(row), rows.signing_key(row)) for row in await session.execute(ordered))
