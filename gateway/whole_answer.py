"""An answer that is given out when it is there as a whole."""

from contextlib import aclosing

from starlette.types import Receive

from gateway.auth.authenticator import Caller
from gateway.caller_watch import CallerWatch
from gateway.envelope import output_error
from gateway.intent import GenerationIntent
from gateway.outcome import Outcome, deciding
from gateway.record import RequestRecord
from gateway.services import Services


async def whole_answer(
    services: Services, intent: GenerationIntent, caller: Caller, record: RequestRecord, receive: Receive
) -> tuple[Outcome, ...]:
    """The outcomes of all choices, every one an answer.

    Raises:
        GatewayError: any refusal or failure; `OutputError` where a choice is no answer.
    """
    async with (
        CallerWatch(receive, services.tasks),
        services.pipeline.generate(intent, caller, record) as answering,
    ):
        async with aclosing(answering.parts()) as parts:
            async for _ in parts:
                pass
        outcomes = await answering.outcomes()
        record.conclude(outcomes, answering.first_token_seconds)
    error = output_error(deciding(outcomes), record)
    if error is not None:
        raise error
    return outcomes
