"""Bodies of requests: read within limits, and understood or refused by name."""

import asyncio
from typing import TypeVar

from fastapi import Request
from pydantic import BaseModel, ValidationError

from inference_node.errors import RefusedRequestError
from inference_node.protocol import NodeFault
from inference_node.settings import NodeSettings

_Asked = TypeVar("_Asked", bound=BaseModel)


async def read_body(request: Request, settings: NodeSettings, *, limit: int) -> bytes:
    """The body, counted as it comes, so that neither its length nor its slowness costs more than was agreed."""
    body = bytearray()
    try:
        async with asyncio.timeout(settings.body_seconds):
            async for chunk in request.stream():
                body += chunk
                if len(body) > limit:
                    raise RefusedRequestError(
                        NodeFault(code="body_too_large", message=f"at most {limit} bytes are read", limit=limit)
                    )
    except TimeoutError:
        raise RefusedRequestError(
            NodeFault(code="malformed_request", message=f"the body did not arrive in {settings.body_seconds:g} s")
        ) from None
    return bytes(body)


def parsed(kind: type[_Asked], body: bytes) -> _Asked:
    """Read by pydantic's own parser, which bounds nesting. The message names the member, never repeats its value."""
    try:
        return kind.model_validate_json(body)
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False, include_context=False)[0]
        place = ".".join(str(part) for part in fault["loc"])
        message = f"{place}: {fault['msg']}" if place else fault["msg"]
        raise RefusedRequestError(NodeFault(code="malformed_request", message=message)) from error
