import asyncio

import pytest

from gateway.deadline import Deadline


def deadline_in(seconds: float) -> Deadline:
    return Deadline(asyncio.get_running_loop().time() + seconds)


async def forever() -> None:
    await asyncio.Event().wait()


async def soon() -> str:
    await asyncio.sleep(0)
    return "here"


async def test_what_comes_in_time_is_given_out_as_often_as_it_is_asked_for() -> None:
    deadline = deadline_in(60)
    assert [await deadline.within(soon) for _ in range(3)] == ["here"] * 3
    deadline.over()


async def test_what_does_not_come_is_a_timeout_and_leaves_no_cancellation_behind() -> None:
    deadline = deadline_in(0.01)
    with pytest.raises(TimeoutError):
        await deadline.within(forever)
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0
    await asyncio.sleep(0.01)


async def test_after_the_moment_nothing_is_begun() -> None:
    deadline = deadline_in(0)
    await asyncio.sleep(0.01)

    async def begun() -> None:
        raise AssertionError

    with pytest.raises(TimeoutError):
        await deadline.within(begun)


async def test_a_moment_that_passes_between_two_waits_disturbs_nobody() -> None:
    deadline = deadline_in(0.01)
    assert await deadline.within(soon) == "here"
    await asyncio.sleep(0.03)
    with pytest.raises(TimeoutError):
        await deadline.within(soon)


async def test_a_cancellation_from_elsewhere_stays_one() -> None:
    async def work() -> None:
        deadline = deadline_in(60)
        try:
            await deadline.within(forever)
        finally:
            deadline.over()

    task = asyncio.ensure_future(work())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_of_both_at_once_the_cancellation_from_elsewhere_counts() -> None:
    async def work() -> None:
        task = asyncio.current_task()
        assert task is not None
        deadline = deadline_in(0)
        asyncio.get_running_loop().call_soon(task.cancel)
        await deadline.within(forever)

    task = asyncio.ensure_future(work())
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_work_that_swallows_the_cancellation_leaves_none_behind() -> None:
    async def stubborn() -> str:
        try:
            await forever()
        except asyncio.CancelledError:
            return "late"
        return ""

    assert await deadline_in(0.01).within(stubborn) == "late"
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


async def test_an_error_of_the_work_is_its_own() -> None:
    async def fails() -> None:
        raise LookupError

    deadline = deadline_in(60)
    with pytest.raises(LookupError):
        await deadline.within(fails)
    deadline.over()
    await asyncio.sleep(0)
