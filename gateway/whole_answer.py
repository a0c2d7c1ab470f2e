"""An answer that is given out when it is there as a whole."""

from starlette.requests import Request

from gateway.auth.authenticator import Caller
from gateway.caller_presence import PRESENCE
from gateway.caller_watch import CallerWatch
from gateway.envelope import output_error
from gateway.intent import GenerationIntent
from gateway.outcome import Outcome, deciding
from gateway.record import RequestRecord
from gateway.services import Services


async def whole_answer(
    services: Services, intent: GenerationIntent, caller: Caller, record: RequestRecord, request: Request
) -> tuple[Outcome, ...]:
    """The outcomes of all choices, every one an answer.

    Raises:
        GatewayError: any refusal or failure; `OutputError` where a choice is no answer.
    """
    async with (
        CallerWatch(request.receive, services.tasks, request.scope.get(PRESENCE)),
        services.pipeline.generate(intent, caller, record) as answering,
    ):
        await answering.read()
        outcomes = await answering.outcomes()
        record.conclude(outcomes, answering.first_token_seconds)
    error = output_error(deciding(outcomes), record)
    if error is not None:
        raise error
    return outcomes
