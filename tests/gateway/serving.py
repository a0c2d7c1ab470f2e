"""A gateway over twins behind a real server on localhost, for what only a real connection shows."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI

from gateway.app import Surroundings, create_app
from gateway.auth.bootstrap import make_bootstrap_key
from gateway.bounded_connection import BoundedConnection
from tests.gateway.twins import PEPPER, CompareHere, JudgeHere, NodeTwin, PoolTwin, TwinTransport, twin_settings, until


@asynccontextmanager
async def served(
    app: FastAPI,
    *,
    http: type[BoundedConnection] = BoundedConnection,
    server_type: type[uvicorn.Server] = uvicorn.Server,
    shutdown_seconds: int = 2,
) -> AsyncIterator[str]:
    """The application behind a real server on localhost; its address. The lifespan is the server's."""
    config = uvicorn.Config(
        app, port=0, http=http, log_config=None, access_log=False, ws="none", timeout_graceful_shutdown=shutdown_seconds
    )
    server = server_type(config)
    async with asyncio.TaskGroup() as group:
        group.create_task(server.serve())
        await until(lambda: server.started)
        port = server.servers[0].sockets[0].getsockname()[1]
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            server.should_exit = True


@asynccontextmanager
async def served_gateway(
    directory: Path,
    *,
    node: NodeTwin,
    pool: PoolTwin | None = None,
    ledger: Any = None,
    http: type[BoundedConnection] = BoundedConnection,
    **settings: Any,
) -> AsyncIterator[tuple[str, str]]:
    """A gateway over twins behind a real server: its address and a key."""
    chosen = twin_settings(directory, **settings)
    transport = TwinTransport(pool or PoolTwin(), {"node": node})
    key = await make_bootstrap_key(database_url=chosen.database_url, pepper=PEPPER)
    around = Surroundings(transport=transport, validator=JudgeHere(), ledger=ledger, comparer=CompareHere())
    async with served(create_app(chosen, around), http=http) as url:
        yield url, key
