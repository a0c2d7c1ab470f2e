"""`/healthz`, `/readyz` and `/metrics`, for machines; no key is needed."""

from http import HTTPStatus

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from gateway.services import record_of, services_of

router = APIRouter()


@router.get("/healthz")
async def healthz(request: Request) -> dict[str, str]:
    """The process is alive."""
    record_of(request, "healthz")
    return {"status": "ok"}


@router.get("/readyz")
async def readyz(request: Request) -> JSONResponse:
    """Whether requests can be served: 200 for `ready` and `degraded`, else 503."""
    record_of(request, "readyz")
    readiness = await services_of(request).readiness.check()
    status = HTTPStatus.SERVICE_UNAVAILABLE if readiness.state == "unavailable" else HTTPStatus.OK
    return JSONResponse({"status": readiness.state, "reasons": list(readiness.reasons)}, status_code=status)


@router.get("/metrics")
async def metrics(request: Request) -> Response:
    """Prometheus' text format."""
    record_of(request, "metrics")
    services = services_of(request)
    exposition = services.metrics.exposition(
        num_live=sum(node.is_live for node in services.nodes.nodes),
        num_down=sum(not node.is_live for node in services.nodes.nodes),
        is_pool_live=services.compiler.is_live,
    )
    return Response(exposition, media_type="text/plain; version=0.0.4; charset=utf-8")
