"""`/v1/admin/tenants/…/serving-policy` over a whole gateway."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from gateway.auth.issue import issue_key
from gateway.auth.keys import Pepper
from gateway.auth.store import KeyStore
from gateway.services import SERVICES, Services
from policy.roles import ALL_ROLES, Role
from policy.serving import Downgrade
from registry.identifiers import PrincipalId, TenantId
from tests.gateway.twins import PEPPER, World, gateway_with

TENANT = "/v1/admin/tenants/local/serving-policy"


def services(world: World) -> Services:
    found = getattr(world.app.state, SERVICES)
    assert isinstance(found, Services)
    return found


async def key_of(world: World, tenant: str, roles: frozenset[Role] = ALL_ROLES) -> str:
    store = await KeyStore.open(world.settings.database_url)
    try:
        key = await issue_key(
            store,
            Pepper(PEPPER),
            tenant=TenantId(tenant),
            label="test",
            at=datetime.now(UTC),
            principal=PrincipalId("ada"),
            roles=roles,
        )
    finally:
        await store.close()
    return key.text


async def put(world: World, path: str, document: Any, **headers: str) -> httpx.Response:
    return await world.client.put(path, json=document, headers=headers)


async def test_at_first_the_default_holds_and_nothing_is_said(tmp_path: Path) -> None:
    async with gateway_with(tmp_path) as world:
        answer = await world.client.get(TENANT)
        assert (answer.status_code, answer.headers["etag"]) == (200, '"0"')
        body = answer.json()
        assert body["tenant"] == "local"
        assert set(body["policy"].values()) == {None}
        assert body["effective"]["floor"] == "checked"
        assert body["effective"]["downgrade"] == "none"
        assert (body["families"], body["changed_at"]) == ([], None)


async def test_a_document_holds_at_once_and_a_family_only_tightens_it(tmp_path: Path) -> None:
    async with gateway_with(tmp_path) as world:
        said = {"downgrade": "validate", "models": ["a", "b"], "max_repairs": 3}
        first = await put(world, TENANT, said)
        assert first.status_code == 200
        assert {name: value for name, value in first.json()["policy"].items() if value is not None} == said
        family = await put(world, f"{TENANT}/billing.*", {"downgrade": "repair", "models": ["b"], "floor": "strict"})
        assert family.status_code == 200
        effective = (await world.client.get(f"{TENANT}/billing.eu.invoice")).json()["effective"]
        assert (effective["downgrade"], effective["models"], effective["floor"]) == ("validate", ["b"], "strict")
        assert (await world.client.get(TENANT)).json()["families"] == ["billing.*"]
        policies = await services(world).policies.of_tenant(TenantId("local"))
        assert policies.of_contract(None).downgrade is Downgrade.VALIDATE


async def test_the_installations_word_binds_its_tenants(tmp_path: Path) -> None:
    async with gateway_with(tmp_path, serving_policy='{"floor":"strict","allow_refusal":false}') as world:
        answer = await put(world, TENANT, {"floor": "checked", "allow_refusal": True, "allow_tools": False})
        effective = answer.json()["effective"]
        assert (effective["floor"], effective["allow_refusal"], effective["allow_tools"]) == ("strict", False, False)


async def test_a_version_that_has_passed_changes_nothing(tmp_path: Path) -> None:
    async with gateway_with(tmp_path) as world:
        assert (await put(world, TENANT, {}, **{"if-match": '"0"'})).headers["etag"] == '"1"'
        late = await put(world, TENANT, {"floor": "strict"}, **{"if-match": '"0"'})
        assert late.status_code == 412
        assert (await world.client.delete(TENANT, headers={"if-match": '"9"'})).status_code == 412
        dropped = await world.client.delete(TENANT, headers={"if-match": '"1"'})
        assert (dropped.status_code, dropped.headers["etag"]) == (200, '"0"')


@pytest.mark.parametrize(
    ("document", "param"),
    [
        ({"flor": "strict"}, "flor"),
        ({"floor": "lax"}, "floor"),
        ({"max_repairs": 99}, "max_repairs"),
        ({"max_repairs": True}, "max_repairs"),
        ({"models": "a"}, "models"),
        ({"models": [""]}, "models[0]"),
        ({"allow_tools": "yes"}, "allow_tools"),
        ({"downgrade": 1}, "downgrade"),
    ],
)
async def test_a_bad_document_is_refused_by_name(tmp_path: Path, document: Any, param: str) -> None:
    async with gateway_with(tmp_path) as world:
        answer = await put(world, TENANT, document)
        assert answer.status_code == 400
        assert answer.json()["error"]["param"] == param
        assert (await world.client.get(TENANT)).headers["etag"] == '"0"'


@pytest.mark.parametrize("family", ["*", ".*", "a@prod", "a/b/c", "x" * 151, "sha256:" + "0" * 64, "a b", "%00"])
async def test_what_cannot_name_a_family_is_refused(tmp_path: Path, family: str) -> None:
    async with gateway_with(tmp_path) as world:
        assert (await put(world, f"{TENANT}/{family}", {})).status_code == 400


async def test_another_tenants_policy_is_for_the_installations_operators(tmp_path: Path) -> None:
    async with gateway_with(tmp_path) as world:
        other = "/v1/admin/tenants/acme/serving-policy"
        assert (await world.client.put(other, json={})).status_code == 404  # there is no such tenant yet
        assert (await world.client.post("/v1/admin/tenants", json={"id": "acme"})).status_code == 201
        assert (await put(world, other, {"floor": "strict"})).status_code == 200
        headers = {"Authorization": f"Bearer {await key_of(world, 'acme')}"}
        assert (await world.client.get(other, headers=headers)).json()["policy"]["floor"] == "strict"
        for path in (TENANT, "/v1/admin/tenants/nobody/serving-policy"):
            refused = await world.client.put(path, json={}, headers=headers)
            assert (refused.status_code, refused.json()["error"]["code"]) == (404, "tenant_not_found")


async def test_a_change_is_in_the_tenants_audit_chain(tmp_path: Path) -> None:
    async with gateway_with(tmp_path) as world:
        await put(world, f"{TENANT}/invoice", {"allow_inline": False})
        events = (await world.client.get("/v1/audit")).json()["data"]
        assert events[-1]["action"] == "setting.set"
        assert events[-1]["subject"] == {"topic": "serving", "subject": "family:invoice"}


async def test_an_author_reads_the_policy_and_does_not_set_it(tmp_path: Path) -> None:
    async with gateway_with(tmp_path) as world:
        headers = {"Authorization": f"Bearer {await key_of(world, 'local', frozenset({Role.AUTHOR}))}"}
        assert (await world.client.get(TENANT, headers=headers)).status_code == 200
        refused = await world.client.put(TENANT, json={"floor": "checked"}, headers=headers)
        assert refused.status_code == 403
