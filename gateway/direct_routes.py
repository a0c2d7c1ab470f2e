"""The routes that decode, reached by their path alone.

They read their bodies themselves and declare nothing, so what the framework does on the way to a handler (matching
every route before it, collecting parameters, opening stacks) would be done for nothing, for each request.
"""

from collections.abc import Awaitable, Callable, Mapping

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gateway.errors import GatewayError
from registry.errors import RegistryError

Endpoint = Callable[[Request], Awaitable[Response]]
ErrorAnswer = Callable[[Request, Exception], Awaitable[Response]]


class DirectRoutes:
    """ASGI middleware. It answers POST at its own paths, and leaves everything else to the application."""

    def __init__(self, app: ASGIApp, endpoints: Mapping[str, Endpoint], answer_error: ErrorAnswer) -> None:
        self._app = app
        self._endpoints = endpoints
        self._answer_error = answer_error

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        endpoint = None
        if scope["type"] == "http" and scope["method"] == "POST":
            endpoint = self._endpoints.get(scope["path"])
        if endpoint is None:
            await self._app(scope, receive, send)
            return
        has_started = False

        async def send_noting(message: Message) -> None:
            nonlocal has_started
            has_started = True
            await send(message)

        request = Request(scope, receive, send_noting)
        try:
            response = await endpoint(request)
            await response(scope, receive, send_noting)
        except (GatewayError, RegistryError) as error:
            if has_started:  # a stream says itself how it ends; this one did not
                raise
            response = await self._answer_error(request, error)
            await response(scope, receive, send)
