"""`python -m inference_node`: the node's service on its own, settings from the environment."""

import os
import sys
from types import FrameType

# Read by the OpenMP runtime when torch loads it. Its default is to spin for ever where threads are as many as
# processors: with anything else busy beside it, steps were measured a hundred times longer. This many spins (some tens
# of microseconds) keep a quiet machine's speed.
os.environ.setdefault("GOMP_SPINCOUNT", "10000")

import uvicorn
from pydantic import ValidationError

from compiler_pool.errors import FrameError
from compiler_pool.logs import configure_logging
from inference_node.app import create_app
from inference_node.node import Node
from inference_node.settings import NodeSettings


class _Server(uvicorn.Server):
    """Tells the node of the first signal at once: uvicorn itself would wait for streams that wait for the node."""

    def __init__(self, config: uvicorn.Config, node: Node) -> None:
        super().__init__(config)
        self._node = node

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._node.begin_drain()
        super().handle_exit(sig, frame)


def main() -> int:
    """Serve until SIGTERM or SIGINT."""
    configure_logging()
    try:
        settings = NodeSettings()
        node = Node(settings)
    except ValidationError as error:
        for fault in error.errors(include_input=False, include_url=False):
            place = "_".join(str(part) for part in fault["loc"]).upper()
            name = place if place.startswith("SCHEMAGATE_") else f"SCHEMAGATE_NODE_{place}"
            print(f"{name}: {fault['msg']}", file=sys.stderr)
        return 2
    except FrameError as error:
        print(f"SCHEMAGATE_ARTIFACT_KEYS: {error}", file=sys.stderr)
        return 2
    config = uvicorn.Config(
        create_app(node),
        host=settings.host,
        port=settings.port,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=settings.shutdown_seconds,
    )
    _Server(config, node).run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
