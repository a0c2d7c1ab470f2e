"""The routes of an application, out of the routers that were included in it."""

from collections.abc import Iterable, Iterator

from fastapi import APIRouter
from fastapi.routing import APIRoute
from starlette.routing import Match
from starlette.types import Scope


def flat_routes(routes: Iterable[object]) -> Iterator[APIRoute]:
    """An application keeps the routers that were included in it, each with its routes."""
    for route in routes:
        if isinstance(route, APIRoute):
            yield route
        elif isinstance(router := getattr(route, "original_router", None), APIRouter):
            yield from flat_routes(router.routes)


def allowed_methods(routes: Iterable[object], scope: Scope) -> tuple[str, ...]:
    """The methods that the path of a request has, for `Allow`: the router itself names those of one route only."""
    found = (route.methods for route in flat_routes(routes) if route.matches(scope)[0] is not Match.NONE)
    return tuple(sorted({method for methods in found for method in methods or ()}))
