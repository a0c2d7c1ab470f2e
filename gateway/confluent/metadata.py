"""What the server says of itself, and the answer to paths that Confluent has and this façade has not."""

from importlib.metadata import version
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from gateway.confluent.call import admit, answer, confluent_router
from gateway.confluent.errors import ConfluentError, Fault
from gateway.route_table import allowed_methods, flat_routes

router = confluent_router()

_PREFIXES: Final = ("/subjects", "/schemas", "/config", "/mode", "/compatibility", "/contexts", "/v1/metadata")
_METHODS: Final = ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"]
"""All that the server reads, `CONNECT` aside, which has no path."""
DEFAULT_CONTEXT: Final = "."


@router.get("/")
async def get_root(request: Request) -> Response:
    """An empty object, as Confluent's."""
    return answer(await admit(request, "metadata"), {})


@router.get("/contexts")
async def list_contexts(request: Request) -> Response:
    """The one context that there is: the tenant itself."""
    return answer(await admit(request, "metadata"), [DEFAULT_CONTEXT])


@router.get("/v1/metadata/id")
async def get_cluster_id(request: Request) -> Response:
    """Which registry this is; the same for every tenant."""
    clusters = {"kafka-cluster": "", "schema-registry-cluster": "schemagate"}
    return answer(await admit(request, "metadata"), {"id": "", "scope": {"path": [], "clusters": clusters}})


@router.get("/v1/metadata/version")
async def get_server_version(request: Request) -> Response:
    """The product's version."""
    return answer(await admit(request, "metadata"), {"version": version("schemagate"), "commitId": ""})


async def refuse_path(request: Request) -> Response:
    """Answer in the clients' shape, which the application's own answer has not."""
    others = [route for route in flat_routes(request.app.routes) if route.endpoint is not refuse_path]
    allowed = allowed_methods(others, request.scope)
    if allowed:
        message = f"This path has no {request.method}; it has {', '.join(allowed)}."
        raise ConfluentError(Fault.NO_SUCH_METHOD, message, allowed=allowed)
    raise ConfluentError(Fault.NO_SUCH_PATH, f"There is no {request.method} at this path.")


fallback = confluent_router()
"""Included after every other route of the façade."""
for _prefix in _PREFIXES:
    fallback.add_api_route(_prefix, refuse_path, methods=_METHODS)
    fallback.add_api_route(_prefix + "/{rest:path}", refuse_path, methods=_METHODS)
