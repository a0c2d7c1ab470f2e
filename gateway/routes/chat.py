"""`POST /v1/chat/completions`."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive

from gateway.auth.authenticator import Caller
from gateway.caller_watch import CallerWatch
from gateway.chat.envelope import chat_completion
from gateway.chat.request import read_chat_request
from gateway.chat.stream import ChatEvents
from gateway.envelope import output_error
from gateway.event_stream import EventStream
from gateway.intent import GenerationIntent
from gateway.outcome import Outcome
from gateway.record import RequestRecord
from gateway.services import Services, record_of, services_of
from gateway.stages import Stage
from gateway.telemetry import record_intent

router = APIRouter()


@router.post("/v1/chat/completions")
async def create_chat_completion(request: Request) -> Response:
    """Answer one chat completion, whole or as a stream."""
    services, record = services_of(request), record_of(request, "chat_completions")
    caller = await services.authenticate(request, record)
    body = await services.body(request, record)
    with record.clock.time(Stage.PARSE):
        intent = read_chat_request(body)
    record.model = intent.model
    record_intent(intent)
    if intent.stream:
        return EventStream(ChatEvents(services, intent, caller, record), services, record)
    outcome = await _decode(services, intent, caller, record, request.receive)
    error = output_error(outcome, record)
    if error is not None:
        raise error
    return JSONResponse(chat_completion(outcome, record).model_dump(by_alias=True))


async def _decode(
    services: Services, intent: GenerationIntent, caller: Caller, record: RequestRecord, receive: Receive
) -> Outcome:
    async with (
        CallerWatch(receive, services.tasks),
        services.pipeline.generate(intent, caller, record) as generation,
    ):
        async for _ in generation.texts():
            pass
        outcome = await generation.outcome()
        record.conclude(outcome, generation.first_token_seconds)
    return outcome
