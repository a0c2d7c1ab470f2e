"""Tenants take turns, and whoever stops waiting holds nobody up."""

import asyncio

import pytest

from registry.identifiers import TenantId
from registry.turns import Turns

ACME, OTHER, THIRD = TenantId("acme"), TenantId("other"), TenantId("third")


class Line:
    """Tasks that each want a turn, and who has had one so far."""

    def __init__(self, most: int) -> None:
        self.turns = Turns(most)
        self.had: list[str] = []
        self.end = asyncio.Event()
        self.tasks: list[asyncio.Task[None]] = []

    async def join(self, tenant: TenantId, name: str) -> "asyncio.Task[None]":
        """Stand in line; what is given is held until `end`, or handed on at once after it."""

        async def wait() -> None:
            async with self.turns.of(tenant):
                self.had.append(name)
                await self.end.wait()

        self.tasks.append(asyncio.get_running_loop().create_task(wait()))
        await asyncio.sleep(0)
        return self.tasks[-1]

    async def finish(self) -> None:
        self.end.set()
        await asyncio.gather(*self.tasks, return_exceptions=True)


async def test_who_comes_late_waits_for_one_turn_of_a_burst_and_not_for_all_of_it() -> None:
    line = Line(1)
    for number in range(5):
        await line.join(ACME, f"acme {number}")
    await line.join(OTHER, "other 0")
    await line.join(THIRD, "third 0")
    await line.join(OTHER, "other 1")
    assert line.had == ["acme 0"]
    await line.finish()
    assert line.had == [
        "acme 0", "acme 1", "other 0", "third 0", "acme 2", "other 1", "acme 3", "acme 4",
    ]  # fmt: skip


async def test_so_many_are_given_at_once_and_no_more() -> None:
    line = Line(2)
    for number in range(4):
        await line.join(ACME, str(number))
    assert line.had == ["0", "1"]
    await line.finish()
    again = await asyncio.wait_for(line.join(ACME, "4"), 5)
    await again
    assert line.had == ["0", "1", "2", "3", "4"]


@pytest.mark.parametrize("place", [1, 2, 3])
async def test_who_leaves_the_line_holds_nobody_up(place: int) -> None:
    line = Line(1)
    for number in range(4):
        await line.join(ACME, str(number))
    line.tasks[place].cancel()
    await line.finish()
    assert line.had == [str(number) for number in range(4) if number != place]
    await asyncio.wait_for(await line.join(OTHER, "last"), 5)


async def test_a_turn_given_to_one_who_is_just_leaving_goes_on_to_the_next() -> None:
    line = Line(1)
    for number in range(3):
        await line.join(ACME, str(number))
    line.end.set()
    line.tasks[0].cancel()
    line.tasks[1].cancel()
    await asyncio.gather(*line.tasks, return_exceptions=True)
    assert line.had == ["0", "2"]


async def test_a_turn_taken_back_in_the_moment_it_was_given_is_not_lost() -> None:
    turns = Turns(1)
    first = turns.of(ACME)
    await first.__aenter__()

    async def want() -> None:
        async with turns.of(ACME):
            pass

    waiting = asyncio.get_running_loop().create_task(want())
    await asyncio.sleep(0)
    await first.__aexit__(None, None, None)  # the turn is given now
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    async with asyncio.timeout(5), turns.of(OTHER):
        pass
