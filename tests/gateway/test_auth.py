"""Keys: what is kept of them, who is let in, and how soon a revoked one is not."""

import asyncio
import base64
import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from cli.key import app as key_command
from gateway.auth.authenticator import Authenticator, Schemes
from gateway.auth.bootstrap import BOOTSTRAP_TENANT, make_bootstrap_key
from gateway.auth.issue import issue_key
from gateway.auth.keys import ApiKey, Pepper
from gateway.auth.records import KeyRecord
from gateway.auth.store import KeyStore
from gateway.errors import UnauthenticatedError
from gateway.identifiers import KeyId
from gateway.tasks import TaskOwner
from policy.roles import ALL_ROLES, Role
from registry.identifiers import PrincipalId, TeamName, TenantId
from registry.revision import Actor
from tests.gateway.twins import gateway_with, until

PEPPER = "a pepper only for tests"
NOW = datetime.now(UTC)


def url(directory: Path) -> str:
    return f"sqlite+aiosqlite:///{directory / 'keys.db'}"


def test_a_key_is_read_as_it_was_written() -> None:
    key = ApiKey.generate()
    assert ApiKey.read(key.text) == key
    assert key.text.startswith(f"sg_{key.key_id}_")
    assert key.secret not in repr(key)


@given(st.text() | st.from_regex(r"sg_[0-9a-f]{0,20}_[A-Za-z0-9_-]{0,50}", fullmatch=True))
def test_any_text_is_a_key_or_none(text: str) -> None:
    key = ApiKey.read(text)
    assert key is None or key.text == text


def test_a_short_pepper_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 16"):
        Pepper("short")


def test_digests_depend_on_pepper_id_and_secret_and_partitions_are_not_digests() -> None:
    key, pepper = ApiKey.generate(), Pepper(PEPPER)
    other = ApiKey(key_id=KeyId("0" * 16), secret=key.secret)
    assert len({pepper.digest(key), pepper.digest(other), Pepper(PEPPER + "!").digest(key)}) == 3
    assert "tenant" not in pepper.partition(TenantId("tenant"))
    assert pepper.partition(TenantId("a")) != pepper.partition(TenantId("b"))


async def test_no_secret_reaches_the_database(tmp_path: Path) -> None:
    text = await make_bootstrap_key(database_url=url(tmp_path), pepper=PEPPER)
    key = ApiKey.read(text)
    assert key is not None
    with sqlite3.connect(tmp_path / "keys.db") as connection:
        dump = "\n".join(connection.iterdump())
    connection.close()
    assert key.key_id in dump
    assert key.secret not in dump


async def test_a_bootstrap_key_replaces_the_one_before_and_no_other(tmp_path: Path) -> None:
    first = await make_bootstrap_key(database_url=url(tmp_path), pepper=PEPPER)
    store = await KeyStore.open(url(tmp_path))
    mine = await issue_key(store, Pepper(PEPPER), tenant=BOOTSTRAP_TENANT, label="mine", at=NOW)
    second = await make_bootstrap_key(database_url=url(tmp_path), pepper=PEPPER)
    gate = Authenticator(store, Pepper(PEPPER))
    for good in (second, mine.text):
        assert (await gate.authenticate(f"Bearer {good}")).tenant == BOOTSTRAP_TENANT
    with pytest.raises(UnauthenticatedError):
        await gate.authenticate(f"Bearer {first}")
    await store.close()


async def test_a_revoked_key_is_refused_once_the_cache_is_a_second_old(tmp_path: Path) -> None:
    now = 100.0
    store = await KeyStore.open(url(tmp_path))
    key = await issue_key(store, Pepper(PEPPER), tenant=TenantId("t"), label="", at=NOW)
    gate = Authenticator(store, Pepper(PEPPER), cache_seconds=60, monotonic=lambda: now)
    await gate.authenticate(f"Bearer {key.text}")
    assert await store.revoke(key.key_id, at=NOW)
    assert not await store.revoke(key.key_id, at=NOW)
    now = 100.99
    await gate.authenticate(f"Bearer {key.text}")
    now = 101.0
    with pytest.raises(UnauthenticatedError):
        await gate.authenticate(f"Bearer {key.text}")
    await store.close()


async def test_a_key_in_use_is_asked_for_again_beside_requests_and_a_revoked_one_is_then_refused(
    tmp_path: Path,
) -> None:
    now, tasks = 100.0, TaskOwner()
    store = await KeyStore.open(url(tmp_path))
    key = await issue_key(store, Pepper(PEPPER), tenant=TenantId("t"), label="", at=NOW)
    gate = Authenticator(store, Pepper(PEPPER), tasks=tasks, monotonic=lambda: now)
    await gate.authenticate(f"Bearer {key.text}")
    assert await store.revoke(key.key_id, at=NOW)
    now = 100.6
    await gate.authenticate(f"Bearer {key.text}")  # at once, from memory; and it is asked for again
    await until(lambda: next(iter(gate._verified.values()))[0] > now + 0.9)
    with pytest.raises(UnauthenticatedError):
        await gate.authenticate(f"Bearer {key.text}")
    await tasks.close()
    await store.close()


async def test_an_expired_key_is_refused_even_while_it_is_cached(tmp_path: Path) -> None:
    store = await KeyStore.open(url(tmp_path))
    pepper = Pepper(PEPPER)
    past = await issue_key(store, pepper, tenant=TenantId("t"), label="", at=NOW, expires_at=NOW - timedelta(days=1))
    future = await issue_key(store, pepper, tenant=TenantId("t"), label="", at=NOW, expires_at=NOW + timedelta(days=1))
    gate = Authenticator(store, pepper)
    await gate.authenticate(f"bearer {future.text}")
    with pytest.raises(UnauthenticatedError):
        await gate.authenticate(f"Bearer {past.text}")
    await store.close()


async def test_a_good_id_with_another_secret_is_refused(tmp_path: Path) -> None:
    store = await KeyStore.open(url(tmp_path))
    key = await issue_key(store, Pepper(PEPPER), tenant=TenantId("t"), label="", at=NOW)
    forged = ApiKey(key_id=key.key_id, secret=ApiKey.generate().secret)
    with pytest.raises(UnauthenticatedError):
        await Authenticator(store, Pepper(PEPPER)).authenticate(f"Bearer {forged.text}")
    with pytest.raises(UnauthenticatedError):
        await Authenticator(store, Pepper("another pepper, as long")).authenticate(f"Bearer {key.text}")
    await store.close()


async def test_a_database_that_fails_lets_nobody_in_and_says_so(tmp_path: Path) -> None:
    async with gateway_with(tmp_path, poll_seconds=30) as world:
        with sqlite3.connect(tmp_path / "gateway.db") as connection:
            connection.execute("DROP TABLE api_keys")
        connection.close()
        response = await world.client.get("/v1/models")
    assert (response.status_code, response.json()["error"]["code"]) == (503, "store_unavailable")


def test_the_command_makes_lists_and_revokes_keys(tmp_path: Path) -> None:
    run = CliRunner()
    environment = {"SCHEMAGATE_GATEWAY_DATABASE_URL": url(tmp_path), "SCHEMAGATE_GATEWAY_KEY_PEPPER": PEPPER}
    made = run.invoke(key_command, ["create", "acme", "--label", "ci", "--expires-in-days", "3"], env=environment)
    key = ApiKey.read(made.output.strip())
    assert key is not None, made.output
    listed = run.invoke(key_command, ["list", "--tenant", "acme"], env=environment).output
    assert listed.split("\t")[:3] == [key.key_id, "acme", "live"]
    assert listed.rstrip("\n").split("\t")[4:] == [f"key:{key.key_id}", "-", "caller", "ci"]
    assert key.secret not in listed
    assert run.invoke(key_command, ["revoke", key.key_id], env=environment).exit_code == 0
    assert "revoked" in run.invoke(key_command, ["list"], env=environment).output
    again = run.invoke(key_command, ["revoke", key.key_id], env=environment)
    assert again.exit_code == 1


async def test_a_key_says_who_acts_for_which_team_and_as_what(tmp_path: Path) -> None:
    environment = {"SCHEMAGATE_GATEWAY_DATABASE_URL": url(tmp_path), "SCHEMAGATE_GATEWAY_KEY_PEPPER": PEPPER}
    options = ["--principal", "ada@example.com", "--team", "billing", "--role", "approver", "--role", "author"]
    made = await asyncio.to_thread(CliRunner().invoke, key_command, ["create", "acme", *options], env=environment)
    key = ApiKey.read(made.output.strip())
    assert key is not None, made.output
    listed = await asyncio.to_thread(CliRunner().invoke, key_command, ["list"], env=environment)
    assert listed.output.split("\t")[4:7] == ["ada@example.com", "billing", "approver,author"]
    store = await KeyStore.open(url(tmp_path))
    caller = await Authenticator(store, Pepper(PEPPER)).authenticate(f"Bearer {key.text}")
    assert caller.actor == Actor(
        tenant=TenantId("acme"),
        principal=PrincipalId("ada@example.com"),
        team=TeamName("billing"),
        roles=frozenset({Role.AUTHOR, Role.APPROVER}),
        key_id=key.key_id,
    )
    await store.close()


@pytest.mark.parametrize(
    "options",
    [
        ["--role", "root"],
        ["--team", "no/team"],
        ["--principal", ""],
        ["--principal", "two\tcolumns"],
        ["--principal", "key:0123456789abcdef"],
        ["--principal", "x" * 129],
        ["--label", "a\nline"],
    ],
)
def test_the_command_refuses_what_would_mislead_a_reader(tmp_path: Path, options: list[str]) -> None:
    environment = {"SCHEMAGATE_GATEWAY_DATABASE_URL": url(tmp_path), "SCHEMAGATE_GATEWAY_KEY_PEPPER": PEPPER}
    assert CliRunner().invoke(key_command, ["create", "acme", *options], env=environment).exit_code == 2


async def test_the_bootstrap_key_has_every_role(tmp_path: Path) -> None:
    text = await make_bootstrap_key(database_url=url(tmp_path), pepper=PEPPER)
    store = await KeyStore.open(url(tmp_path))
    actor = (await Authenticator(store, Pepper(PEPPER)).authenticate(f"Bearer {text}")).actor
    assert (actor.principal, actor.roles) == ("bootstrap", ALL_ROLES)
    await store.close()


def basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


async def test_basic_credentials_are_taken_only_where_they_are_asked_for(tmp_path: Path) -> None:
    store = await KeyStore.open(url(tmp_path))
    key = await issue_key(store, Pepper(PEPPER), tenant=TenantId("t"), label="", at=NOW)
    gate = Authenticator(store, Pepper(PEPPER))
    headers = [basic("anybody", key.text), basic("", key.text), basic(f"sg_{key.key_id}", key.secret)]
    for header in headers:
        caller = await gate.authenticate(header, schemes=Schemes.BEARER_OR_BASIC)
        assert (caller.tenant, caller.key_id) == ("t", key.key_id)
        with pytest.raises(UnauthenticatedError):
            await gate.authenticate(header)
    assert (await gate.authenticate(f"Bearer {key.text}", schemes=Schemes.BEARER_OR_BASIC)).tenant == "t"
    await store.close()


async def test_basic_credentials_that_are_no_key_are_refused_in_the_same_words(tmp_path: Path) -> None:
    store = await KeyStore.open(url(tmp_path))
    key = await issue_key(store, Pepper(PEPPER), tenant=TenantId("t"), label="", at=NOW)
    other = ApiKey.generate()
    gate = Authenticator(store, Pepper(PEPPER))
    headers = [
        basic("user", "password"),
        basic(key.text, ""),
        basic(f"sg_{key.key_id}", other.secret),
        basic(key.key_id, key.secret),
        basic("user", other.text),
        "Basic",
        "Basic !!!",
        "Basic " + base64.b64encode(b"\xff\xfe").decode(),
        "Basic " + base64.b64encode(b"x" * 5000).decode(),
        f"Basic {key.text}",
    ]
    refusals = set()
    for header in headers:
        with pytest.raises(UnauthenticatedError) as refused:
            await gate.authenticate(header, schemes=Schemes.BEARER_OR_BASIC)
        refusals.add(str(refused.value))
    assert len(refusals) == 1
    await store.close()


@given(st.text(max_size=200) | st.binary(max_size=200).map(lambda data: base64.b64encode(data).decode()))
def test_any_basic_credentials_are_a_key_or_none(credentials: str) -> None:
    key = ApiKey.read_basic(credentials)
    assert key is None or key.text in base64.b64decode(credentials).decode()


def test_the_command_refuses_a_pepper_that_is_too_short(tmp_path: Path) -> None:
    environment = {"SCHEMAGATE_GATEWAY_DATABASE_URL": url(tmp_path), "SCHEMAGATE_GATEWAY_KEY_PEPPER": "x"}
    assert CliRunner().invoke(key_command, ["create", "acme"], env=environment).exit_code == 2


async def test_requests_under_one_key_that_come_together_ask_the_database_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = ApiKey.read(await make_bootstrap_key(database_url=url(tmp_path), pepper=PEPPER))
    assert key is not None
    store = await KeyStore.open(url(tmp_path))
    asked: list[KeyId] = []
    find = KeyStore.find

    async def counting(self: KeyStore, key_id: KeyId) -> KeyRecord | None:
        asked.append(key_id)
        return await find(self, key_id)

    monkeypatch.setattr(KeyStore, "find", counting)
    try:
        authenticator = Authenticator(store, Pepper(PEPPER))
        wrong = ApiKey(key_id=key.key_id, secret="x" * 43)
        callers = [authenticator.authenticate(f"Bearer {each.text}") for each in (key, wrong) * 20]
        answers = await asyncio.gather(*callers, return_exceptions=True)
        assert [isinstance(each, UnauthenticatedError) for each in answers] == [False, True] * 20
        # A wrong secret never waits for a right one, and is never remembered.
        assert len(asked) == 1 + 20
    finally:
        await store.close()
