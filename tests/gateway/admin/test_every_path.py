"""Every path that the description has, asked by whoever has no business there: new routes are tried as they come."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.gateway.contracts.world import Registry, registry

OPEN = {"/healthz", "/readyz", "/metrics", "/openapi.json"}
SENDS = {"POST", "PUT", "PATCH"}
METHODS = {"GET", "POST", "PUT", "PATCH", "DELETE"}
VALUES = {"tenant": "acme", "level": "team", "subject": "billing", "key_id": "0" * 16, "number": "1", "version": "1"}


async def described(here: Registry) -> list[tuple[str, str]]:
    """Method and path of every operation."""
    document: dict[str, Any] = (await here.ask("GET", "/openapi.json")).json()
    found = [(method.upper(), path) for path, item in document["paths"].items() for method in item]
    assert len(found) > 60
    return sorted(each for each in found if each[0] in METHODS)


def filled(path: str) -> str:
    """The path with something in each of its places."""
    return re.sub(r"\{(\w+)[^}]*\}", lambda place: VALUES.get(place[1], "invoice"), path)


def sent(method: str) -> dict[str, Any] | None:
    """A body, where the method has one."""
    return {} if method in SENDS else None


async def test_whoever_is_nobody_gets_nowhere(tmp_path: Path) -> None:
    async with registry(tmp_path) as here:
        for method, path in await described(here):
            answer = await here.ask(method, filled(path), sent(method), authorization="Bearer nobody")
            assert answer.status_code in ({200} if path in OPEN else {401}), (method, path)


async def test_operators_of_another_tenant_learn_nothing_of_one_that_is_there(tmp_path: Path) -> None:
    async with registry(tmp_path) as here:
        await here.ask("POST", "/v1/admin/tenants", {"id": "acme"})
        operations = [each for each in await described(here) if "{tenant}" in each[1]]
        assert len(operations) > 20
        async with here.holding(tenant="evil") as other:
            for method, path in operations:
                body = sent(method)
                there = await other.ask(method, filled(path), body)
                nowhere = await other.ask(method, filled(path).replace("acme", "nobody"), body)
                assert there.status_code == nowhere.status_code == 404, (method, path)
                assert there.json()["error"]["code"] == nowhere.json()["error"]["code"] == "tenant_not_found"
        events = (await here.ask("GET", "/v1/audit")).json()["data"]
    assert "evil" not in str(events)


@pytest.mark.parametrize("role", ["caller", "author", "approver", "auditor"])
async def test_who_is_no_operator_changes_nothing_that_operators_set(tmp_path: Path, role: str) -> None:
    async with registry(tmp_path) as here:
        await here.ask("POST", "/v1/admin/tenants", {"id": "acme"})
        async with here.holding(tenant="acme", roles=[role]) as own, here.holding(roles=[role]) as installations:
            for method, path in await described(here):
                if not path.startswith("/v1/admin") or method == "GET":
                    continue
                body = sent(method)
                assert (await own.ask(method, filled(path), body)).status_code == 403, (method, path)
                assert (await installations.ask(method, filled(path), body)).status_code == 403, (method, path)
            for method, path in await described(here):
                if "{tenant}" in path and method == "GET":
                    assert (await installations.ask(method, filled(path))).status_code == 403, path
