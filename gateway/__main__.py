"""`python -m gateway`: the gateway on its own, settings from the environment."""

import asyncio
import gc
import sys

import uvicorn

from compiler_pool.serving import UNUSABLE_SETTINGS, made_from_settings, server_config
from gateway.app import create_app
from gateway.auth.store import KeyStore
from gateway.errors import StoreUnavailableError
from gateway.settings import GatewaySettings


def main() -> None:
    """Serve until SIGTERM or SIGINT."""
    settings = made_from_settings(GatewaySettings, prefix="SCHEMAGATE_GATEWAY_")
    _open_once(settings.database_url)
    config = server_config(
        create_app(settings), host=settings.host, port=settings.port, shutdown_seconds=settings.shutdown_seconds
    )
    # What was imported stays for good. Without this, whoever sends a body with many lists in it has all of that looked
    # through for garbage again and again while it is parsed, and nobody else is served meanwhile.
    gc.collect()
    gc.freeze()
    uvicorn.Server(config).run()


def _open_once(database_url: str) -> None:
    """Make or migrate the tables; one that cannot be used is said in one line, before there is a server to fail."""

    async def open_and_close() -> None:
        await (await KeyStore.open(database_url)).close()

    try:
        asyncio.run(open_and_close())
    except StoreUnavailableError as error:
        print(f"SCHEMAGATE_GATEWAY_DATABASE_URL: the database cannot be used: {error.reason}", file=sys.stderr)
        sys.exit(UNUSABLE_SETTINGS)


if __name__ == "__main__":
    main()
