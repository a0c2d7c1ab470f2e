"""One call of the contract API: who asks, for what, and how it is answered. Routes come through here.

Calling order: `begin`, then query or body, then for writes `gateway.idempotency.once`, and `answer` for the result.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from gateway.auth.authenticator import Caller
from gateway.errors import InvalidRequestError, RequestFault
from gateway.query import MAX_QUERY_CHARACTERS
from gateway.record import RequestRecord
from gateway.services import Services, record_of, services_of
from gateway.stages import Stage
from gateway.wire_faults import read_model
from registry.catalogue import Catalogue
from registry.contract import JsonValue
from registry.revision import Actor

_Model = TypeVar("_Model", bound=BaseModel)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """An authenticated request, with the services it may use."""

    request: Request
    services: Services
    record: RequestRecord
    caller: Caller

    @property
    def actor(self) -> Actor:
        """Who asks, for the registry."""
        return self.caller.actor

    @property
    def catalogue(self) -> Catalogue:
        """The registry's services."""
        return self.services.catalogue

    def spelled(self, name: str) -> str:
        """The contract of the path as the registry spells it: `name`, or `owner/name` where `?owner=` is sent."""
        owner = self.request.query_params.get("owner", "")[:MAX_QUERY_CHARACTERS]
        return f"{owner}/{name}" if owner else name

    async def body(self, model: type[_Model]) -> "Body[_Model]":
        """The body, read as `model`; an empty one is an empty object.

        Raises:
            InvalidRequestError: it is another JSON value, or not what `model` asks for.
        """
        data = await self.services.bytes_of(self.request, self.record)
        value: JsonValue = await self.services.parsed(data, self.record) if data else {}
        if not isinstance(value, dict):
            raise InvalidRequestError(RequestFault.INVALID_TYPE, "the body must be a JSON object")
        return Body(data=data, sent=read_model(model, value))


@dataclass(frozen=True, slots=True, kw_only=True)
class Body(Generic[_Model]):
    """A body twice: as its bytes, which say whether a request is the same again, and as it was read."""

    data: bytes
    sent: _Model


async def begin(request: Request, route: str) -> Call:
    """Who asks. Before anything of the request is read: who has no key costs nothing more."""
    call = await known(request, route)
    await admitted(call)
    return call


async def known(request: Request, route: str) -> Call:
    """Who asks, not counted to any budget yet."""
    services, record = services_of(request), record_of(request, route)
    caller = await services.authenticate(request, record)
    return Call(request=request, services=services, record=record, caller=caller)


async def admitted(call: Call) -> None:
    """Count the call to the budgets of who asks.

    Raises:
        BudgetRefusedError: one of them is used up.
    """
    with call.record.clock.time(Stage.RESERVE):
        await call.services.admit(call.caller, call.record)


def answer(
    body: BaseModel, *, status: int = 200, headers: Mapping[str, str] | None = None, source: str | None = None
) -> Response:
    """A JSON answer. `source` is JSON text that becomes the last member, byte for byte: numbers stay exact."""
    text = body.model_dump_json(by_alias=True)
    if source is not None:
        text = f'{text[:-1]},"source":{source}}}'
    return Response(text, status_code=status, headers=dict(headers or {}), media_type="application/json")
