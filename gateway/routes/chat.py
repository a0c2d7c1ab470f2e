"""`POST /v1/chat/completions`."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from gateway.chat.envelope import chat_completion
from gateway.chat.request import read_chat_request
from gateway.chat.stream import ChatEvents
from gateway.event_stream import EventStream
from gateway.generated_once import generated_once
from gateway.services import record_of, services_of
from gateway.stages import Stage
from gateway.telemetry import record_intent
from gateway.whole_answer import whole_answer

router = APIRouter()


@router.post("/v1/chat/completions")
async def create_chat_completion(request: Request) -> Response:
    """Answer one chat completion, whole or as a stream."""
    services, record = services_of(request), record_of(request, "chat_completions")
    caller = await services.authenticate(request, record)
    data = await services.bytes_of(request, record)

    async def work() -> Response:
        body = await services.parsed(data, record)
        with record.clock.time(Stage.PARSE):
            intent = read_chat_request(body)
        record.model = intent.model
        record_intent(intent)
        if intent.stream:
            return EventStream(ChatEvents(services, intent, caller, record), services, record)
        outcomes = await whole_answer(services, intent, caller, record, request)
        text = chat_completion(outcomes, record).model_dump_json(by_alias=True)
        return Response(text, media_type="application/json")

    return await generated_once(services, request, record, caller=caller, body=data, work=work)
