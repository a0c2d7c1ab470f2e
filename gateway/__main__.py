"""`python -m gateway`: the gateway on its own, settings from the environment."""

import asyncio
import gc
import socket
import sys

import uvicorn

from compiler_pool.serving import UNUSABLE_SETTINGS, made_from_settings, server_config
from gateway.app import create_app
from gateway.auth.store import KeyStore
from gateway.bounded_connection import BoundedConnection
from gateway.errors import StoreUnavailableError
from gateway.services import SERVICES, Services
from gateway.settings import GatewaySettings

_YOUNG_OBJECTS = 20_000
"""Between two searches for garbage. Requests in flight hold thousands of objects and leave hardly any garbage: with the
interpreter's own 700, every other request paid for a search that found nothing."""


def main() -> None:
    """Serve until SIGTERM or SIGINT."""
    settings = made_from_settings(GatewaySettings, prefix="SCHEMAGATE_GATEWAY_")
    _open_once(settings.database_url)
    config = server_config(
        create_app(settings), host=settings.host, port=settings.port, shutdown_seconds=settings.shutdown_seconds
    )
    # The only one of our servers that strangers reach.
    config.http = BoundedConnection
    gc.set_threshold(_YOUNG_OBJECTS)
    _keep_for_good()
    GatewayServer(config).run()


_LAST_WORDS_SECONDS = 1
"""For an answer that was given up on to say so; then its connection is cut."""


class GatewayServer(uvicorn.Server):
    """A server whose own parts are kept for good as well, and which does not leave without a word."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Open everything."""
        await super().startup(sockets)
        _keep_for_good()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Give answers in progress their time. What they still wait for then is let go of, so that each ends by its
        class, as if its backend had gone, instead of in mid-air."""
        seconds = self.config.timeout_graceful_shutdown or 0
        self.config.timeout_graceful_shutdown = seconds + _LAST_WORDS_SECONDS
        giving_up = asyncio.get_running_loop().call_later(seconds, self._give_up)
        try:
            await super().shutdown(sockets)
        finally:
            giving_up.cancel()

    def _give_up(self) -> None:
        services = getattr(getattr(self.config.app, "state", None), SERVICES, None)
        if isinstance(services, Services):
            for each in services.answers:
                each.give_up()


def _keep_for_good() -> None:
    """What is there stays. Without this, whoever sends a body with many lists in it has all of that looked through for
    garbage again and again while it is parsed, and nobody else is served meanwhile."""
    gc.collect()
    gc.freeze()


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
