"""Keys that a tenant trusts, and signatures that are handed in."""

from datetime import timedelta

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from policy.roles import Role
from registry.audit import AuditAction
from registry.errors import (
    ForbiddenError,
    InvalidNameError,
    InvalidSignatureError,
    NotFoundError,
    StateError,
    TombstonedError,
)
from registry.identifiers import PrincipalId, RevisionNumber, SigningKeyId
from registry.public_keys import public_key_text, signing_key_id
from registry.revision import SignatureStatus
from registry.signatures import sign, signing_payload
from tests.registry.world import ACME, ANN, BEA, CARL, INTEGER, OLGA, OTHER, STRING, ZOE, a_registry, an_actor

pytestmark = pytest.mark.usefixtures("each_database")

ONE = RevisionNumber(1)


def raw_of(key: Ed25519PrivateKey) -> bytes:
    return key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)


async def test_a_signature_by_a_trusted_key_counts_from_then_on() -> None:
    async with a_registry() as world:
        revision = await world.register(STRING)
        key = await world.trust()
        assert await world.catalogue.signing.payload(ACME, "invoice", ONE) == signing_payload(revision)
        assert (await world.catalogue.resolver.resolve("invoice@1", ACME, serving=True)).signature == "unsigned"
        await world.sign(1, key)
        resolved = await world.catalogue.resolver.resolve("invoice@1", ACME, serving=True)
        assert (resolved.signature, resolved.signed_by) == (SignatureStatus.SIGNED, key)
        signed = await world.catalogue.signing.signatures(ACME, "invoice", ONE)
        assert [(each.key.key_id, each.counts, each.signature.signed_by) for each in signed] == [(key, True, "ann")]
        assert (await world.events())[-1].action is AuditAction.REVISION_SIGNED


async def test_a_key_signs_a_revision_once() -> None:
    async with a_registry() as world:
        await world.register(STRING)
        key = await world.trust()
        await world.sign(1, key)
        with pytest.raises(StateError) as again:
            await world.sign(1, key, actor=BEA)
        assert again.value.code == "already_signed"


async def test_what_does_not_verify_is_not_kept() -> None:
    async with a_registry() as world:
        await world.register(STRING)
        await world.register(INTEGER)
        key, other = await world.trust(), await world.trust()
        add, before = world.catalogue.signing.add_signature, await world.events()
        payload = await world.catalogue.signing.payload(ACME, "invoice", ONE)
        other_payload = await world.catalogue.signing.payload(ACME, "invoice", RevisionNumber(2))
        good = sign(world.keys[key], payload)
        for signature, key_id in [
            (good, other),
            (sign(world.keys[key], other_payload), key),
            (sign(world.keys[key], payload + b"\n"), key),
            ("", key),
            (good, SigningKeyId("ed25519:" + "0" * 32)),
            (good, SigningKeyId("x" * 10_000)),
        ]:
            with pytest.raises(InvalidSignatureError):
                await add(ANN, "invoice", ONE, key_id=key_id, signature=signature)
        assert await world.events() == before
        assert await world.catalogue.signing.signatures(ACME, "invoice", ONE) == ()


async def test_a_key_of_another_tenant_is_no_key_here() -> None:
    async with a_registry() as world:
        await world.register(STRING)
        theirs = await world.trust(actor=ZOE)
        with pytest.raises(InvalidSignatureError, match="no key"):
            await world.sign(1, theirs)
        assert await world.catalogue.signing.keys(ACME) == ()
        assert [key.key_id for key in await world.catalogue.signing.keys(OTHER)] == [theirs]
        with pytest.raises(NotFoundError):
            await world.catalogue.signing.revoke_key(OLGA, theirs, reason="")


async def test_revoking_ends_trust_in_all_signatures_of_a_key_for_ever() -> None:
    async with a_registry() as world:
        await world.register(STRING)
        await world.register(INTEGER)
        key = await world.trust()
        await world.sign(1, key)
        await world.sign(2, key)
        revoked = await world.catalogue.signing.revoke_key(OLGA, key, reason="laptop stolen")
        assert revoked.revocation_reason == "laptop stolen"
        for number in (1, 2):
            resolved = await world.catalogue.resolver.resolve(f"invoice@{number}", ACME, serving=True)
            assert (resolved.signature, resolved.signed_by) == (SignatureStatus.REVOKED, None)
        await world.register({"type": "null"})
        with pytest.raises(InvalidSignatureError, match="revoked"):
            await world.sign(3, key)
        with pytest.raises(StateError) as again:
            await world.catalogue.signing.revoke_key(OLGA, key, reason="another reason")
        assert again.value.code == "key_revoked"
        with pytest.raises(StateError) as back:
            await world.catalogue.signing.trust_key(
                OLGA, public_key_text(raw_of(world.keys[key])), label="", principal=PrincipalId("bea")
            )
        assert back.value.code == "key_revoked"


async def test_a_key_that_has_expired_signs_nothing_more() -> None:
    async with a_registry() as world:
        await world.register(STRING)
        key = await world.trust(expires_at=world.clock.now + timedelta(days=1))
        world.clock.forward(days=1)
        with pytest.raises(InvalidSignatureError, match="expired"):
            await world.sign(1, key)


async def test_only_operators_say_whose_key_counts() -> None:
    async with a_registry() as world:
        key = Ed25519PrivateKey.generate()
        text = public_key_text(raw_of(key))
        trust = world.catalogue.signing.trust_key
        for actor in (ANN, BEA, CARL):
            with pytest.raises(ForbiddenError):
                await trust(actor, text, label="", principal=PrincipalId("ann"))
        with pytest.raises(ForbiddenError):
            await world.catalogue.signing.revoke_key(ANN, signing_key_id(raw_of(key)), reason="")
        trusted = await trust(OLGA, text, label="release", principal=PrincipalId("bea"))
        assert trusted.key_id == signing_key_id(raw_of(key))
        with pytest.raises(StateError) as known:
            await trust(OLGA, text, label="twice", principal=PrincipalId("bea"))
        assert known.value.code == "known_key"


async def test_a_key_is_trusted_under_a_label_a_principal_and_a_term_that_make_sense() -> None:
    async with a_registry() as world:
        text = public_key_text(raw_of(Ed25519PrivateKey.generate()))
        trust, bea, now = world.catalogue.signing.trust_key, PrincipalId("bea"), world.clock.now
        with pytest.raises(InvalidNameError):
            await trust(OLGA, text, label="x" * 129, principal=bea)
        for principal in ("", "x" * 129, "a\x00"):
            with pytest.raises(InvalidNameError):
                await trust(OLGA, text, label="", principal=PrincipalId(principal))
        for expires_at in (now, now - timedelta(days=1), (now + timedelta(days=1)).replace(tzinfo=None)):
            with pytest.raises(InvalidNameError):
                await trust(OLGA, text, label="", principal=bea, expires_at=expires_at)
        with pytest.raises(InvalidSignatureError):
            await trust(OLGA, public_key_text(bytes(32)), label="", principal=bea)
        assert await world.catalogue.signing.keys(ACME) == ()


async def test_signing_takes_a_role_and_something_to_sign() -> None:
    async with a_registry() as world:
        await world.register(STRING)
        key = await world.trust()
        with pytest.raises(ForbiddenError):
            await world.sign(1, key, actor=CARL)
        with pytest.raises(NotFoundError):
            await world.sign(2, key)
        await world.catalogue.lifecycle.tombstone_revision(ANN, "invoice", ONE, reason="")
        with pytest.raises(TombstonedError):
            await world.sign(1, key)


async def test_an_approver_without_a_team_signs_for_every_team() -> None:
    async with a_registry() as world:
        await world.register(STRING, actor=an_actor("fay", Role.AUTHOR, team="finance"))
        key = await world.trust()
        with pytest.raises(ForbiddenError):
            await world.sign(1, key, actor=an_actor("sam", Role.AUTHOR, Role.APPROVER, team="sales"))
        await world.sign(1, key, actor=BEA)
