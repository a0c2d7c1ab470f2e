"""Tenants and keys through a gateway's admin API."""

from collections.abc import Iterator, Mapping
from typing import Final
from urllib.parse import quote

from cli.remote.exits import CommandError, Exit
from cli.remote.gateway import Gateway
from cli.remote.members import Members
from registry.contract import JsonValue

_TENANTS: Final = "/v1/admin/tenants"
_MAX_LISTED: Final = 100_000


class ApiDesk:
    """One gateway, asked with an operator's key."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    def issue(self, tenant: str, sent: Mapping[str, JsonValue]) -> Members:
        """A new key; `key` is the key in clear."""
        return self._gateway.write("POST", f"{_of(tenant)}/keys", sent).members

    def keys(self, tenant: str | None) -> Iterator[Members]:
        """A tenant's keys, or those of all tenants that the operator can see."""
        named = [tenant] if tenant is not None else [each.text("id") for each in self.tenants()]
        for each in named:
            yield from self._gateway.pages(f"{_of(each)}/keys", {}, limit=_MAX_LISTED)

    def key(self, tenant: str | None, key_id: str) -> Members:
        """One key."""
        return self._gateway.get(_key(tenant, key_id))

    def rotate(self, tenant: str | None, key_id: str, *, overlap_seconds: int) -> Members:
        """The key with another secret."""
        sent: dict[str, JsonValue] = {"overlap_seconds": overlap_seconds}
        return self._gateway.write("POST", f"{_key(tenant, key_id)}/rotate", sent).members

    def change(self, tenant: str | None, key_id: str, sent: Mapping[str, JsonValue]) -> Members:
        """The key with something else about it."""
        return self._gateway.write("PATCH", _key(tenant, key_id), sent).members

    def revoke(self, tenant: str | None, key_id: str) -> None:
        """End a key."""
        self._gateway.write("POST", f"{_key(tenant, key_id)}/revoke", {})

    def create_tenant(self, tenant: str, *, name: str) -> Members:
        """A new tenant."""
        return self._gateway.write("POST", _TENANTS, {"id": tenant, "name": name}).members

    def tenants(self) -> Iterator[Members]:
        """All that the operator can see."""
        return self._gateway.pages(_TENANTS, {}, limit=_MAX_LISTED)

    def tenant(self, tenant: str) -> Members:
        """One tenant."""
        return self._gateway.get(_of(tenant))

    def change_tenant(self, tenant: str, sent: Mapping[str, JsonValue]) -> Members:
        """The tenant as it is then."""
        return self._gateway.write("PATCH", _of(tenant), sent).members

    def create_team(self, tenant: str, team: str) -> Members:
        """A new team."""
        return self._gateway.write("POST", f"{_of(tenant)}/teams", {"name": team}).members

    def teams(self, tenant: str) -> tuple[Members, ...]:
        """A tenant's teams."""
        return self._gateway.get(f"{_of(tenant)}/teams").each("data")


def _of(tenant: str) -> str:
    return f"{_TENANTS}/{quote(tenant, safe='')}"


def _key(tenant: str | None, key_id: str) -> str:
    if tenant is None:
        raise CommandError("say whose key it is: --tenant", exit_code=Exit.USAGE, code="no_tenant")
    return f"{_of(tenant)}/keys/{quote(key_id, safe='')}"
