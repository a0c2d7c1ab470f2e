"""Carries one sequence's events from the step loop's thread to the connection that reads them.

A slow reader costs the step loop nothing and the node little: events that wait are merged, so that one outbox never
holds more than one sequence's text, which the context bounds.
"""

import asyncio
from threading import Lock

from inference_node.joining import joined
from inference_node.protocol import Finish, GenerateEvent, TokenEvent


class Outbox:
    """One writer, on any thread; one reader, on the event loop that made it."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._lock = Lock()
        self._waiting: list[GenerateEvent] = []
        self._arrived = asyncio.Event()

    def put(self, event: GenerateEvent) -> None:
        """Take the next event. After the reader's event loop is gone, events go nowhere."""
        with self._lock:
            was_empty = not self._waiting
            self._waiting.append(event)
        if was_empty:
            try:
                self._loop.call_soon_threadsafe(self._arrived.set)
            except RuntimeError:  # the loop is closed: nobody reads
                return

    async def next_events(self) -> list[GenerateEvent]:
        """Wait for events; token events that wait are merged, thought and answer apart. `Finish` ends the last list."""
        await self._arrived.wait()
        self._arrived.clear()
        with self._lock:
            waiting, self._waiting = self._waiting, []
        return _merged(waiting)


def _merged(events: list[GenerateEvent]) -> list[GenerateEvent]:
    tokens = [event for event in events if isinstance(event, TokenEvent)]
    others = [event for event in events if not isinstance(event, TokenEvent)]
    if len(tokens) < 2:
        return events
    before = [event for event in others if not isinstance(event, Finish)]
    return [*before, *joined(tokens), *(event for event in others if isinstance(event, Finish))]
