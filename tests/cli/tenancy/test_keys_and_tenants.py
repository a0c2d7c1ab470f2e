"""`schemagate key` and `schemagate tenant`: the same work in a database at hand and through the admin API."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from cli.main import app
from tests.gateway.serving import served_gateway
from tests.gateway.twins import PEPPER, NodeTwin

_LOG = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \[")


@dataclass(frozen=True, slots=True)
class Shell:
    """Commands with the options of one way."""

    options: tuple[str, ...]
    environment: dict[str, str]

    def run(self, *arguments: str) -> Result:
        return CliRunner().invoke(app, [*arguments, *self.options], env=self.environment)

    def done(self, *arguments: str) -> str:
        result = self.run(*arguments)
        assert result.exit_code == 0, (arguments, result.output)
        # The gateway runs in this process, and its log lines go where the command's go.
        return "".join(line for line in result.stdout.splitlines(keepends=True) if _LOG.match(line) is None)

    def told(self, *arguments: str) -> Any:
        return json.loads(self.done(*arguments, "--json"))


@asynccontextmanager
async def ways(directory: Path) -> AsyncIterator[tuple[Shell, Shell]]:
    """At hand, and through a gateway on the same database."""
    async with served_gateway(directory, node=NodeTwin()) as (url, key):
        database = f"sqlite+aiosqlite:///{directory / 'gateway.db'}"
        at_hand = {"SCHEMAGATE_GATEWAY_DATABASE_URL": database, "SCHEMAGATE_GATEWAY_KEY_PEPPER": PEPPER}
        nowhere = {"SCHEMAGATE_GATEWAY_DATABASE_URL": "sqlite+aiosqlite:////nowhere/at.all"}
        yield (
            Shell((), at_hand | {"SCHEMAGATE_URL": "http://127.0.0.1:9"}),
            Shell(("--url", url), nowhere | {"SCHEMAGATE_API_KEY": key}),
        )


async def both(directory: Path, scenario: Callable[[Shell, str], None]) -> None:
    """The scenario twice, each time with a tenant of its own."""
    async with ways(directory) as shells:
        for number, shell in enumerate(shells):
            await asyncio.to_thread(scenario, shell, f"t{number}")


async def test_a_tenant_a_team_and_a_key_from_beginning_to_end(tmp_path: Path) -> None:
    def scenario(shell: Shell, tenant: str) -> None:
        assert shell.done("tenant", "create", tenant, "--name", "Acme") == f"made {tenant}\n"
        assert shell.run("tenant", "create", tenant).exit_code == 1
        shell.done("tenant", "team", "create", tenant, "billing")
        assert [each["name"] for each in shell.told("tenant", "team", "list", tenant)["teams"]] == ["billing"]
        options = ["--team", "billing", "--role", "author", "--scope", "contracts:read", "--principal", "ada"]
        key = shell.told("key", "issue", tenant, *options, "--label", "ci", "--expires-in-days", "3")
        assert key["key"].startswith(f"sg_{key['id']}_")
        assert (key["team"], key["roles"], key["scopes"]) == ("billing", ["author"], ["contracts:read"])
        shown = shell.told("key", "show", key["id"], "--tenant", tenant)
        assert "key" not in shown
        assert (shown["state"], shown["principal"], shown["label"]) == ("live", "ada", "ci")
        assert "principal: ada\n" in shell.done("key", "show", key["id"], "--tenant", tenant)
        rotated = shell.done("key", "rotate", key["id"], "--tenant", tenant, "--overlap-seconds", "60").strip()
        assert rotated.startswith(f"sg_{key['id']}_")
        assert rotated != key["key"]
        again = shell.run("key", "rotate", key["id"], "--tenant", tenant, "--overlap-seconds", "60")
        assert again.exit_code == 1
        assert "no overlap" in again.output
        change = ["--never-expires", "--scopes-of-roles", "--role", "caller", "--label", "x"]
        changed = shell.told("key", "change", key["id"], "--tenant", tenant, *change)
        assert (changed["expires_at"], changed["scopes"], changed["roles"]) == (None, None, ["caller"])
        listed = shell.done("key", "list", "--tenant", tenant)
        assert listed.split("\t")[:3] == [key["id"], tenant, "live"]
        assert listed.rstrip("\n").split("\t")[4:] == ["ada", "billing", "caller", "x"]
        assert rotated.split("_", 2)[2] not in listed
        assert shell.done("key", "revoke", key["id"], "--tenant", tenant) == f"revoked {key['id']}\n"
        assert "\trevoked\t" in shell.done("key", "list", "--tenant", tenant)
        assert shell.done("tenant", "disable", tenant) == f"{tenant} (Acme) is disabled\n"
        assert "disabled" in shell.done("tenant", "list")
        assert shell.done("tenant", "rename", tenant, "Other") == f"{tenant} (Other) is disabled\n"
        assert shell.done("tenant", "enable", tenant) == f"{tenant} (Other) is enabled\n"
        assert {each["id"] for each in shell.told("tenant", "list")["tenants"]} >= {"local", tenant}
        assert key["id"] in {each["id"] for each in shell.told("key", "list")["keys"]}

    await both(tmp_path, scenario)


async def test_what_is_not_there_has_its_status(tmp_path: Path) -> None:
    def scenario(shell: Shell, tenant: str) -> None:
        shell.done("tenant", "create", tenant)
        missing: tuple[tuple[str, ...], ...] = (
            ("key", "show", "0" * 16, "--tenant", tenant),
            ("key", "show", "no-id", "--tenant", tenant),
            ("key", "rotate", "0" * 16, "--tenant", tenant, "--overlap-seconds", "0"),
            ("key", "change", "0" * 16, "--tenant", tenant, "--label", "x"),
            ("tenant", "disable", "nobody"),
            ("tenant", "team", "list", "nobody"),
            ("tenant", "team", "create", "nobody", "a"),
        )
        for arguments in missing:
            assert shell.run(*arguments).exit_code == 4, arguments
        unusable: tuple[tuple[str, ...], ...] = (
            ("tenant", "create", "no/id"),
            ("tenant", "create", "a", "--name", "x" * 129),
            ("tenant", "team", "create", tenant, "no team"),
            ("key", "issue", tenant, "--scope", "everything"),
            ("key", "change", "0" * 16, "--tenant", tenant),
            ("key", "change", "0" * 16, "--tenant", tenant, "--never-expires", "--expires-in-days", "1"),
            ("key", "rotate", "0" * 16, "--tenant", tenant),
            ("key", "rotate", "0" * 16, "--tenant", tenant, "--overlap-seconds", "9999999"),
        )
        for arguments in unusable:
            assert shell.run(*arguments).exit_code == 2, arguments

    await both(tmp_path, scenario)


async def test_a_key_of_another_tenant_is_not_found_by_naming_the_wrong_one(tmp_path: Path) -> None:
    def scenario(shell: Shell, tenant: str) -> None:
        shell.done("tenant", "create", tenant)
        key = shell.told("key", "issue", tenant)
        assert shell.run("key", "show", key["id"], "--tenant", "local").exit_code == 4
        assert shell.run("key", "revoke", key["id"], "--tenant", "local").exit_code in {1, 4}
        assert shell.told("key", "show", key["id"], "--tenant", tenant)["state"] == "live"

    await both(tmp_path, scenario)


async def test_through_the_api_a_key_needs_its_tenant_and_the_operator_a_key(tmp_path: Path) -> None:
    async with ways(tmp_path) as (_, remote):
        assert (await asyncio.to_thread(remote.run, "key", "show", "0" * 16)).exit_code == 2
        stranger = Shell(remote.options, {"SCHEMAGATE_API_KEY": f"sg_{'0' * 16}_{'A' * 43}"})
        assert (await asyncio.to_thread(stranger.run, "tenant", "list")).exit_code == 5


def test_at_hand_an_installation_has_to_be_there(tmp_path: Path) -> None:
    environment = {"SCHEMAGATE_STATE_DIR": str(tmp_path / "none")}
    for arguments in (["tenant", "list"], ["key", "issue", "acme"], ["key", "list"]):
        result = CliRunner().invoke(app, arguments, env=environment)
        assert result.exit_code == 1
        assert "no installation" in result.output


@pytest.mark.parametrize("name", ["issue", "create"])
def test_the_former_name_of_issue_is_still_taken(tmp_path: Path, name: str) -> None:
    environment = {
        "SCHEMAGATE_GATEWAY_DATABASE_URL": f"sqlite+aiosqlite:///{tmp_path / 'keys.db'}",
        "SCHEMAGATE_GATEWAY_KEY_PEPPER": PEPPER,
    }
    made = CliRunner().invoke(app, ["key", name, "acme", "--team", "new"], env=environment)
    assert made.stdout.startswith("sg_")
    listed = CliRunner().invoke(app, ["tenant", "team", "list", "acme"], env=environment)
    assert "new" in listed.stdout
