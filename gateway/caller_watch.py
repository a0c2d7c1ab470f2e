"""While a request is worked on, somebody has to notice that the caller has gone: nothing else frees the node."""

import asyncio
import contextlib
from functools import partial
from types import TracebackType
from typing import Self

from starlette.types import Receive

from gateway.caller_presence import CallerPresence
from gateway.tasks import TaskOwner


class CallerGoneError(Exception):
    """The caller closed the connection; nobody reads an answer."""


class CallerWatch:
    """Cancels the block's task when the caller goes away, and turns that into `CallerGoneError`.

    The request's body has to be read before. A cancellation from anywhere else passes through unchanged. Where nothing
    is known of the caller's `presence`, a task waits for what the server says.
    """

    def __init__(self, receive: Receive, tasks: TaskOwner, presence: CallerPresence | None = None) -> None:
        self._receive = receive
        self._tasks = tasks
        self._presence = presence
        self._is_gone = False
        self._watcher: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        worker = asyncio.current_task()
        assert worker is not None
        if self._presence is None:
            self._watcher = self._tasks.start(self._watch(worker), name="caller watch")
        else:
            self._presence.watch(partial(self._leave, worker))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._watcher is not None:
            self._watcher.cancel()
        if self._presence is not None:
            self._presence.unwatch()
        if not self._is_gone:
            return
        worker = asyncio.current_task()
        assert worker is not None
        if kind is None or not issubclass(kind, asyncio.CancelledError):
            # The work ended in the moment in which it was cancelled: take the cancellation that is still to come.
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(0)
        worker.uncancel()
        raise CallerGoneError from None

    async def _watch(self, worker: "asyncio.Task[object]") -> None:
        while True:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                self._leave(worker)
                return

    def _leave(self, worker: "asyncio.Task[object]") -> None:
        self._is_gone = True
        worker.cancel()
