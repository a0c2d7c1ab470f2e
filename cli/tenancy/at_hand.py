"""Tenants and keys in a database that is at hand: whoever holds it needs no key."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import TypeVar

import typer

from cli.remote.exits import CommandError, Exit
from cli.remote.members import Members
from cli.tenancy.options import Place
from cli.up.layout import Layout, Ports, default_cache_dir, default_state_dir
from gateway.admin.members import key_id as key_of
from gateway.admin.members import key_member, key_values, team_member, tenant_member
from gateway.admin.protocol import KeyShown
from gateway.auth.issue import issue_key
from gateway.auth.key_desk import KeyChange, KeyDesk
from gateway.auth.keys import Pepper
from gateway.auth.operator import AT_HAND
from gateway.auth.records import KeyRecord
from gateway.auth.store import KeyStore
from gateway.auth.tenant_store import TenantStore
from gateway.errors import GatewayError, StoreUnavailableError
from gateway.identifiers import KeyId
from gateway.protocol import Answered
from policy.roles import Role
from policy.scopes import Scope
from registry.contract import JsonValue
from registry.errors import NotFoundError, RegistryError
from registry.identifiers import PrincipalId, TeamName, TenantId
from registry.parsing import parse_json

_Result = TypeVar("_Result")
_MAX_PAGE = 100


class HandDesk:
    """One database, opened anew for each piece of work."""

    def __init__(self, place: Place) -> None:
        self._place = place

    def issue(self, tenant: str, sent: Mapping[str, JsonValue]) -> Members:
        """A new key; its tenant and its team come into being with it."""
        now, pepper = datetime.now(UTC), self._pepper()
        principal, team, scopes = sent.get("principal"), sent.get("team"), sent.get("scopes")

        async def make(store: KeyStore) -> Members:
            key = await issue_key(
                store,
                pepper,
                tenant=TenantId(tenant),
                label=str(sent.get("label", "")),
                at=now,
                expires_at=_moment(sent.get("expires_at")),
                principal=PrincipalId(principal) if isinstance(principal, str) else None,
                team=TeamName(team) if isinstance(team, str) else None,
                roles=frozenset(Role(name) for name in _names(sent["roles"])),
                scopes=None if scopes is None else frozenset(Scope(name) for name in _names(scopes)),
            )
            record = await store.find(key.key_id)
            assert record is not None, "keys are never deleted"
            return _members(KeyShown(**key_values(record, now), key=key.text))

        return self._run(make)

    def keys(self, tenant: str | None) -> Iterator[Members]:
        """A tenant's keys, or everybody's."""
        now = datetime.now(UTC)

        async def read(store: KeyStore) -> list[Members]:
            records = await store.records(None if tenant is None else TenantId(tenant))
            return [_members(key_member(record, now)) for record in records]

        return iter(self._run(read))

    def key(self, tenant: str | None, key_id: str) -> Members:
        """One key."""

        async def read(store: KeyStore) -> Members:
            return _members(key_member(await _found(store, tenant, key_id), datetime.now(UTC)))

        return self._run(read)

    def rotate(self, tenant: str | None, key_id: str, *, overlap_seconds: int) -> Members:
        """The key with another secret."""
        pepper = self._pepper()

        async def rotate(store: KeyStore) -> Members:
            of, now = (await _found(store, tenant, key_id)).tenant, datetime.now(UTC)
            key, record = await KeyDesk(store, pepper).rotate(
                of, KeyId(key_id), overlap=timedelta(seconds=overlap_seconds), by=AT_HAND, at=now
            )
            return _members(KeyShown(**key_values(record, now), key=key.text))

        return self._run(rotate)

    def change(self, tenant: str | None, key_id: str, sent: Mapping[str, JsonValue]) -> Members:
        """The key with something else about it."""
        label, roles, scopes = sent.get("label"), sent.get("roles"), sent.get("scopes")
        change = KeyChange(
            label=label if isinstance(label, str) else None,
            expires_at=_moment(sent.get("expires_at")),
            ends_expiry="expires_at" in sent and sent["expires_at"] is None,
            roles=None if roles is None else frozenset(Role(name) for name in _names(roles)),
            scopes=None if scopes is None else frozenset(Scope(name) for name in _names(scopes)),
            ends_scopes="scopes" in sent and scopes is None,
        )

        async def apply(store: KeyStore) -> Members:
            of, now = (await _found(store, tenant, key_id)).tenant, datetime.now(UTC)
            # Nothing is digested here, so the pepper is not needed.
            desk = KeyDesk(store, Pepper(" " * 32))
            return _members(key_member(await desk.change(of, KeyId(key_id), change, by=AT_HAND, at=now), now))

        return self._run(apply)

    def revoke(self, tenant: str | None, key_id: str) -> None:
        """End a key that has not ended."""

        async def end(store: KeyStore) -> bool:
            record = await store.find(KeyId(key_id))
            is_meant = record is not None and tenant in {None, record.tenant}
            return is_meant and await store.revoke(KeyId(key_id), at=datetime.now(UTC))

        if not self._run(end):
            raise CommandError(f"no live key has the id {key_id!r}", exit_code=Exit.NO, code="key_not_live")

    def create_tenant(self, tenant: str, *, name: str) -> Members:
        """A new tenant."""

        async def create(store: KeyStore) -> Members:
            made = TenantStore(store.database).create(TenantId(tenant), name=name, by=AT_HAND, at=datetime.now(UTC))
            return _members(tenant_member(await made))

        return self._run(create)

    def tenants(self) -> Iterator[Members]:
        """All tenants."""

        async def read(store: KeyStore) -> list[Members]:
            found: list[Members] = []
            cursor: str | None = None
            while True:
                page = await TenantStore(store.database).page(cursor=cursor, limit=_MAX_PAGE)
                found.extend(_members(tenant_member(each)) for each in page.items)
                cursor = page.next_cursor
                if cursor is None:
                    return found

        return iter(self._run(read))

    def tenant(self, tenant: str) -> Members:
        """One tenant."""

        async def read(store: KeyStore) -> Members:
            record = await TenantStore(store.database).find(TenantId(tenant))
            if record is None:
                raise NotFoundError("tenant", tenant)
            return _members(tenant_member(record))

        return self._run(read)

    def change_tenant(self, tenant: str, sent: Mapping[str, JsonValue]) -> Members:
        """The tenant as it is then."""
        name, disabled = sent.get("name"), sent.get("disabled")

        async def change(store: KeyStore) -> Members:
            record = await TenantStore(store.database).change(
                TenantId(tenant),
                name=name if isinstance(name, str) else None,
                disabled=disabled if isinstance(disabled, bool) else None,
                by=AT_HAND,
                at=datetime.now(UTC),
            )
            return _members(tenant_member(record))

        return self._run(change)

    def create_team(self, tenant: str, team: str) -> Members:
        """A new team."""

        async def create(store: KeyStore) -> Members:
            made = TenantStore(store.database).create_team(
                TenantId(tenant), TeamName(team), by=AT_HAND, at=datetime.now(UTC)
            )
            return _members(team_member(await made))

        return self._run(create)

    def teams(self, tenant: str) -> tuple[Members, ...]:
        """A tenant's teams."""

        async def read(store: KeyStore) -> tuple[Members, ...]:
            tenants = TenantStore(store.database)
            if await tenants.find(TenantId(tenant)) is None:
                raise NotFoundError("tenant", tenant)
            return tuple(_members(team_member(each)) for each in await tenants.teams(TenantId(tenant)))

        return self._run(read)

    def _pepper(self) -> Pepper:
        try:
            return Pepper(self._place.pepper or embedded().pepper())
        except ValueError as error:
            raise typer.BadParameter(str(error), param_hint="--pepper") from error

    def _run(self, work: Callable[[KeyStore], Awaitable[_Result]]) -> _Result:
        """Do something with the store; what cannot be done is one line and a status."""

        async def run() -> _Result:
            store = await KeyStore.open(self._place.database_url or embedded().database_url)
            try:
                return await work(store)
            finally:
                await store.close()

        try:
            return asyncio.run(run())
        except StoreUnavailableError as error:
            message = f"the database cannot be used: {error.reason}"
            raise CommandError(message, exit_code=Exit.NO, code="store_unavailable") from error
        except NotFoundError as error:
            raise CommandError(str(error), exit_code=Exit.NOT_FOUND, code=f"{error.what}_not_found") from error
        except (RegistryError, GatewayError) as error:
            raise CommandError(str(error), exit_code=Exit.NO, code=str(getattr(error, "code", ""))) from error


def embedded() -> Layout:
    """The installation that `schemagate up` would start here; it has to exist."""
    layout = Layout(host="127.0.0.1", ports=Ports(), state_dir=default_state_dir(), cache_dir=default_cache_dir())
    if not (layout.state_dir / "pepper").is_file():
        raise CommandError(
            f"no installation in {layout.state_dir}: set SCHEMAGATE_STATE_DIR to where `schemagate up` keeps it, "
            "or SCHEMAGATE_GATEWAY_DATABASE_URL and SCHEMAGATE_GATEWAY_KEY_PEPPER to those of a gateway",
            exit_code=Exit.NO,
            code="no_installation",
        )
    return layout


async def _found(store: KeyStore, tenant: str | None, key_id: str) -> KeyRecord:
    record = await store.find(key_of(key_id))
    if record is None or tenant not in {None, record.tenant}:
        raise NotFoundError("key", key_id)
    return record


def _members(answered: Answered) -> Members:
    text = answered.model_dump_json()
    value = parse_json(text, max_bytes=len(text.encode()), max_nesting=8)
    assert isinstance(value, dict)
    return Members(value)


def _names(value: JsonValue) -> list[str]:
    return [str(each) for each in value] if isinstance(value, list) else []


def _moment(value: JsonValue) -> datetime | None:
    return datetime.fromisoformat(value) if isinstance(value, str) else None
