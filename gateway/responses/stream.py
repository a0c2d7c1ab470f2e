"""A response as server-sent events: every one is named and numbered, and exactly one is terminal."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

from gateway.auth.authenticator import Caller
from gateway.errors import GatewayError
from gateway.outcome import Outcome
from gateway.problem import Problem
from gateway.problems import internal_problem, problem_of
from gateway.record import RequestRecord
from gateway.responses.envelope import ResponseWriter
from gateway.responses.request import ResponsesIntent
from gateway.services import Services


class ResponseEvents:
    """The events of one response."""

    def __init__(self, services: Services, intent: ResponsesIntent, caller: Caller, record: RequestRecord) -> None:
        self._services = services
        self._intent = intent
        self._caller = caller
        self._record = record
        self._writer = ResponseWriter(record, intent.echo, is_obfuscated=intent.generation.is_obfuscated)

    async def events(self) -> AsyncGenerator[bytes, None]:
        """From `response.created` to the terminal event."""
        writer, record = self._writer, self._record
        problem: Problem | None = None
        outcomes: tuple[Outcome, ...] = ()
        # The terminal event comes when all is over that could yet fail, so that there is one.
        async with self._services.pipeline.generate(self._intent.generation, self._caller, record) as answering:
            yield writer.begun(answering.model)
            try:
                async with aclosing(answering.parts()) as parts:
                    async for _, part in parts:
                        events = writer.take(part)
                        if events:
                            yield events
            except GatewayError as error:  # what came next could not begin
                problem = problem_of(error)
            else:
                outcomes = await answering.outcomes()
                record.conclude(outcomes, answering.first_token_seconds)
        if problem is None:
            yield writer.finish(outcomes[0])
        else:
            record.fail(problem)
            yield writer.broken(problem)

    def failure(self) -> bytes:
        """The error event of a failure of ours."""
        return self._writer.broken(internal_problem())
