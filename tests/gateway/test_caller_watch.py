"""Who cancelled a request, and that nothing of it stays behind."""

import asyncio
from typing import Any

import pytest

from gateway.caller_presence import CallerPresence
from gateway.caller_watch import CallerGoneError, CallerWatch
from gateway.tasks import TaskOwner


class Caller:
    """The receiving end of a request whose body was read."""

    def __init__(self) -> None:
        self.gone = asyncio.Event()

    async def receive(self) -> dict[str, Any]:
        await self.gone.wait()
        return {"type": "http.disconnect"}


async def is_free_of_cancellation() -> bool:
    task = asyncio.current_task()
    assert task is not None
    await asyncio.sleep(0)
    return task.cancelling() == 0


async def test_a_caller_who_leaves_cancels_the_work() -> None:
    caller, tasks = Caller(), TaskOwner()

    async def work() -> None:
        async with CallerWatch(caller.receive, tasks):
            caller.gone.set()
            await asyncio.Event().wait()

    with pytest.raises(CallerGoneError):
        await work()
    assert await is_free_of_cancellation()
    await tasks.close()


async def test_a_caller_who_leaves_in_the_moment_the_work_ends_is_gone_too() -> None:
    caller, tasks = Caller(), TaskOwner()
    watch = CallerWatch(caller.receive, tasks)
    worker = asyncio.current_task()
    assert worker is not None

    async def work() -> None:
        async with watch:
            watch._is_gone = True  # the watcher ran between the work's last step and here
            worker.cancel()

    with pytest.raises(CallerGoneError):
        await work()
    assert await is_free_of_cancellation()
    await tasks.close()


async def test_a_caller_who_stays_changes_nothing() -> None:
    caller, tasks = Caller(), TaskOwner()
    async with CallerWatch(caller.receive, tasks):
        await asyncio.sleep(0)
    caller.gone.set()
    assert await is_free_of_cancellation()
    await tasks.close()


async def test_an_error_of_the_work_passes_through() -> None:
    caller, tasks = Caller(), TaskOwner()
    with pytest.raises(ValueError, match="own"):
        async with CallerWatch(caller.receive, tasks):
            raise ValueError("own")
    await tasks.close()


async def test_a_cancellation_from_elsewhere_stays_one() -> None:
    caller, tasks = Caller(), TaskOwner()
    entered = asyncio.Event()

    async def work() -> None:
        async with CallerWatch(caller.receive, tasks):
            entered.set()
            await asyncio.Event().wait()

    worker = asyncio.ensure_future(work())
    await entered.wait()
    worker.cancel()
    with pytest.raises(asyncio.CancelledError):
        await worker
    await tasks.close()


async def never() -> dict[str, Any]:
    raise AssertionError("whose presence is known, for that nobody waits")


async def test_a_connection_that_is_closed_cancels_the_work_without_a_task_that_waits_for_it() -> None:
    presence, tasks = CallerPresence(), TaskOwner()

    async def work() -> None:
        async with CallerWatch(never, tasks, presence):
            presence.leave()
            await asyncio.Event().wait()

    with pytest.raises(CallerGoneError):
        await work()
    assert await is_free_of_cancellation()


async def test_who_has_left_before_the_work_began_is_gone_at_its_first_wait() -> None:
    presence, tasks = CallerPresence(), TaskOwner()
    presence.leave()

    async def work() -> None:
        async with CallerWatch(never, tasks, presence):
            await asyncio.Event().wait()

    with pytest.raises(CallerGoneError):
        await work()
    assert await is_free_of_cancellation()


async def test_who_leaves_when_the_work_is_over_disturbs_nobody() -> None:
    presence, tasks = CallerPresence(), TaskOwner()
    async with CallerWatch(never, tasks, presence):
        pass
    presence.leave()
    assert await is_free_of_cancellation()
