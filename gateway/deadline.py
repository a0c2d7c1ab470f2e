"""A request's deadline over many short waits: one timer for all of them, where `asyncio.timeout` needs one for each."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

_Result = TypeVar("_Result")


class Deadline:
    """One moment of the event loop's clock. Calling order: `within` any number of times, one after another; `over`."""

    def __init__(self, at: float) -> None:
        self._timer = asyncio.get_running_loop().call_at(at, self._ring)
        self._has_passed = self._has_cancelled = False
        self._waiting: asyncio.Task[Any] | None = None

    async def within(self, begin: Callable[[], Awaitable[_Result]]) -> _Result:
        """What `begin` waits for, if it comes in time; once the moment has passed, nothing is begun.

        Raises:
            TimeoutError: the moment has passed. Cancellation from anywhere else stays what it is.
        """
        if self._has_passed:
            raise TimeoutError
        task = asyncio.current_task()
        assert task is not None
        num_cancels = task.cancelling()
        self._waiting = task
        try:
            return await begin()
        except asyncio.CancelledError:
            if self._has_cancelled and task.cancelling() - 1 <= num_cancels:
                raise TimeoutError from None
            raise
        finally:
            if self._has_cancelled:
                task.uncancel()
            self._waiting, self._has_cancelled = None, False

    def over(self) -> None:
        """Nothing is waited for any more."""
        self._timer.cancel()

    def _ring(self) -> None:
        # The task is not running now: it gets the cancellation inside of `within`, or is not inside.
        self._has_passed = True
        if self._waiting is not None:
            self._has_cancelled = True
            self._waiting.cancel()
