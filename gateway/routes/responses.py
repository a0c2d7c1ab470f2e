"""`/v1/responses`."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from gateway.errors import ResponseNotFoundError
from gateway.event_stream import EventStream
from gateway.generated_once import generated_once
from gateway.responses.envelope import ResponseWriter
from gateway.responses.request import read_responses_request
from gateway.responses.stream import ResponseEvents
from gateway.services import record_of, services_of
from gateway.stages import Stage
from gateway.telemetry import record_intent
from gateway.whole_answer import whole_answer

router = APIRouter()


@router.post("/v1/responses")
async def create_response(request: Request) -> Response:
    """Answer one request, whole or as a stream."""
    services, record = services_of(request), record_of(request, "responses")
    caller = await services.authenticate(request, record)
    record.prompt_param = "input"
    data = await services.bytes_of(request, record)

    async def work() -> Response:
        body = await services.parsed(data, record)
        with record.clock.time(Stage.PARSE):
            intent = read_responses_request(body)
        record.model = intent.generation.model
        record_intent(intent.generation)
        if intent.generation.stream:
            return EventStream(ResponseEvents(services, intent, caller, record), services, record)
        (outcome,) = await whole_answer(services, intent.generation, caller, record, request)
        return Response(ResponseWriter(record, intent.echo).whole(outcome), media_type="application/json")

    return await generated_once(services, request, record, caller=caller, body=data, work=work)


@router.get("/v1/responses/{response_id}")
@router.delete("/v1/responses/{response_id}")
@router.post("/v1/responses/{response_id}/cancel")
@router.get("/v1/responses/{response_id}/input_items")
async def find_response(request: Request, response_id: str) -> Response:
    """No response is there afterwards: nothing is stored."""
    services, record = services_of(request), record_of(request, "responses")
    await services.authenticate(request, record)
    raise ResponseNotFoundError(response_id)
