"""Another tenant's private contract and one that is not there get byte-equal answers, on every route there is."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from starlette.routing import Route

from registry.revision import Contract
from registry.store import rows
from tests.gateway.contracts.world import INVOICE, Registry, error_of, registry
from tests.gateway.twins import chat

THEIRS, ABSENT = "theirs", "absent"
ELSEWHERE = "sha256:" + "0" * 64
NO_KEY = "ed25519:" + "0" * 32

# (method, path template, body). `{name}` is the contract, `{ref}` a reference to it, `{id}` a thing of another tenant.
BY_NAME: tuple[tuple[str, str, Any], ...] = (
    ("GET", "/v1/contracts/{name}", None),
    ("GET", "/v1/contracts/{name}@prod", None),
    ("GET", "/v1/contracts/{name}@1", None),
    ("GET", "/v1/contracts/{name}@1?include_retired=true", None),
    ("GET", "/v1/contracts/{name}?include_retired=true", None),
    ("GET", "/v1/contracts/{name}/revisions?include_retired=true", None),
    ("GET", "/v1/contracts/{name}@{digest}", None),
    ("GET", "/v1/contracts/{name}/revisions", None),
    ("GET", "/v1/contracts/{name}/aliases", None),
    ("GET", "/v1/contracts/{name}/aliases/prod", None),
    ("GET", "/v1/contracts/{name}/usage", None),
    ("GET", "/v1/contracts/{name}/revisions/{number}/signing-payload", None),
    ("GET", "/v1/contracts/{name}/revisions/{number}/signatures", None),
    ("PATCH", "/v1/contracts/{name}", {"description": "x"}),
    ("DELETE", "/v1/contracts/{name}", None),
    ("DELETE", "/v1/contracts/{name}/revisions/{number}", None),
    ("POST", "/v1/contracts/{name}/revisions/{number}/state", {"state": "sunset"}),
    ("POST", "/v1/contracts/{name}/revisions/{number}/signatures", {"key_id": NO_KEY, "signature": "AA=="}),
    ("PUT", "/v1/contracts/{name}/aliases/{alias}", {"revision": 1}),
    ("DELETE", "/v1/contracts/{name}/aliases/{alias}", None),
    ("POST", "/v1/contracts/{name}/aliases/{alias}/rollback", {}),
)
BY_REFERENCE: tuple[tuple[str, str, Any], ...] = (
    ("POST", "/v1/contracts/diff", {"old": "{ref}", "new": {"schema": {}}}),
    ("POST", "/v1/contracts/diff", {"old": {"schema": {}}, "new": "{ref}"}),
    ("POST", "/v1/contracts/explain", {"contract": "{ref}"}),
    ("POST", "/v1/contracts/explain", {"response_format": {"type": "contract", "contract": "{ref}"}}),
    ("POST", "/v1/chat/completions", chat(contract="{ref}")),
    ("POST", "/v1/chat/completions", chat(contract="{ref}", stream=True)),
    ("POST", "/v1/chat/completions", chat(response_format={"type": "contract", "contract": "{ref}"})),
    ("POST", "/v1/contracts", {"name": "mine", "schema": {"$ref": "schemagate:{ref}"}, "dry_run": True}),
    ("POST", "/v1/contracts/check", {"name": "mine", "schema": {"$ref": "schemagate:{ref}"}}),
)
BY_ID: tuple[tuple[str, str, Any], ...] = (
    ("GET", "/v1/promotions/{promotion}", None),
    ("POST", "/v1/promotions/{promotion}/approve", {}),
    ("POST", "/v1/promotions/{promotion}/reject", {}),
    ("POST", "/v1/promotions/{promotion}/withdraw", {}),
    ("POST", "/v1/signing-keys/{signing_key}/revoke", {}),
)
OF_THE_TENANT_ALONE = {
    ("GET", "/v1/contracts"), ("POST", "/v1/contracts"), ("POST", "/v1/contracts/check"),
    ("POST", "/v1/contracts/diff"), ("POST", "/v1/contracts/explain"), ("GET", "/v1/promotions"),
    ("GET", "/v1/signing-keys"), ("POST", "/v1/signing-keys"), ("GET", "/v1/policy"), ("PUT", "/v1/policy"),
    ("GET", "/v1/audit"), ("GET", "/v1/audit/export"), ("POST", "/v1/chat/completions"), ("GET", "/v1/models"),
    ("GET", "/v1/models/{model:path}"),
}  # fmt: skip
"""Routes whose path names nothing of anybody's; what their bodies may name is in the tables above, or listed below."""


def written(value: Any, **values: str) -> Any:
    text = json.dumps(value)
    for name, replacement in values.items():
        text = text.replace("{" + name + "}", replacement)
    return json.loads(text)


def told(text: str, *names: str) -> str:
    """An answer without what the asker said, and without the request's own id."""
    for name in names:
        text = text.replace(name, "NAME")
    return re.sub(r"req_[0-9a-f]{32}", "REQUEST", text)


async def furnished(there: Registry) -> dict[str, str]:
    """Another tenant with everything that can be asked about; the ids and digests of it."""
    digest = (await there.register(THEIRS, INVOICE))["digest"]
    await there.promote(1, name=THEIRS)
    await there.register(THEIRS, INVOICE | {"minProperties": 1})
    policy = {"two_person_promotion": True}
    assert (await there.ask("PUT", "/v1/policy", policy)).status_code == 200
    proposed = await there.ask("PUT", f"/v1/contracts/{THEIRS}/aliases/prod", {"revision": 2})
    assert proposed.status_code == 202, proposed.text
    key = await there.ask("POST", "/v1/signing-keys", {"public_key": "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="})
    assert key.status_code == 201, key.text
    return {"digest": digest, "promotion": proposed.json()["id"], "signing_key": key.json()["id"]}


def test_every_route_is_in_the_tables() -> None:
    from gateway.app import create_app
    from tests.gateway.twins import twin_settings

    app = create_app(twin_settings(Path("/nowhere")))
    tried = {
        (method, path.replace("{promotion}", "{promotion_id}").replace("{signing_key}", "{key_id}"))
        for method, path, _ in (*BY_NAME, *BY_REFERENCE, *BY_ID)
    }
    served = {
        (method, route.path)
        for route in app.routes
        if isinstance(route, Route) and route.path.startswith("/v1/")
        for method in route.methods or ()
        if method != "HEAD"
    } - {("GET", "/v1/contracts/{reference}")}
    facade = {(method, path) for method, path in served if path.startswith("/v1/metadata")}
    assert served - facade - tried - OF_THE_TENANT_ALONE == set()


@pytest.mark.parametrize("is_owner_named", [False, True], ids=["by name", "with its owner"])
async def test_not_yours_and_not_there_are_one_answer_by_name(tmp_path: Path, is_owner_named: bool) -> None:  # noqa: FBT001
    async with registry(tmp_path) as here, here.holding(tenant="other") as there:
        digest = (await furnished(there))["digest"]
        for method, path, body in BY_NAME:
            answers = []
            for name, content in ((THEIRS, digest), (ABSENT, ELSEWHERE)):
                filled = path.format(name=name, digest=content, number="1", alias="prod")
                owner = f"{'&' if '?' in filled else '?'}owner=other" if is_owner_named else ""
                answers.append(await here.ask(method, filled + owner, body))
            theirs, absent = answers
            assert theirs.status_code == absent.status_code == 404, (method, path, theirs.text, absent.text)
            assert told(theirs.text, THEIRS, digest) == told(absent.text, ABSENT, ELSEWHERE), (method, path)
            assert theirs.headers.keys() == absent.headers.keys()


@pytest.mark.parametrize("suffix", ["", "@prod", "@1", "@{digest}"], ids=["bare", "alias", "number", "digest"])
async def test_not_yours_and_not_there_are_one_answer_by_reference(tmp_path: Path, suffix: str) -> None:
    async with registry(tmp_path) as here, here.holding(tenant="other") as there:
        digest = (await furnished(there))["digest"]
        for method, path, body in BY_REFERENCE:
            answers = []
            for name, content in ((THEIRS, digest), (ABSENT, ELSEWHERE)):
                reference = f"other/{name}" + suffix.replace("{digest}", content)
                answers.append(await here.ask(method, path, written(body, ref=reference)))
            theirs, absent = answers
            assert 400 <= theirs.status_code == absent.status_code < 500, (path, theirs.text, absent.text)
            assert told(theirs.text, THEIRS, digest) == told(absent.text, ABSENT, ELSEWHERE), (path, body)


async def test_not_yours_and_not_there_are_one_answer_by_digest_alone(tmp_path: Path) -> None:
    async with registry(tmp_path) as here, here.holding(tenant="other") as there:
        digest = (await furnished(there))["digest"]
        for method, path, body in BY_REFERENCE:
            theirs, absent = [await here.ask(method, path, written(body, ref=each)) for each in (digest, ELSEWHERE)]
            assert 400 <= theirs.status_code == absent.status_code < 500, (path, theirs.text, absent.text)
            assert told(theirs.text, digest) == told(absent.text, ELSEWHERE), (path, body)


async def test_not_yours_and_not_there_are_one_answer_by_id(tmp_path: Path) -> None:
    async with registry(tmp_path) as here, here.holding(tenant="other") as there:
        ids = await furnished(there)
        absent_ids = {
            "promotion": "prm_" + "0" * 32,
            "signing_key": NO_KEY,
        }
        for method, path, body in BY_ID:
            theirs = await here.ask(method, path.format(**ids), body)
            absent = await here.ask(method, path.format(**absent_ids), body)
            assert theirs.status_code == absent.status_code == 404, (path, theirs.text, absent.text)
            assert told(theirs.text, *ids.values()) == told(absent.text, *absent_ids.values())


async def test_no_row_of_what_is_private_to_others_leaves_the_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    read = rows.contract

    def recorded(row: rows.AnyRow) -> Contract:
        contract = read(row)
        seen.append(f"{contract.tenant}/{contract.name}")
        return contract

    async with registry(tmp_path) as here, here.holding(tenant="other") as there:
        await furnished(there)
        await there.register("common", visibility="shared")
        monkeypatch.setattr(rows, "contract", recorded)
        for method, path, body in BY_NAME:
            filled = path.format(name=THEIRS, digest=ELSEWHERE, number="1", alias="prod")
            await here.ask(method, f"{filled}{'&' if '?' in filled else '?'}owner=other", body)
        assert seen == []
        await here.ask("GET", "/v1/contracts/common?owner=other")
    assert seen == ["other/common"]


async def test_lists_policies_and_chains_are_a_tenants_own(tmp_path: Path) -> None:
    async with registry(tmp_path) as here, here.holding(tenant="other") as there:
        before = {
            path: told((await here.ask("GET", path)).text)
            for path in ("/v1/contracts", "/v1/contracts?owner=other", "/v1/contracts?q=the", "/v1/promotions",
                         "/v1/signing-keys", "/v1/policy", "/v1/audit", "/v1/audit/export")
        }  # fmt: skip
        await furnished(there)
        after = {path: told((await here.ask("GET", path)).text) for path in before}
        listed = (await there.ask("GET", "/v1/contracts")).json()
    assert after == before
    assert [each["name"] for each in listed["data"]] == [THEIRS]


async def test_names_numbers_and_schema_ids_count_within_a_tenant(tmp_path: Path) -> None:
    async with registry(tmp_path) as here, here.holding(tenant="other") as there:
        await there.register(THEIRS)
        await there.register("other-one", {"type": "string"})
        mine = await here.register(THEIRS)
    assert mine["is_new"]
    assert (mine["revision"]["number"], mine["revision"]["schema_id"]) == (1, 1)


async def test_a_retired_shared_contract_is_simply_not_there_for_others(tmp_path: Path) -> None:
    async with registry(tmp_path) as here, here.holding(tenant="other") as there:
        await there.register("once", visibility="shared")
        seen = await here.ask("GET", "/v1/contracts/once?owner=other")
        changed = await here.ask("DELETE", "/v1/contracts/once?owner=other")
        await there.ask("DELETE", "/v1/contracts/once")
        gone = [
            await here.ask("GET", f"/v1/contracts/{name}?owner=other")
            for name in ("once", "never", "once@1", "never@1", "once@prod", "never@prod")
        ]
        owners = await there.ask("GET", "/v1/contracts/once")
    assert seen.status_code == 200
    assert error_of(changed) == (403, "not_owner")
    assert {answer.status_code for answer in gone} == {404}
    for theirs, absent in zip(gone[::2], gone[1::2], strict=True):
        assert told(theirs.text, "once") == told(absent.text, "never")
    assert error_of(owners) == (410, "contract_gone")


async def test_a_caller_may_read_and_nothing_else(tmp_path: Path) -> None:
    async with registry(tmp_path) as here:
        await here.register(THEIRS)
        await here.promote(1, name=THEIRS)
        async with here.holding(principal="caller", roles=["caller"]) as caller:
            read = await caller.ask("GET", f"/v1/contracts/{THEIRS}@prod")
            refused = {
                (method, path): await caller.ask(method, path.format(name=THEIRS, number="1", alias="prod"), body)
                for method, path, body in (
                    *(row for row in BY_NAME if row[0] != "GET"),
                    ("POST", "/v1/contracts", {"name": "new", "schema": {}}),
                    ("PUT", "/v1/policy", {}),
                    ("POST", "/v1/signing-keys", {"public_key": "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="}),
                    ("GET", "/v1/audit", None),
                    ("GET", "/v1/audit/export", None),
                )
            }
    assert read.status_code == 200
    assert {row: error_of(answer) for row, answer in refused.items()} == dict.fromkeys(refused, (403, "forbidden"))
