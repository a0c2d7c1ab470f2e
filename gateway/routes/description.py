"""`GET /openapi.json`: the API's own description; no key is needed."""

import json
from functools import lru_cache

from fastapi import APIRouter, FastAPI
from starlette.requests import Request
from starlette.responses import Response

from gateway.openapi.document import openapi_document
from gateway.services import record_of

router = APIRouter()


@router.get("/openapi.json")
async def get_description(request: Request) -> Response:
    """This document."""
    record_of(request, "openapi")
    return Response(_text(request.app), media_type="application/json", headers={"Cache-Control": "max-age=300"})


@lru_cache(maxsize=1)
def _text(app: FastAPI) -> bytes:
    return json.dumps(openapi_document(app.routes), ensure_ascii=False, separators=(",", ":")).encode()
