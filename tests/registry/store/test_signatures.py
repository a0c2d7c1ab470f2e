"""Keys are trusted once, revoked for good; a signature is kept once a key."""

import base64
from dataclasses import replace

import pytest

from registry.errors import InvalidNameError, NotFoundError, StateError, TombstonedError
from registry.identifiers import RevisionId, SigningKeyId
from registry.revision import Signature, SigningKey
from registry.store import signatures
from registry.store.signatures import SignatureStore
from tests.registry.store.world import ACME, ADA, BOB, EVE, INVOICE, NOON, OTHER, World, later, number, opened

KEY = SigningKey(
    key_id=SigningKeyId("ed25519:" + "0" * 32),
    tenant=ACME,
    public_key=base64.b64encode(bytes(range(32))).decode(),
    label="ada's laptop",
    principal=ADA.principal,
    added_at=NOON,
    expires_at=later(3600),
)


async def signature(world: World, content: int = 1) -> Signature:
    made = await world.register(content)
    return Signature(
        revision_id=made.revision.revision_id,
        key_id=KEY.key_id,
        signature=base64.b64encode(bytes(64)).decode(),
        signed_by=ADA.principal,
        signed_at=later(content),
    )


async def test_a_key_is_trusted_in_one_tenant(database_url: str) -> None:
    async with opened(database_url) as world:
        store = SignatureStore(world.database)
        assert await store.add_key(ADA, KEY) == KEY
        assert await store.add_key(BOB, replace(KEY, label="again", added_at=later(9))) == KEY
        assert await store.keys(ACME) == (KEY,)
        assert await store.key(ACME, KEY.key_id) == KEY
        assert await store.keys(OTHER) == ()
        assert await store.key(OTHER, KEY.key_id) is None
        theirs = replace(KEY, tenant=OTHER)
        assert await store.add_key(EVE, theirs) == theirs
        assert await world.actions() == ["signing_key.trusted"]


async def test_a_revoked_key_stays_revoked(database_url: str) -> None:
    async with opened(database_url) as world:
        store = SignatureStore(world.database)
        await store.add_key(ADA, KEY)
        revoked = await store.revoke_key(BOB, KEY.key_id, reason="lost", at=later(5))
        assert revoked == replace(KEY, revoked_at=later(5), revocation_reason="lost")
        assert await store.revoke_key(BOB, KEY.key_id, reason="again", at=later(6)) == revoked
        with pytest.raises(StateError) as caught:
            await store.add_key(ADA, KEY)
        assert caught.value.code == "key_revoked"
        with pytest.raises(NotFoundError):
            await store.revoke_key(EVE, KEY.key_id, reason="", at=NOON)
        assert await world.actions() == ["signing_key.trusted", "signing_key.revoked"]


@pytest.mark.parametrize("label", ["x" * 129, "a\x00b"])
async def test_a_label_that_cannot_be_kept_is_refused(database_url: str, label: str) -> None:
    async with opened(database_url) as world:
        with pytest.raises(InvalidNameError):
            await SignatureStore(world.database).add_key(ADA, replace(KEY, label=label))


async def test_a_tenant_has_so_many_keys(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signatures, "MAX_SIGNING_KEYS", 1)
    async with opened(database_url) as world:
        store = SignatureStore(world.database)
        await store.add_key(ADA, KEY)
        with pytest.raises(StateError) as caught:
            await store.add_key(ADA, replace(KEY, key_id=SigningKeyId("ed25519:1")))
        assert caught.value.code == "too_many_keys"


async def test_a_signature_is_kept_with_its_key(database_url: str) -> None:
    async with opened(database_url) as world:
        store = SignatureStore(world.database)
        await store.add_key(ADA, KEY)
        signed = await signature(world)
        assert await store.add_signature(ADA, INVOICE, number(1), signed) == signed
        again = replace(signed, signature="other", signed_at=later(99))
        assert await store.add_signature(ADA, INVOICE, number(1), again) == signed
        assert await store.signatures(signed.revision_id) == ((signed, KEY),)
        event = (await world.audit.events(ACME, after=0, limit=100))[-1]
        assert (event.action, dict(event.subject)) == ("revision.signed", {"name": "invoice", "number": 1})
        assert event.details["signing_key"] == KEY.key_id
        assert (await world.actions()).count("revision.signed") == 1


async def test_a_signature_needs_a_live_key_and_a_live_revision(database_url: str) -> None:
    async with opened(database_url) as world:
        store = SignatureStore(world.database)
        signed = await signature(world)
        with pytest.raises(NotFoundError, match="signing key"):
            await store.add_signature(ADA, INVOICE, number(1), signed)
        await store.add_key(ADA, KEY)
        with pytest.raises(NotFoundError, match="revision"):
            await store.add_signature(ADA, INVOICE, number(1), replace(signed, revision_id=RevisionId("rev_other")))
        with pytest.raises(NotFoundError):
            await store.add_signature(EVE, INVOICE, number(1), signed)
        await store.revoke_key(ADA, KEY.key_id, reason="", at=NOON)
        with pytest.raises(StateError) as caught:
            await store.add_signature(ADA, INVOICE, number(1), signed)
        assert caught.value.code == "key_revoked"
        await world.contracts.tombstone_revision(ADA, INVOICE, number(1), reason="", at=NOON)
        with pytest.raises(TombstonedError):
            await store.add_signature(ADA, INVOICE, number(1), signed)
        assert await store.signatures(signed.revision_id) == ()


async def test_a_revision_has_so_many_signatures(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signatures, "MAX_SIGNATURES", 1)
    async with opened(database_url) as world:
        store = SignatureStore(world.database)
        signed = await signature(world)
        other = replace(KEY, key_id=SigningKeyId("ed25519:1"))
        await store.add_key(ADA, KEY)
        await store.add_key(ADA, other)
        await store.add_signature(ADA, INVOICE, number(1), signed)
        with pytest.raises(StateError) as caught:
            await store.add_signature(ADA, INVOICE, number(1), replace(signed, key_id=other.key_id))
        assert caught.value.code == "too_many_signatures"
