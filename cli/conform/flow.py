"""The flow of lines: read as they come, answered beside each other, written in the order they came."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress

from cli.conform.answer import ConformAnswer
from cli.conform.lines import InputLine

Answerer = Callable[[InputLine], Awaitable[ConformAnswer]]

LINES_AHEAD_PER_WORKER = 4
"""Lines read before the oldest is answered: one slow line must not idle the others, nor memory hold the whole input."""


async def run_lines(
    lines: Iterator[InputLine], answerers: Sequence[Answerer], write: Callable[[ConformAnswer], None]
) -> None:
    """Answer every line with whichever answerer is free; write the answers in the order of the lines.

    An exception from an answerer or from `write` ends the run; one from `lines` does when all before it is written.
    """
    flow = _Flow(lines, num_answerers=len(answerers))
    # A thread of its own, because standard input may be a file or a terminal, which no event loop can wait for; a
    # daemon, because a read that never returns must not keep the command from ending.
    threading.Thread(target=flow.read, name="conform-input", daemon=True).start()
    async with asyncio.TaskGroup() as group:
        group.create_task(flow.write_all(write))
        for answerer in answerers:
            group.create_task(flow.work(answerer))
    if flow.input_fault is not None:
        raise flow.input_fault


class _Flow:
    """The two queues between reader, workers and writer."""

    def __init__(self, lines: Iterator[InputLine], *, num_answerers: int) -> None:
        self.input_fault: BaseException | None = None
        self._lines = lines
        self._num_answerers = num_answerers
        self._loop = asyncio.get_running_loop()
        self._ahead = threading.Semaphore(LINES_AHEAD_PER_WORKER * num_answerers)
        self._todo: asyncio.Queue[tuple[InputLine, asyncio.Future[ConformAnswer]] | None] = asyncio.Queue()
        self._order: asyncio.Queue[asyncio.Future[ConformAnswer] | None] = asyncio.Queue()

    def read(self) -> None:
        """The reader's thread. The loop is closed if the run has ended first: then nobody waits for the rest."""
        try:
            for line in self._lines:
                self._ahead.acquire()
                self._loop.call_soon_threadsafe(self._put, line)
        except BaseException as error:
            self.input_fault = error
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._put_end)

    async def work(self, answerer: Answerer) -> None:
        """Answer lines until there are no more."""
        while (item := await self._todo.get()) is not None:
            line, future = item
            future.set_result(await answerer(line))

    async def write_all(self, write: Callable[[ConformAnswer], None]) -> None:
        """Write every answer, the oldest first."""
        while (future := await self._order.get()) is not None:
            write(await future)
            self._ahead.release()

    def _put(self, line: InputLine) -> None:
        future: asyncio.Future[ConformAnswer] = self._loop.create_future()
        self._order.put_nowait(future)
        self._todo.put_nowait((line, future))

    def _put_end(self) -> None:
        self._order.put_nowait(None)
        for _ in range(self._num_answerers):
            self._todo.put_nowait(None)
