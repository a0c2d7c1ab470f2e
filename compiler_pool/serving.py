"""How every service of the product runs: settings or a reason on stderr, then uvicorn until a signal."""

import sys
from collections.abc import Callable
from typing import TypeVar

import uvicorn
from pydantic import ValidationError
from starlette.types import ASGIApp

from compiler_pool.errors import FrameError, RedisUrlError
from compiler_pool.logs import configure_logging

UNUSABLE_SETTINGS = 2
"""Exit status of a service whose environment does not say how to run it."""

_Made = TypeVar("_Made")


def made_from_settings(make: Callable[[], _Made], *, prefix: str) -> _Made:
    """What `make` builds from the environment; names the variable at fault and exits where it cannot."""
    configure_logging()
    try:
        return make()
    except ValidationError as error:
        for fault in error.errors(include_input=False, include_url=False):
            place = "_".join(str(part) for part in fault["loc"]).upper()
            # A fault between two settings has no place of its own, and says their names itself.
            name = place if place.startswith("SCHEMAGATE_") else f"{prefix}{place or '*'}"
            print(f"{name}: {fault['msg']}", file=sys.stderr)  # noqa: T201 - before there is anybody to log for
    except FrameError as error:
        print(f"SCHEMAGATE_ARTIFACT_KEYS: {error}", file=sys.stderr)  # noqa: T201 - as above
    except RedisUrlError as error:
        print(f"SCHEMAGATE_REDIS_URL: {error}", file=sys.stderr)  # noqa: T201 - as above
    sys.exit(UNUSABLE_SETTINGS)


def server_config(app: ASGIApp, *, host: str, port: int, shutdown_seconds: int) -> uvicorn.Config:
    """Uvicorn's part: our logging, no access log of its own, no websockets, and a bounded farewell."""
    return uvicorn.Config(
        app,
        host=host,
        port=port,
        log_config=None,
        access_log=False,
        server_header=False,
        # Nothing here asks who is in front, or which scheme they speak.
        proxy_headers=False,
        ws="none",
        timeout_graceful_shutdown=shutdown_seconds,
    )
