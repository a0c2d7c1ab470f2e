"""Routes of what outlives a request: saved sequences and pinned prefixes."""

import asyncio
from collections.abc import Mapping
from typing import Final

from fastapi import FastAPI, Request, Response

from inference_node.errors import RefusedRequestError
from inference_node.event_stream import EventStreamResponse
from inference_node.node import Node
from inference_node.opening import OpenStream
from inference_node.protocol import NodeFault, PinnedPrefix, PinnedPrefixes, PrefixRequest
from inference_node.request_body import parsed, read_body
from inference_node.snapshots.protocol import KeysValuesChoice

_MAX_SNAPSHOT_BODIES: Final = 4
"""Saved sequences that are in memory on their way in; more wait with their bodies unread."""

_CHOICES: Final[Mapping[str, KeysValuesChoice]] = {"include": "include", "recompute": "recompute"}


def add_state_routes(app: FastAPI, node: Node) -> None:
    """Save and restore; pin, list and unpin."""
    bodies = asyncio.Semaphore(_MAX_SNAPSHOT_BODIES)

    # A request's id may hold a slash: it was the caller's to choose.
    @app.post("/v1/sequences/{request_id:path}:save")
    async def save(request_id: str, keys_values: str = "include") -> Response:
        blob = await node.save(request_id, _keys_values_choice(keys_values))
        return Response(blob, media_type="application/octet-stream")

    @app.post("/v1/sequences:restore")
    async def restore(request: Request, request_id: str | None = None) -> Response:
        async with bodies:
            body = await read_body(request, node.settings, limit=node.settings.max_snapshot_bytes)
            stream = await node.restore_stream(body, request_id=request_id)
        return event_stream(node, stream)

    @app.put("/v1/prefixes/{name:path}")
    async def pin(name: str, request: Request) -> PinnedPrefix:
        body = await read_body(request, node.settings, limit=node.settings.max_body_bytes)
        return await node.prefixes.pin(name, parsed(PrefixRequest, body))

    @app.get("/v1/prefixes")
    async def pinned() -> PinnedPrefixes:
        return PinnedPrefixes(prefixes=node.prefixes.listed())

    @app.delete("/v1/prefixes/{name:path}")
    async def unpin(name: str) -> PinnedPrefix:
        return await node.prefixes.unpin(name)


def event_stream(node: Node, stream: OpenStream) -> Response:
    """The answer that a sequence's events are."""
    return EventStreamResponse(
        stream.outbox,
        metrics=node.metrics,
        stall_seconds=node.settings.stall_seconds,
        on_end=lambda: node.close_stream(stream),
    )


def _keys_values_choice(value: str) -> KeysValuesChoice:
    choice = _CHOICES.get(value)
    if choice is None:
        raise RefusedRequestError(NodeFault(code="malformed_request", message="keys_values: include or recompute"))
    return choice
