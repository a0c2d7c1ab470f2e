"""Routes of adapters."""

from fastapi import FastAPI, Request

from inference_node.adapters.protocol import AdapterRemoved, AdapterStored, StoredAdapters
from inference_node.node import Node
from inference_node.request_body import read_body


def add_adapter_routes(app: FastAPI, node: Node) -> None:
    """Put, list, remove."""

    @app.put("/v1/adapters/{digest}")
    async def put(digest: str, request: Request) -> AdapterStored:
        adapters = node.adapters
        return await adapters.put(
            digest, await read_body(request, node.settings, limit=node.settings.max_adapter_bytes)
        )

    @app.get("/v1/adapters")
    async def stored() -> StoredAdapters:
        return await node.adapters.stored()

    @app.delete("/v1/adapters/{digest}")
    async def remove(digest: str) -> AdapterRemoved:
        return node.adapters.remove(digest)
