"""A chat completion as server-sent events: a finish reason with the class, or an error, is the terminal one."""

from collections.abc import AsyncGenerator

from gateway.auth.authenticator import Caller
from gateway.chat.envelope import ChunkWriter
from gateway.envelope import DONE, output_error, sse_data
from gateway.intent import GenerationIntent
from gateway.outcome import Outcome
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
        async with self._services.pipeline.generate(intent, self._caller, record) as generation:
            chunks = ChunkWriter(record, model=generation.offer.model, include_usage=intent.include_usage)
            yield chunks.role()
            async for text in generation.texts():
                yield chunks.text(text)
            outcome = await generation.outcome()
            record.conclude(outcome, generation.first_token_seconds)
        yield self._terminal(outcome, chunks) + DONE

    def _terminal(self, outcome: Outcome, chunks: ChunkWriter) -> bytes:
        error = output_error(outcome, self._record)
        if error is None:
            return chunks.finish(outcome, self._record)
        problem = problem_of(error)
        self._record.error_code = problem.code
        return sse_data(problem.body(self._record.request_id))
