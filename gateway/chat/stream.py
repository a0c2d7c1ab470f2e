"""A chat completion as server-sent events: finish reasons with the class, or an error, are the terminal ones."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

from gateway.auth.authenticator import Caller
from gateway.chat.chunks import ChunkWriter
from gateway.envelope import DONE, output_error, sse_data
from gateway.errors import GatewayError
from gateway.intent import GenerationIntent
from gateway.outcome import Outcome, deciding
from gateway.problems import internal_problem, problem_of
from gateway.record import RequestRecord
from gateway.services import Services


class ChatEvents:
    """The events of one chat completion."""

    def __init__(self, services: Services, intent: GenerationIntent, caller: Caller, record: RequestRecord) -> None:
        self._services = services
        self._intent = intent
        self._caller = caller
        self._record = record

    def failure(self) -> bytes:
        """The error event of a failure of ours."""
        return sse_data(internal_problem().body(self._record.request_id)) + DONE

    async def events(self) -> AsyncGenerator[bytes, None]:
        """Chunks, then the terminal event and OpenAI's mark of the end."""
        record, intent = self._record, self._intent
        failure: GatewayError | None = None
        outcomes: tuple[Outcome, ...] = ()
        # The terminal event comes when all is over that could yet fail, so that there is one.
        async with self._services.pipeline.generate(intent, self._caller, record) as answering:
            chunks = ChunkWriter(record, answering, intent)
            yield chunks.roles()
            try:
                async with aclosing(answering.parts()) as parts:
                    async for index, part in parts:
                        yield chunks.part(index, part)
            except GatewayError as error:  # a further choice could not begin
                failure = error
            else:
                outcomes = await answering.outcomes()
                record.conclude(outcomes, answering.first_token_seconds)
        failure = failure or output_error(deciding(outcomes), record)
        yield (chunks.finish(outcomes) if failure is None else self._failed(failure)) + DONE

    def _failed(self, error: GatewayError) -> bytes:
        problem = problem_of(error)
        self._record.fail(problem)
        return sse_data(problem.body(self._record.request_id))
