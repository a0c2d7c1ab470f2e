"""The node's HTTP service. HTTP statuses of faults are in this file and nowhere else in the package."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse, PlainTextResponse
from prometheus_client import CONTENT_TYPE_LATEST

from compiler_pool.frame import MAX_FRAME_BYTES
from inference_node.adapters.routes import add_adapter_routes
from inference_node.errors import RefusedRequestError
from inference_node.node import Node
from inference_node.protocol import ArtifactStored, GenerateRequest, NodeIdentity
from inference_node.request_body import parsed, read_body
from inference_node.state_routes import add_state_routes, event_stream

FAULT_STATUSES: Final = {
    "artifact_required": 409,
    "tokenizer_mismatch": 409,
    "invalid_frame": 400,
    "artifact_key_mismatch": 400,
    "artifact_failed": 422,
    "context_length_exceeded": 400,
    "malformed_request": 400,
    "reasoning_unsupported": 400,
    "adapter_required": 409,
    "adapter_mismatch": 422,
    "adapter_in_use": 409,
    "sequence_not_found": 404,
    "snapshot_damaged": 400,
    "snapshot_version": 409,
    "snapshot_model_mismatch": 409,
    "snapshot_tokenizer_mismatch": 409,
    "snapshot_artifact_mismatch": 409,
    "prefix_not_found": 404,
    "prefix_limit": 409,
    "body_too_large": 413,
    "overloaded": 503,
    "draining": 503,
    "not_ready": 503,
}


def create_app(node: Node) -> FastAPI:
    """The service of one node; its model begins to load when the service starts."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        node.start_loading()
        yield
        await asyncio.to_thread(node.stop)

    # No documentation pages: the protocol is between our own processes.
    app = FastAPI(title="Schemagate inference node", lifespan=lifespan, openapi_url=None)

    @app.exception_handler(RefusedRequestError)
    async def refuse(_: Request, error: RefusedRequestError) -> JSONResponse:
        node.metrics.refused(error.fault.code)
        headers = {}
        if error.retry_after_seconds is not None:
            headers["retry-after"] = f"{error.retry_after_seconds:g}"
        return JSONResponse(error.fault.model_dump(), FAULT_STATUSES[error.fault.code], headers)

    @app.get("/v1/identity")
    async def identity() -> NodeIdentity:
        return node.identity()

    @app.put("/v1/artifacts/{key}")
    async def put_artifact(key: str, request: Request) -> ArtifactStored:
        return await node.put_artifact(key, await read_body(request, node.settings, limit=MAX_FRAME_BYTES))

    @app.post("/v1/generate")
    async def generate(request: Request) -> Response:
        body = await read_body(request, node.settings, limit=node.settings.max_body_bytes)
        return event_stream(node, await node.open_stream(parsed(GenerateRequest, body)))

    add_state_routes(app, node)
    add_adapter_routes(app, node)

    @app.get("/healthz")
    async def alive() -> JSONResponse:
        return JSONResponse({"status": "alive"})

    @app.get("/readyz")
    async def ready() -> JSONResponse:
        reason = node.not_ready_reason
        if reason is None:
            return JSONResponse({"status": "ready"})
        status = "failed" if node.has_failed else "not_ready"
        return JSONResponse({"status": status, "reasons": [reason]}, 503)

    @app.get("/metrics")
    async def metrics() -> Response:
        node.metrics.set_ready(is_ready=node.not_ready_reason is None)
        return PlainTextResponse(node.metrics.render(), media_type=CONTENT_TYPE_LATEST)

    return app
