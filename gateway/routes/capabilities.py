"""`GET /v1/capabilities`: what this deployment can do for the caller, before anything is asked of it."""

from hashlib import sha256
from http import HTTPStatus

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from gateway.capabilities.statement import capabilities
from gateway.query import Query
from gateway.routes.models import offered
from gateway.services import services_of

router = APIRouter()

_MAX_TAGS = 16
"""Of one `If-None-Match`; a client keeps one."""


@router.get("/v1/capabilities")
async def get_capabilities(request: Request) -> Response:
    """The statement; 304 where `If-None-Match` names it."""
    offers, policy = await offered(request, "capabilities")
    Query(request)
    body = capabilities(services_of(request).settings, policy, offers).model_dump_json().encode()
    tag = f'"{sha256(body).hexdigest()[:32]}"'
    headers = {"ETag": tag, "Cache-Control": "private, no-cache", "Vary": "Authorization"}
    if _names(request.headers.get("if-none-match", ""), tag):
        return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=headers)
    return Response(body, media_type="application/json", headers=headers)


def _names(sent: str, tag: str) -> bool:
    tags = [each.strip().removeprefix("W/") for each in sent.split(",", _MAX_TAGS)]
    return "*" in tags or tag in tags
