"""One call of a Confluent client: who calls, what they may have back, and the answer to whatever goes wrong.

Errors are answered here and not by the application's own handlers, because the clients read another shape.
"""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

import structlog
from fastapi import APIRouter
from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from gateway.auth.authenticator import Caller, Schemes
from gateway.body import read_body
from gateway.caller_watch import CallerGoneError
from gateway.confluent.errors import ConfluentError, Fault
from gateway.confluent.media import REQUEST_TYPES, answer_type
from gateway.confluent.problems import INTERNAL, Refusal, refusal_of
from gateway.errors import GatewayError
from gateway.observed import RECORD
from gateway.record import RequestRecord
from gateway.services import Services, record_of, services_of
from gateway.stages import Stage
from policy.roles import Action
from registry.catalogue import Catalogue
from registry.contract import JsonValue
from registry.errors import RegistryError
from registry.identifiers import TenantId
from registry.permissions import require
from registry.revision import Actor

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A call whose caller is known."""

    request: Request
    services: Services
    record: RequestRecord
    caller: Caller

    @property
    def catalogue(self) -> Catalogue:
        """The registry's services."""
        return self.services.catalogue

    @property
    def actor(self) -> Actor:
        """Who acts."""
        return self.caller.actor

    @property
    def tenant(self) -> TenantId:
        """Whose subjects are meant: a Confluent registry here is one tenant's."""
        return self.caller.tenant

    @property
    def is_lenient(self) -> bool:
        """Whether the client asked that members it may know and we do not be passed over."""
        return self.request.headers.get("confluent-accept-unknown-properties", "").lower() == "true"

    async def body(self) -> JsonValue:
        """The body as exact JSON. Raises `GatewayError`."""
        settings = self.services.settings
        with self.record.clock.time(Stage.PARSE):
            data = await read_body(
                self.request,
                max_bytes=settings.max_body_bytes,
                max_seconds=settings.body_seconds,
                media_types=REQUEST_TYPES,
            )
        return await self.services.parsed(data, self.record)


async def admit(request: Request, resource: str) -> Call:
    """The call, once its caller is authenticated: by bearer key as everywhere, or by Basic as these clients do.

    `resource` is what metrics and logs call the route, of a closed list.

    Raises:
        UnauthenticatedError: before anything else is looked at.
        BudgetRefusedError: the tenant asks too often.
        InsufficientScopeError: the key is not for registries.
        ForbiddenError: the key has no role at all.
        ConfluentError: no media type that the caller takes is spoken here.
    """
    services, record = services_of(request), record_of(request, f"confluent_{resource}")
    caller = await services.authenticate(request, record, schemes=Schemes.BEARER_OR_BASIC)
    with record.clock.time(Stage.RESERVE):
        await services.admit(caller, record)
    require(caller.actor, Action.READ_CONTRACT)
    if answer_type(request.headers.get("accept")) is None:
        raise ConfluentError(Fault.NOT_ACCEPTABLE, "Answers are application/vnd.schemaregistry.v1+json or plain JSON.")
    return Call(request=request, services=services, record=record, caller=caller)


def answer(call: Call, value: Any) -> Response:
    """A value in the media type that the caller likes best."""
    return JSONResponse(value, media_type=answer_type(call.request.headers.get("accept")))


def answer_text(call: Call, text: str) -> Response:
    """JSON that is text already: a schema, byte for byte as it is kept."""
    return Response(text, media_type=answer_type(call.request.headers.get("accept")))


class _ConfluentRoute(APIRoute):
    """A route whose errors are answered in the clients' shape."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler, and around it the table of errors."""
        handle = super().get_route_handler()

        async def answering(request: Request) -> Response:
            try:
                return await handle(request)
            except (ConfluentError, RegistryError, GatewayError) as error:
                return _refuse(request, refusal_of(error))
            except CallerGoneError:
                raise
            except Exception:
                record = _record(request)
                _log.exception("request failed", request_id=record.request_id)
                return _refuse(request, INTERNAL)

        return answering


def confluent_router() -> APIRouter:
    """A router for one resource of the façade."""
    return APIRouter(route_class=_ConfluentRoute)


def _refuse(request: Request, refusal: Refusal) -> Response:
    _record(request).error_code = refusal.fault.value
    media_type = answer_type(request.headers.get("accept"))
    return JSONResponse(refusal.body, status_code=refusal.status, headers=refusal.headers, media_type=media_type)


def _record(request: Request) -> RequestRecord:
    record = getattr(request.state, RECORD)
    assert isinstance(record, RequestRecord)
    return record
