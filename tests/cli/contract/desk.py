"""Somebody at a command line: a gateway's address, a key, a directory with files."""

import asyncio
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

from typer.testing import CliRunner, Result

from cli.main import app
from gateway.auth.issue import issue_key
from gateway.auth.keys import Pepper
from gateway.auth.store import KeyStore
from policy.roles import ALL_ROLES, Role
from registry.identifiers import PrincipalId, TeamName, TenantId
from tests.system.gateways import PEPPER

INVOICE: dict[str, Any] = {
    "type": "object",
    "properties": {"id": {"type": "string", "maxLength": 8}, "total": {"type": "integer"}},
    "required": ["id"],
    "additionalProperties": False,
}
NARROWER: dict[str, Any] = INVOICE | {"required": ["id", "total"]}
"""Consumer-safe, and not producer-safe."""
WIDER: dict[str, Any] = INVOICE | {"properties": INVOICE["properties"] | {"note": {"type": "string"}}}
"""Producer-safe, and not consumer-safe."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A running gateway."""

    url: str
    database_url: str

    def desk(
        self, directory: Path, *, tenant: str = "", principal: str = "ada", roles: Any = ALL_ROLES, team: str = ""
    ) -> "Desk":
        """Somebody new of a tenant; of a new tenant where none is named."""
        tenant = tenant or f"t{uuid4().hex[:12]}"

        async def make() -> str:
            store = await KeyStore.open(self.database_url)
            try:
                key = await issue_key(
                    store,
                    Pepper(PEPPER),
                    tenant=TenantId(tenant),
                    label="",
                    at=datetime.now(UTC),
                    principal=PrincipalId(principal),
                    team=TeamName(team) if team else None,
                    roles=frozenset(Role(role) for role in roles),
                )
                return key.text
            finally:
                await store.close()

        return Desk(site=self, tenant=tenant, key=asyncio.run(make()), directory=directory)


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """Runs commands in one's own name."""

    site: Site
    tenant: str
    key: str
    directory: Path

    def run(self, *words: str, stdin: str | bytes | None = None) -> Result:
        """One command, however it ends. An exception that no command expects is the test's failure."""
        environment = {"SCHEMAGATE_URL": self.site.url, "SCHEMAGATE_API_KEY": self.key}
        result = CliRunner().invoke(app, [*words], input=stdin, env=environment)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    def do(self, *words: str) -> str:
        """One command that has to succeed; what it printed."""
        result = self.run(*words)
        assert result.exit_code == 0, result.output
        return result.stdout

    def json(self, *words: str) -> Any:
        """One command with `--json` that has to succeed; its value."""
        return json.loads(self.do(*words, "--json"))

    def contract(self, *words: str) -> Result:
        """`schemagate contract …`."""
        return self.run("contract", *words)

    def file(self, name: str, content: Any) -> str:
        """A file with a schema, or with a text; its path."""
        path = self.directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(content if isinstance(content, str) else json.dumps(content))
        return str(path)

    def register(self, schema: Any, name: str = "invoice", *options: str) -> Any:
        """A revision that has to be taken."""
        return self.json("contract", "register", name, self.file(f"{name}.json", schema), *options)
