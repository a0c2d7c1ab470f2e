"""Confluent's own client against a gateway behind a real server."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, asynccontextmanager, closing
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from confluent_kafka.schema_registry import Schema, SchemaReference, SchemaRegistryClient
from confluent_kafka.schema_registry.error import SchemaRegistryError

from gateway.app import Surroundings, create_app
from gateway.auth.bootstrap import make_bootstrap_key
from gateway.auth.issue import issue_key
from gateway.auth.keys import Pepper
from gateway.auth.store import KeyStore
from policy.roles import Role
from registry.identifiers import PrincipalId, TeamName, TenantId
from registry.measuring import Comparer
from tests.gateway.serving import served
from tests.gateway.twins import PEPPER, CompareHere, JudgeHere, NodeTwin, PoolTwin, TwinTransport, twin_settings

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """An error of the client, as its two numbers and its words."""

    status: int
    code: int
    message: str

    @property
    def numbers(self) -> tuple[int, int]:
        return self.status, self.code


class StockClient:
    """The stock client, each call in a thread: it blocks, and the server is in this process.

    The threads are its own: in those of the event loop it would keep the server from its own work.
    """

    def __init__(self, url: str, user_info: str) -> None:
        self._threads = ThreadPoolExecutor()
        # One retry would already be noticed: whoever is refused for good must not be asked twice.
        self.sync: Any = SchemaRegistryClient({"url": url, "basic.auth.user.info": user_info, "max.retries": 0})

    async def ask(self, method: str, *args: Any, **kwargs: Any) -> Any:
        """What a method of the client answers. Its caches are emptied first: it is the server that is asked."""
        self.sync.clear_caches()
        return await self.call(getattr(self.sync, method), *args, **kwargs)

    async def call(self, function: Callable[..., Result], *args: Any, **kwargs: Any) -> Result:
        """What a function that uses the client answers."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, partial(function, *args, **kwargs))

    def close(self) -> None:
        """End its connections and its threads."""
        self.sync.close()
        self._threads.shutdown()

    async def refused(self, method: str, *args: Any, **kwargs: Any) -> Refused:
        """How a method of the client is refused."""
        try:
            answer = await self.ask(method, *args, **kwargs)
        except SchemaRegistryError as error:
            return Refused(status=error.http_status_code, code=error.error_code, message=error.error_message)
        raise AssertionError(f"{method} was answered: {answer!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """A gateway, a client with every role in the tenant `local`, and the means to make others."""

    url: str
    key: str
    client: StockClient
    make_key: Callable[..., Any]
    clients: ExitStack

    async def client_of(self, tenant: str, *roles: Role, team: str | None = None) -> StockClient:
        """A client with a key of its own."""
        client = StockClient(self.url, f"user:{await self.make_key(tenant, frozenset(roles), team)}")
        self.clients.callback(client.close)
        return client


@asynccontextmanager
async def confluent_world(
    directory: Path, *, comparer: Comparer | None = None, **settings: Any
) -> AsyncIterator[World]:
    """A real server on localhost and the stock client."""
    chosen = twin_settings(directory, **settings)
    around = Surroundings(
        transport=TwinTransport(PoolTwin(), {"node": NodeTwin()}),
        validator=JudgeHere(),
        comparer=comparer or CompareHere(),
    )
    key = await make_bootstrap_key(database_url=chosen.database_url, pepper=PEPPER)
    async with served(create_app(chosen, around)) as url:
        store = await KeyStore.open(f"sqlite+aiosqlite:///{directory / 'gateway.db'}")

        async def make_key(tenant: str, roles: frozenset[Role], team: str | None) -> str:
            made = await issue_key(
                store,
                Pepper(PEPPER),
                tenant=TenantId(tenant),
                label="",
                at=datetime.now(UTC),
                principal=PrincipalId(f"someone at {tenant}"),
                team=None if team is None else TeamName(team),
                roles=roles,
            )
            return made.text

        client = StockClient(url, f"anybody:{key}")
        try:
            with closing(client), ExitStack() as clients:
                yield World(url=url, key=key, client=client, make_key=make_key, clients=clients)
        finally:
            await store.close()


def schema(definition: Any, *references: tuple[str, str, int]) -> Any:
    """A JSON schema as the client sends it."""
    named = [SchemaReference(name, subject, version) for name, subject, version in references]
    text = definition if isinstance(definition, str) else json.dumps(definition)
    return Schema(text, "JSON", named)


def closed(**properties: Any) -> dict[str, Any]:
    """A closed object that requires all its members."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


STRING: dict[str, Any] = {"type": "string"}
INTEGER: dict[str, Any] = {"type": "integer"}
