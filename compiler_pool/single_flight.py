"""One computation for all who ask for the same at the same time, within a process."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from compiler_pool.artifact import ArtifactKey

Answer = TypeVar("Answer")


class SingleFlight(Generic[Answer]):
    """At most one computation per key at a time; who asks meanwhile gets the same answer.

    The computation belongs to all who wait: it is cancelled when the last of them has gone, and not before.
    """

    def __init__(self) -> None:
        self._flights: dict[ArtifactKey, _Flight[Answer]] = {}

    async def run(
        self,
        key: ArtifactKey,
        compute: Callable[[], Awaitable[Answer]],
        *,
        claim: Callable[[Answer | None], None] = lambda _: None,
    ) -> tuple[Answer, bool]:
        """The answer for `key`, and whether this call joined a computation that somebody else had started.

        Of all who wait for one computation exactly one has its `claim` called: the first who gets the answer, with it;
        or, when nobody gets it, the last to go, with None unless an answer had come in that moment. Who started it
        comes first while it waits.
        """
        flight = self._flights.get(key)
        has_joined = flight is not None
        if flight is None:
            flight = _Flight(task=asyncio.ensure_future(_awaited(compute)))
            self._flights[key] = flight
            flight.task.add_done_callback(lambda _: self._land(key, flight))
        flight.num_waiting += 1
        has_answer = False
        try:
            answer = await asyncio.shield(flight.task)
            has_answer = True
            return answer, has_joined
        finally:
            flight.num_waiting -= 1
            if not flight.is_claimed and (has_answer or flight.num_waiting == 0):
                flight.is_claimed = True
                claim(_answer(flight.task))
            if flight.num_waiting == 0 and not flight.task.done():
                # Nobody may join a flight that is about to end: the next one starts its own.
                self._land(key, flight)
                flight.task.cancel()

    def _land(self, key: ArtifactKey, flight: "_Flight[Answer]") -> None:
        if self._flights.get(key) is flight:
            del self._flights[key]


@dataclass(slots=True, kw_only=True)
class _Flight(Generic[Answer]):
    task: "asyncio.Future[Answer]"
    num_waiting: int = 0
    is_claimed: bool = False


def _answer(task: "asyncio.Future[Answer]") -> Answer | None:
    has_answer = task.done() and not task.cancelled() and task.exception() is None
    return task.result() if has_answer else None


async def _awaited(compute: Callable[[], Awaitable[Answer]]) -> Answer:
    return await compute()
