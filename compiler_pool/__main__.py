"""`python -m compiler_pool`: the pool's service on its own, settings from the environment."""

import sys

import uvicorn
from pydantic import ValidationError

from compiler_pool.app import create_app
from compiler_pool.errors import FrameError
from compiler_pool.logs import configure_logging
from compiler_pool.settings import PoolSettings


def main() -> int:
    """Serve until SIGTERM or SIGINT."""
    configure_logging()
    try:
        settings = PoolSettings()
        app = create_app(settings)
    except ValidationError as error:
        for fault in error.errors(include_input=False, include_url=False):
            place = "_".join(str(part) for part in fault["loc"]).upper()
            name = place if place.startswith("SCHEMAGATE_") else f"SCHEMAGATE_POOL_{place}"
            print(f"{name}: {fault['msg']}", file=sys.stderr)
        return 2
    except FrameError as error:
        print(f"SCHEMAGATE_ARTIFACT_KEYS: {error}", file=sys.stderr)
        return 2
    config = uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=settings.shutdown_seconds,
    )
    uvicorn.Server(config).run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
