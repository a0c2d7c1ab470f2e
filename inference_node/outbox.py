"""Carries one sequence's events from the step loop's thread to the connection that reads them.

A slow reader costs the step loop nothing and the node little: events that wait are merged, so that one outbox never
holds more than one sequence's text, which the context bounds.
"""

import asyncio
from collections.abc import Callable
from threading import Lock
from weakref import WeakKeyDictionary, ref

from inference_node.joining import joined
from inference_node.protocol import Finish, GenerateEvent, TokenEvent


class _Bell:
    """Wakes an event loop once for all outboxes that were written to since it last looked.

    A step writes to every sequence's: a wake-up each is a system call each, on the step loop's thread.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = ref(loop)  # which is the key under which this bell is kept: it must not keep it alive
        self._lock = Lock()
        self._arrived: list[Callable[[], None]] = []

    def ring(self, arrived: Callable[[], None]) -> None:
        """Have something called on the event loop; nothing is, once that is closed. From any thread."""
        with self._lock:
            self._arrived.append(arrived)
            if len(self._arrived) > 1:
                return
        loop = self._loop()
        try:
            if loop is not None:
                loop.call_soon_threadsafe(self._tell)
        except RuntimeError:  # the loop is closed: nobody reads
            return

    def _tell(self) -> None:
        with self._lock:
            waiting, self._arrived = self._arrived, []
        for arrived in waiting:
            arrived()


_bells: WeakKeyDictionary[asyncio.AbstractEventLoop, _Bell] = WeakKeyDictionary()


def _bell_of_this_loop() -> _Bell:
    loop = asyncio.get_running_loop()
    bell = _bells.get(loop)
    if bell is None:
        bell = _bells[loop] = _Bell(loop)
    return bell


class Outbox:
    """One writer, on any thread; one reader, on the event loop that made it."""

    def __init__(self) -> None:
        self._bell = _bell_of_this_loop()
        self._lock = Lock()
        self._waiting: list[GenerateEvent] = []
        self._arrived = asyncio.Event()

    def put(self, event: GenerateEvent) -> None:
        """Take the next event. After the reader's event loop is gone, events go nowhere."""
        with self._lock:
            was_empty = not self._waiting
            self._waiting.append(event)
        if was_empty:
            self._bell.ring(self._arrived.set)

    def wake_reader(self) -> None:
        """Have `next_events` return although there may be none. On the reader's event loop."""
        self._arrived.set()

    async def next_events(self) -> list[GenerateEvent]:
        """Wait for events; token events that wait are merged, thought and answer apart. `Finish` ends the last list.

        The list is empty where the reader was woken, or has already had what it was told of.
        """
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
