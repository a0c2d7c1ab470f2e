"""`/v1/responses`."""

from contextlib import aclosing

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from gateway.auth.authenticator import Caller
from gateway.caller_watch import CallerWatch
from gateway.envelope import output_error
from gateway.errors import ResponseNotFoundError
from gateway.event_stream import EventStream
from gateway.generated_once import generated_once
from gateway.record import RequestRecord
from gateway.responses.envelope import ResponseWriter
from gateway.responses.request import ResponsesIntent, read_responses_request
from gateway.responses.stream import ResponseEvents
from gateway.services import Services, record_of, services_of
from gateway.stages import Stage
from gateway.telemetry import record_intent

router = APIRouter()


@router.post("/v1/responses")
async def create_response(request: Request) -> Response:
    """Answer one request, whole or as a stream."""
    services, record = services_of(request), record_of(request, "responses")
    caller = await services.authenticate(request, record)
    data = await services.bytes_of(request, record)

    async def work() -> Response:
        body = await services.parsed(data, record)
        policies = await services.policies.of_tenant(caller.tenant)
        with record.clock.time(Stage.PARSE):
            intent = read_responses_request(body, hosted=policies.of_contract(None).hosted_tools)
        record.model = intent.generation.model
        record_intent(intent.generation)
        if intent.generation.stream:
            return EventStream(ResponseEvents(services, intent, caller, record), services, record)
        async with CallerWatch(request.receive, services.tasks):
            return await _whole(services, intent, caller, record)

    return await generated_once(services, request, record, caller=caller, body=data, work=work)


async def _whole(services: Services, intent: ResponsesIntent, caller: Caller, record: RequestRecord) -> Response:
    writer = ResponseWriter(record, intent.echo)
    async with services.pipeline.generate(intent.generation, caller, record) as answering:
        writer.begun(answering.model)
        async with aclosing(answering.parts()) as parts:
            async for _, part in parts:
                writer.take(part)
        outcomes = await answering.outcomes()
        record.conclude(outcomes, answering.first_token_seconds)
    error = output_error(outcomes[0], record)
    if error is not None:
        raise error
    return Response(writer.whole(outcomes[0]), media_type="application/json")


@router.get("/v1/responses/{response_id}")
@router.delete("/v1/responses/{response_id}")
@router.post("/v1/responses/{response_id}/cancel")
@router.get("/v1/responses/{response_id}/input_items")
async def find_response(request: Request, response_id: str) -> Response:
    """No response is there afterwards: nothing is stored."""
    services, record = services_of(request), record_of(request, "responses")
    await services.authenticate(request, record)
    raise ResponseNotFoundError(response_id)
