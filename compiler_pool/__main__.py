"""`python -m compiler_pool`: the pool's service on its own, settings from the environment."""

import uvicorn

from compiler_pool.app import create_app
from compiler_pool.serving import made_from_settings, server_config
from compiler_pool.settings import PoolSettings


def main() -> None:
    """Serve until SIGTERM or SIGINT."""
    settings = made_from_settings(PoolSettings, prefix="SCHEMAGATE_POOL_")
    app = made_from_settings(lambda: create_app(settings), prefix="SCHEMAGATE_POOL_")
    config = server_config(app, host=settings.host, port=settings.port, shutdown_seconds=settings.shutdown_seconds)
    uvicorn.Server(config).run()


if __name__ == "__main__":
    main()
