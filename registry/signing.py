"""Signatures on revisions, and the keys that a tenant trusts.

Only an operator says whose key counts; whoever may sign hands signatures in. Revocation ends trust in all signatures
of a key at once and for ever, and the key does not come back: its holder makes a new one.
"""

from base64 import b64decode
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from policy.roles import Action
from registry.errors import InvalidNameError, InvalidSignatureError, StateError
from registry.identifiers import PrincipalId, RevisionNumber, SigningKeyId, TenantId
from registry.naming import ByNumber
from registry.permissions import Permissions, reference_to_contract, require
from registry.public_keys import public_key_text, read_public_key, signing_key_id
from registry.resolution import Clock, Resolving
from registry.revision import Actor, ResolvedRevision, Signature, SignatureStatus, SigningKey
from registry.signatures import is_live, signing_payload, status_of, verify
from registry.store.notes import checked_note
from registry.store.signatures import SignatureStore

MAX_PRINCIPAL_CHARACTERS: Final = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedBy:
    """One signature, and whether it counts now: it verifies, and its key is neither revoked nor expired."""

    signature: Signature
    key: SigningKey
    counts: bool


class Signing:
    """Signing payloads out, signatures in; keys trusted and revoked."""

    def __init__(self, permissions: Permissions, store: SignatureStore, resolver: Resolving, *, clock: Clock) -> None:
        self._permissions = permissions
        self._store = store
        self._resolver = resolver
        self._clock = clock

    async def payload(self, viewer: TenantId, name: str, number: RevisionNumber) -> bytes:
        """What has to be signed. Raises `NotFoundError`, `TombstonedError`."""
        return signing_payload((await self._visible(viewer, name, number)).revision)

    async def signatures(self, viewer: TenantId, name: str, number: RevisionNumber) -> tuple[SignedBy, ...]:
        """Every signature of a revision, those that no longer count included."""
        revision = (await self._visible(viewer, name, number)).revision
        at = self._clock()
        return tuple(
            SignedBy(
                signature=signature,
                key=key,
                counts=status_of(revision, [(signature, key)], at)[0] is SignatureStatus.SIGNED,
            )
            for signature, key in await self._store.signatures(revision.revision_id)
        )

    async def add_signature(
        self, actor: Actor, name: str, number: RevisionNumber, *, key_id: SigningKeyId, signature: str
    ) -> Signature:
        """Keep a signature that verifies under a live key of the tenant. A key signs a revision once.

        Raises `InvalidSignatureError`, `StateError` (`already_signed`), and whatever naming the revision may raise.
        """
        contract = await self._permissions.owned(actor, name, Action.SIGN)
        revision = (await self._permissions.revision(contract, number)).revision
        at = self._clock()
        key = await self._store.key(actor.tenant, key_id)
        if key is None:
            raise InvalidSignatureError(f"no key {key_id[:80]!r} is trusted here; an operator trusts keys")
        if not is_live(key, at):
            raise InvalidSignatureError(f"the key {key_id} is {'expired' if key.revoked_at is None else 'revoked'}")
        verify(b64decode(key.public_key, validate=True), signing_payload(revision), signature)
        if any(kept.key_id == key_id for kept, _ in await self._store.signatures(revision.revision_id)):
            raise StateError("already_signed", f"the key {key_id} has signed this revision already")
        new = Signature(
            revision_id=revision.revision_id,
            key_id=key_id,
            signature=signature,
            signed_by=actor.principal,
            signed_at=at,
        )
        kept = await self._store.add_signature(actor, contract.name, number, new)
        self._resolver.forget(actor.tenant)
        return kept

    async def trust_key(
        self,
        actor: Actor,
        public_key: str,
        *,
        label: str,
        principal: PrincipalId,
        expires_at: datetime | None = None,
    ) -> SigningKey:
        """Trust a public key from now on.

        Raises `ForbiddenError`, `InvalidNameError`, `InvalidSignatureError`, `StateError` (`known_key`, `key_revoked`,
        `too_many_keys`).
        """
        require(actor, Action.TRUST_KEY)
        raw = read_public_key(public_key)
        checked_note("a principal", principal)
        if not principal or len(principal) > MAX_PRINCIPAL_CHARACTERS:
            reason = f"it has 1 to {MAX_PRINCIPAL_CHARACTERS} characters"
            raise InvalidNameError("a principal", principal, reason=reason)
        at = self._clock()
        if expires_at is not None and (expires_at.tzinfo is None or expires_at <= at):
            raise InvalidNameError("an expiry", expires_at.isoformat(), reason="it is a time to come, with its zone")
        key = SigningKey(
            key_id=signing_key_id(raw),
            tenant=actor.tenant,
            public_key=public_key_text(raw),
            label=label,
            principal=principal,
            added_at=at,
            expires_at=expires_at,
        )
        known = await self._store.key(actor.tenant, key.key_id)
        if known is not None and known.revoked_at is None:
            raise StateError("known_key", f"the key {key.key_id} is trusted already")
        return await self._store.add_key(actor, key)

    async def revoke_key(self, actor: Actor, key_id: SigningKeyId, *, reason: str) -> SigningKey:
        """End trust in a key and in every signature it made, whenever that was.

        Raises `NotFoundError`, `StateError` (`key_revoked`): the first reason stands.
        """
        require(actor, Action.TRUST_KEY)
        known = await self._store.key(actor.tenant, key_id)
        if known is not None and known.revoked_at is not None:
            raise StateError("key_revoked", f"the key {key_id} has been revoked already")
        key = await self._store.revoke_key(actor, key_id, reason=reason, at=self._clock())
        self._resolver.forget(actor.tenant)
        return key

    async def keys(self, tenant: TenantId) -> tuple[SigningKey, ...]:
        """Every key that the tenant trusts or trusted."""
        return await self._store.keys(tenant)

    async def _visible(self, viewer: TenantId, name: str, number: RevisionNumber) -> ResolvedRevision:
        bare = reference_to_contract(name)
        reference = ByNumber(name=bare.name, number=number, owner=bare.owner)
        return await self._resolver.resolve(reference, viewer, serving=False)
