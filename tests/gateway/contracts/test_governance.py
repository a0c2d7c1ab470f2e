"""Signatures, signing keys, policy and the audit chain, as the API shows them."""

import base64
import itertools
from io import BytesIO
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from registry.audit_chain import Intact
from registry.audit_export import verify_export
from tests.gateway.contracts.world import INVOICE, NARROWER, WIDER, Registry, error_of, registry
from tests.gateway.twins import NodeTwin, PoolTwin, chat, says

CHAT = "/v1/chat/completions"
PROD = "/v1/contracts/invoice/aliases/prod"
REVISION = "/v1/contracts/invoice/revisions/1"


async def trusted(here: Registry, private: Ed25519PrivateKey, **fields: Any) -> str:
    """The id of a key that the tenant trusts from now on."""
    raw = private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    body = {"public_key": base64.b64encode(raw).decode(), "label": "release", **fields}
    response = await here.ask("POST", "/v1/signing-keys", body)
    assert response.status_code == 201, response.text
    key_id: str = response.json()["id"]
    return key_id


async def signed(here: Registry, private: Ed25519PrivateKey, key_id: str, place: str = REVISION) -> Any:
    """The answer to a signature over what the API says is to be signed."""
    payload = (await here.ask("GET", f"{place}/signing-payload")).json()
    data = base64.b64decode(payload["base64"])
    assert data.decode() == payload["text"]
    signature = base64.b64encode(private.sign(data)).decode()
    return await here.ask("POST", f"{place}/signatures", {"key_id": key_id, "signature": signature})


async def test_a_signature_is_made_outside_verified_here_and_told_in_answers(tmp_path: Path) -> None:
    private = Ed25519PrivateKey.generate()
    async with registry(tmp_path, node=NodeTwin(script=lambda _: says('{"id":"a"}'))) as here:
        await here.register()
        key_id = await trusted(here, private)
        forged = await here.ask(
            "POST", f"{REVISION}/signatures", {"key_id": key_id, "signature": base64.b64encode(bytes(64)).decode()}
        )
        added = await signed(here, private, key_id)
        twice = await signed(here, private, key_id)
        listed = (await here.ask("GET", f"{REVISION}/signatures")).json()
        answered = await here.ask("POST", CHAT, chat(contract="invoice@1"))
        again = await here.register()
    assert error_of(forged) == (400, "invalid_signature")
    assert added.status_code == 201, added.text
    assert twice.status_code == 409
    assert (listed["status"], [each["counts"] for each in listed["data"]]) == ("signed", [True])
    member = answered.json()["schemagate"]["contract"]["signature"]
    assert member == {"status": "signed", "key_id": key_id}
    assert again["revision"]["signature"] == member


async def test_what_needs_a_signature_is_not_served_once_its_key_is_revoked(tmp_path: Path) -> None:
    private = Ed25519PrivateKey.generate()
    async with registry(tmp_path, node=NodeTwin(script=lambda _: says('{"id":"a"}'))) as here:
        await here.ask("PUT", "/v1/policy", {"require_signature": True})
        await here.register()
        unsigned = await here.ask("PUT", PROD, {"revision": 1})
        key_id = await trusted(here, private)
        await signed(here, private, key_id)
        await here.promote(1)
        served = await here.ask("POST", CHAT, chat(contract="invoice@prod"))
        revoked = await here.ask("POST", f"/v1/signing-keys/{key_id}/revoke", {"reason": "stolen"})
        dead = await here.ask("POST", CHAT, chat(contract="invoice@prod"))
        by_number = await here.ask("POST", CHAT, chat(contract="invoice@1"))
        keys = (await here.ask("GET", "/v1/signing-keys")).json()["data"]
        back = await here.ask("POST", "/v1/signing-keys", {"public_key": keys[0]["public_key"], "label": "again"})
    assert error_of(unsigned) == (409, "signature_required")
    assert served.status_code == 200
    assert revoked.json()["revocation_reason"] == "stolen"
    assert error_of(dead) == (409, "signature_required")
    assert error_of(by_number) == (409, "signature_required")
    assert back.status_code == 409


async def test_a_key_that_is_none_is_refused(tmp_path: Path) -> None:
    async with registry(tmp_path) as here:
        refused = [
            await here.ask("POST", "/v1/signing-keys", body)
            for body in (
                {"public_key": "AAAA"},
                {"public_key": base64.b64encode(bytes(32)).decode()},
                {"public_key": "x" * 2000},
                {"public_key": base64.b64encode(bytes(range(32))).decode(), "expires_at": "tomorrow"},
                {"public_key": base64.b64encode(bytes(range(32))).decode(), "expires_at": "2030-01-01T00:00:00"},
            )
        ]
        unknown = await here.ask("POST", "/v1/signing-keys/ed25519:00/revoke", {})
    assert [error_of(each)[1] for each in refused] == [
        "invalid_signature", "invalid_signature", "invalid_value", "invalid_value", "invalid_value",
    ]  # fmt: skip
    assert error_of(unknown) == (404, "signing_key_not_found")


async def test_a_governed_shared_signed_and_promoted_contract_is_one_artifact_for_all(tmp_path: Path) -> None:
    private, pool = Ed25519PrivateKey.generate(), PoolTwin()
    large = INVOICE | {"properties": {f"p{number}": {"type": "integer"} for number in range(150)}, "required": []}
    async with (
        registry(tmp_path, pool=pool, node=NodeTwin(script=lambda _: says("{}")), governed_tenants="local") as here,
        here.holding(principal="approver", roles=["approver"]) as approver,
        here.holding(tenant="other", roles=["caller"]) as there,
    ):
        too_large = await here.ask("POST", "/v1/contracts", {"name": "big", "schema": large})
        not_allowed = await here.ask("POST", "/v1/contracts", {"name": "big", "schema": large, "class": "governed"})
        await here.ask("PUT", "/v1/policy", {"allow_governed": True})
        await here.register("big", large, **{"class": "governed", "visibility": "shared"})
        unsigned = await here.ask("POST", CHAT, chat(contract="big@1"))
        key_id = await trusted(here, private)
        await signed(here, private, key_id, "/v1/contracts/big/revisions/1")
        proposed = await here.ask("PUT", "/v1/contracts/big/aliases/prod", {"revision": 1})
        applied = await approver.ask("POST", f"{proposed.headers['location']}/approve", {})
        mine = await here.ask("POST", CHAT, chat(contract="big"))
        theirs = await there.ask("POST", CHAT, chat(contract="local/big@prod"))
        by_number = await there.ask("POST", CHAT, chat(contract="local/big@1"))
        explained = await there.ask("POST", "/v1/contracts/explain", {"contract": "local/big"})
    assert error_of(too_large) == (400, "limit_exceeded")
    assert error_of(not_allowed) == (409, "governed_not_allowed")
    assert proposed.status_code == 202
    assert applied.status_code == 200, applied.text
    one, two = (each.json()["schemagate"] for each in (mine, theirs))
    assert one["artifact_key"] == two["artifact_key"]
    assert (two["cache"], two["contract"]["class"]) == ("l1", "governed")
    assert by_number.json()["schemagate"]["artifact_key"] != one["artifact_key"]
    assert error_of(unsigned) == (409, "signature_required")
    assert {request.limits for request in pool.requests} == {"governed"}
    assert [request.tenant_partition for request in pool.requests].count("governed") == 1
    assert explained.json()["limit_class"] == "governed"


async def test_a_governed_contract_is_not_served_where_the_installation_no_longer_grants_it(tmp_path: Path) -> None:
    async with registry(tmp_path, governed_tenants="local, another") as here:
        await here.ask("PUT", "/v1/policy", {"allow_governed": True})
        await here.register(**{"class": "governed"})
    async with registry(tmp_path, governed_tenants="another") as here:
        explained = await here.ask("POST", "/v1/contracts/explain", {"contract": "invoice@1"})
        registered = await here.ask("POST", "/v1/contracts", {"name": "invoice", "schema": NARROWER})
    assert error_of(explained) == (409, "governed_not_allowed")
    assert error_of(registered) == (409, "governed_not_allowed")


async def test_a_policy_changes_under_its_etag(tmp_path: Path) -> None:
    async with registry(tmp_path) as here:
        default = await here.ask("GET", "/v1/policy")
        changed = await here.ask(
            "PUT", "/v1/policy", {"compatibility": "FULL", "protected_aliases": ["prod", "live"]},
            if_match=default.headers["etag"],
        )  # fmt: skip
        late = await here.ask("PUT", "/v1/policy", {}, if_match=default.headers["etag"])
        await here.register()
        level = await here.ask("POST", "/v1/contracts", {"name": "invoice", "schema": WIDER})
        wrong = [
            await here.ask("PUT", "/v1/policy", body)
            for body in (
                {"compatibility": "SOME"},
                {"require_signatures": True},
                {"protected_aliases": ["Prod"]},
                {"promotion_safety": "none"},
            )
        ]
    assert (default.json()["version"], default.headers["etag"]) == (0, '"0"')
    assert default.json()["protected_aliases"] == ["prod"]
    assert (changed.json()["compatibility"], changed.json()["protected_aliases"]) == ("FULL", ["live", "prod"])
    assert changed.headers["etag"] == '"1"'
    assert error_of(late) == (412, "precondition_failed")
    assert error_of(level) == (409, "incompatible")
    assert level.json()["error"]["level"] == "FULL"
    assert [error_of(each)[1] for each in wrong] == [
        "invalid_value", "unknown_parameter", "invalid_name", "invalid_value",
    ]  # fmt: skip


async def test_the_audit_chain_comes_in_pages_and_as_a_file_that_verifies(tmp_path: Path) -> None:
    async with registry(tmp_path) as here:
        await here.register()
        await here.register(schema=WIDER, message="line\u2028separator")
        await here.promote(1)
        await here.promote(2)
        events: list[dict[str, Any]] = []
        after = 0
        while True:
            page = (await here.ask("GET", f"/v1/audit?limit=2&after={after}")).json()
            events += page["data"]
            if page["next_after"] is None:
                break
            after = page["next_after"]
        export = await here.ask("GET", "/v1/audit/export")
    assert [event["sequence"] for event in events] == list(range(1, len(events) + 1))
    assert page["head"] == {"sequence": len(events), "digest": events[-1]["digest"]}
    actions = [event["action"] for event in events]
    assert actions.count("revision.registered") == 2
    assert actions.count("alias.moved") == 2
    assert all(later["previous"] == earlier["digest"] for earlier, later in itertools.pairwise(events))
    intact = verify_export(BytesIO(export.content))
    assert isinstance(intact, Intact)
    tampered = export.content.replace(b'"number":1', b'"number":3', 1)
    assert tampered != export.content
    assert not isinstance(verify_export(BytesIO(tampered)), Intact)
    cut = b"\n".join(export.content.split(b"\n")[:-2]) + b"\n"
    assert not isinstance(verify_export(BytesIO(cut)), Intact)


async def test_an_audit_needs_its_role(tmp_path: Path) -> None:
    async with (
        registry(tmp_path) as here,
        here.holding(principal="a", roles=["auditor"]) as auditor,
        here.holding(principal="b", roles=["author", "approver", "caller"]) as others,
    ):
        await here.register()
        allowed = [await auditor.ask("GET", path) for path in ("/v1/audit", "/v1/audit/export")]
        refused = [await others.ask("GET", path) for path in ("/v1/audit", "/v1/audit/export")]
    assert [each.status_code for each in allowed] == [200, 200]
    assert [error_of(each) for each in refused] == [(403, "forbidden")] * 2
