"""The node's HTTP service. HTTP statuses of faults are in this file and nowhere else in the package."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse, PlainTextResponse
from prometheus_client import CONTENT_TYPE_LATEST
from pydantic import ValidationError

from compiler_pool.frame import MAX_FRAME_BYTES
from inference_node.errors import RefusedRequestError
from inference_node.event_stream import EventStreamResponse
from inference_node.node import Node
from inference_node.protocol import ArtifactStored, GenerateRequest, NodeFault, NodeIdentity

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
        return await node.put_artifact(key, await _body(request, node, limit=MAX_FRAME_BYTES))

    @app.post("/v1/generate")
    async def generate(request: Request) -> Response:
        body = await _body(request, node, limit=node.settings.max_body_bytes)
        stream = await node.open_stream(_parsed(body))
        return EventStreamResponse(
            stream.outbox, stall_seconds=node.settings.stall_seconds, on_end=lambda: node.close_stream(stream)
        )

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


async def _body(request: Request, node: Node, *, limit: int) -> bytes:
    """The body, counted as it comes, so that neither its length nor its slowness costs more than was agreed."""
    body = bytearray()
    try:
        async with asyncio.timeout(node.settings.body_seconds):
            async for chunk in request.stream():
                body += chunk
                if len(body) > limit:
                    raise RefusedRequestError(
                        NodeFault(code="body_too_large", message=f"at most {limit} bytes are read", limit=limit)
                    )
    except TimeoutError:
        raise RefusedRequestError(
            NodeFault(code="malformed_request", message=f"the body did not arrive in {node.settings.body_seconds:g} s")
        ) from None
    return bytes(body)


def _parsed(body: bytes) -> GenerateRequest:
    """Read by pydantic's own parser, which bounds nesting. The message names the member, never repeats its value."""
    try:
        return GenerateRequest.model_validate_json(body)
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False, include_context=False)[0]
        place = ".".join(str(part) for part in fault["loc"])
        message = f"{place}: {fault['msg']}" if place else fault["msg"]
        raise RefusedRequestError(NodeFault(code="malformed_request", message=message)) from error
