"""The owner of everything that runs beside requests: it keeps every task, logs what escapes, and ends them all."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import structlog

_log = structlog.get_logger(__name__)
_Result = TypeVar("_Result")


class TaskOwner:
    """One for each application. After `close` nothing that it started runs any more."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    def start(self, work: Coroutine[Any, Any, _Result], *, name: str) -> asyncio.Task[_Result]:
        """Run `work` until it ends or `close` ends it."""
        task = asyncio.create_task(work, name=name)  # noqa: TID251 - this is the named owner
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("a background task failed", task=task.get_name(), exc_info=error)

    async def close(self) -> None:
        """Cancel what runs and wait for it."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
