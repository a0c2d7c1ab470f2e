"""A reader that leaves is noticed in whatever moment it leaves: a sequence that nobody reads is not decoded."""

import asyncio

import pytest
from starlette.types import Message

from inference_node.event_stream import EventStreamResponse
from inference_node.metrics import NodeMetrics
from inference_node.outbox import Outbox
from inference_node.protocol import Started


@pytest.mark.parametrize("num_turns", range(8))
@pytest.mark.parametrize("leaving_at", ["http.response.start", "http.response.body"])
async def test_a_reader_that_leaves_while_something_is_sent_ends_the_sequence(num_turns: int, leaving_at: str) -> None:
    has_left, num_ends = asyncio.Event(), 0

    async def receive() -> Message:
        await has_left.wait()
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        if message["type"] == leaving_at:
            has_left.set()
            for _ in range(num_turns):
                await asyncio.sleep(0)

    def end() -> None:
        nonlocal num_ends
        num_ends += 1

    outbox = Outbox()
    outbox.put(Started(prompt_tokens=1))
    async with asyncio.timeout(5):
        response = EventStreamResponse(outbox, metrics=NodeMetrics(), stall_seconds=60, on_end=end)
        await response({"type": "http"}, receive, send)
    assert num_ends == 1


async def test_a_reader_that_takes_nothing_counts_as_gone() -> None:
    ended = asyncio.Event()

    async def never() -> Message:
        await asyncio.Event().wait()
        raise AssertionError

    async def stuck(_: Message) -> None:
        await asyncio.Event().wait()

    async with asyncio.timeout(5):
        response = EventStreamResponse(Outbox(), metrics=NodeMetrics(), stall_seconds=0.01, on_end=ended.set)
        await response({"type": "http"}, never, stuck)
    assert ended.is_set()


async def test_a_stream_that_waits_is_kept_alive_for_as_long_as_the_node_makes_steps() -> None:
    """A gateway takes a minute of silence for a node that has gone, and a queue can be longer than that."""
    metrics, outbox, bodies = NodeMetrics(), Outbox(), asyncio.Queue[bytes]()

    async def never() -> Message:
        await asyncio.Event().wait()
        raise AssertionError

    async def send(message: Message) -> None:
        if message["type"] == "http.response.body":
            await bodies.put(message["body"])

    response = EventStreamResponse(
        outbox, metrics=metrics, stall_seconds=60, on_end=lambda: None, pulse_seconds=0.01
    )  # fmt: skip
    serving = asyncio.create_task(response({"type": "http"}, never, send))
    await asyncio.sleep(0.05)
    assert bodies.empty(), "no step was made: silence"
    for _ in range(2):
        metrics.step(seconds=0.0, num_rows=1)
        assert await asyncio.wait_for(bodies.get(), 10) == b"\n"
    outbox.put(Started(prompt_tokens=1))
    assert b"started" in await asyncio.wait_for(bodies.get(), 10)
    await asyncio.sleep(0.05)
    assert bodies.empty(), "no step was made since"
    serving.cancel()
    await asyncio.gather(serving, return_exceptions=True)


async def test_outboxes_that_are_written_to_together_are_all_heard_of() -> None:
    outboxes = [Outbox() for _ in range(20)]

    def write() -> None:
        for number, outbox in enumerate(outboxes):
            outbox.put(Started(prompt_tokens=number))

    for _ in range(3):
        await asyncio.to_thread(write)
        heard = [await asyncio.wait_for(outbox.next_events(), 10) for outbox in outboxes]
        assert [[event.prompt_tokens for event in events if isinstance(event, Started)] for events in heard] == [
            [number] for number in range(20)
        ]


def test_events_for_a_loop_that_is_closed_go_nowhere() -> None:
    async def make() -> Outbox:
        return Outbox()

    outbox = asyncio.run(make())
    outbox.put(Started(prompt_tokens=1))
