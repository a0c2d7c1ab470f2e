"""The pool over HTTP: `GET /v1/identity`, `POST /v1/compile`, `POST /v1/uses`, `/metrics`, `/healthz`, `/readyz`."""

import asyncio
import json
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI, Request, Response
from pydantic import ValidationError

from compiler_pool.desk import Desk
from compiler_pool.errors import DigestMismatchError, UnknownTokenizerError
from compiler_pool.protocol import Busy, CompileAnswer, CompileRequest, PoolFault, UsesReport, Wire
from compiler_pool.service import CompileService, Outcome
from compiler_pool.settings import PoolSettings

_STARTING = Busy(retry_after_seconds=1.0)


def create_app(settings: PoolSettings) -> FastAPI:
    """The application. It listens at once; `/readyz` says when it can compile. Raises FrameError for bad keys."""
    desk = Desk(settings)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        desk.open()
        try:
            yield
        finally:
            await desk.close()

    app = FastAPI(title="Schemagate compiler pool", lifespan=lifespan, docs_url=None, redoc_url=None, openapi_url=None)

    @app.get("/healthz")
    async def healthz() -> dict[str, str]:
        return {"status": "alive"}

    @app.get("/readyz")
    async def readyz() -> Response:
        body = {"status": "degraded" if desk.reasons else "ready", "reasons": desk.reasons}
        status = 200 if desk.can_compile else 503
        return Response(json.dumps(body), status_code=status, media_type="application/json")

    @app.get("/metrics")
    async def metrics() -> Response:
        return Response(desk.metrics.exposition(), media_type="text/plain; version=0.0.4; charset=utf-8")

    @app.get("/v1/identity")
    async def identity() -> Response:
        return _busy(_STARTING) if desk.service is None else _answer(desk.service.identity)

    @app.post("/v1/compile")
    async def compile_contract(request: Request) -> Response:
        body = await _read_body(request, settings)
        if isinstance(body, PoolFault):
            return _fault(body, 413 if body.code == "body_too_large" else 408)
        return _busy(_STARTING) if desk.service is None else await _compile(request, body, desk.service)

    @app.post("/v1/uses")
    async def count_uses(request: Request) -> Response:
        body = await _read_body(request, settings)
        if isinstance(body, PoolFault):
            return _fault(body, 413 if body.code == "body_too_large" else 408)
        if desk.service is None:
            return _busy(_STARTING)
        try:
            report = UsesReport.model_validate_json(body)
        except ValidationError as error:
            return _malformed(error)
        await desk.service.used(report)
        return Response(status_code=204)

    return app


async def _compile(request: Request, body: bytes, service: CompileService) -> Response:
    try:
        order = CompileRequest.model_validate_json(body)
    except ValidationError as error:
        return _malformed(error)
    try:
        outcome = await _while_connected(request, service, order)
    except DigestMismatchError as error:
        return _fault(PoolFault(code="digest_mismatch", message=str(error)), 400)
    except UnknownTokenizerError as error:
        return _fault(PoolFault(code="unknown_tokenizer", message=str(error)), 400)
    match outcome:
        case None:
            return Response(status_code=499)  # nobody is there to read it
        case Busy():
            return _busy(outcome)
        case _:
            return _answer(CompileAnswer(result=outcome))


async def _while_connected(request: Request, service: CompileService, order: CompileRequest) -> Outcome | None:
    """The outcome, or None once the caller has gone: then the compile is cancelled with its last waiter."""
    compiling = asyncio.ensure_future(service.compile(order))
    leaving = asyncio.ensure_future(_disconnected(request))
    try:
        await asyncio.wait({compiling, leaving}, return_when=asyncio.FIRST_COMPLETED)
        return await compiling if compiling.done() else None
    finally:
        for task in (compiling, leaving):
            task.cancel()
        await asyncio.gather(compiling, leaving, return_exceptions=True)


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _read_body(request: Request, settings: PoolSettings) -> bytes | PoolFault:
    body = bytearray()
    try:
        async with asyncio.timeout(settings.body_seconds):
            async for chunk in request.stream():
                body += chunk
                if len(body) > settings.max_body_bytes:
                    message = f"more than {settings.max_body_bytes} bytes"
                    return PoolFault(code="body_too_large", message=message)
    except TimeoutError:
        return PoolFault(code="malformed_request", message="the body did not arrive in time")
    return bytes(body)


def _answer(body: Wire) -> Response:
    return Response(body.model_dump_json(), media_type="application/json")


def _malformed(error: ValidationError) -> Response:
    first = error.errors(include_input=False, include_url=False)[0]
    place = ".".join(map(str, first["loc"])) or "body"
    return _fault(PoolFault(code="malformed_request", message=f"{place}: {first['msg']}"), 400)


def _fault(fault: PoolFault, status: int) -> Response:
    return Response(fault.model_dump_json(), status_code=status, media_type="application/json")


def _busy(busy: Busy) -> Response:
    headers = {"retry-after": str(math.ceil(busy.retry_after_seconds))}
    return Response(busy.model_dump_json(), status_code=503, media_type="application/json", headers=headers)
