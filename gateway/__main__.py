"""`python -m gateway`: the gateway on its own, settings from the environment."""

import gc

import uvicorn

from compiler_pool.serving import made_from_settings, server_config
from gateway.app import create_app
from gateway.settings import GatewaySettings


def main() -> None:
    """Serve until SIGTERM or SIGINT."""
    settings = made_from_settings(GatewaySettings, prefix="SCHEMAGATE_GATEWAY_")
    config = server_config(
        create_app(settings), host=settings.host, port=settings.port, shutdown_seconds=settings.shutdown_seconds
    )
    # What was imported stays for good. Without this, whoever sends a body with many lists in it has all of that looked
    # through for garbage again and again while it is parsed, and nobody else is served meanwhile.
    gc.collect()
    gc.freeze()
    uvicorn.Server(config).run()


if __name__ == "__main__":
    main()
