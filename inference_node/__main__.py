"""`python -m inference_node`: the node's service on its own, settings from the environment."""

import math
import os
from types import FrameType

from inference_node.process_settings import OPENMP_WAITING

os.environ.update(OPENMP_WAITING | os.environ)

import uvicorn

from compiler_pool.serving import made_from_settings, server_config
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


def main() -> None:
    """Serve until SIGTERM or SIGINT."""
    settings = made_from_settings(NodeSettings, prefix="SCHEMAGATE_NODE_")
    node = made_from_settings(lambda: Node(settings), prefix="SCHEMAGATE_NODE_")
    config = server_config(
        create_app(node),
        host=settings.host,
        port=settings.port,
        # Streams end when their sequences do.
        shutdown_seconds=settings.shutdown_seconds + math.ceil(settings.drain_seconds),
    )
    _Server(config, node).run()


if __name__ == "__main__":
    main()
