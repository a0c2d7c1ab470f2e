"""`POST /v1/contracts/diff`: what one contract allows or forbids that another does not."""

from contextlib import ExitStack

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from gateway.call import answer, begin
from gateway.contract_members import diff_answer
from gateway.contract_protocol import DiffRequest
from gateway.definitions import read_inline, refused_at
from gateway.errors import InvalidRequestError, RequestFault
from gateway.query import Query
from registry.comparison import InlineDefinition, Side
from registry.contract import JsonValue
from registry.serving import as_reference

router = APIRouter()


@router.post("/v1/contracts/diff")
async def compare_contracts(request: Request) -> Response:
    """Compare two contracts, each registered or sent along. Nothing is kept."""
    call = await begin(request, "contracts_diff")
    Query(request)
    sent = (await call.body(DiffRequest)).sent
    sides = {"old": _side(sent.old, "old"), "new": _side(sent.new, "new")}
    params = [param for _, param in sides.values() if param is not None]
    with ExitStack() as stack:
        if len(params) == 1:
            # Of two texts the registry does not say which one it refuses.
            stack.enter_context(refused_at(params[0]))
        comparison = await call.catalogue.comparisons.compare(call.actor.tenant, sides["old"][0], sides["new"][0])
    return answer(diff_answer(comparison))


def _side(sent: JsonValue, param: str) -> tuple[Side, str | None]:
    """What is to be compared, and where its text stands if it was sent along."""
    if isinstance(sent, str):
        return as_reference(sent), None
    if not isinstance(sent, dict):
        message = f"`{param}` is a reference such as `invoice@prod`, or an object with `kind` and `schema`"
        raise InvalidRequestError(RequestFault.INVALID_TYPE, message, param=param)
    read = read_inline(sent, param=param)
    side = InlineDefinition(kind=read.kind, definition=read.value, dialect=read.dialect, policy=read.policy)
    return side, read.param
