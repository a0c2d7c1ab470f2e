"""Work that may hang or kill its process, done in children, one item after another."""

import multiprocessing
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Final, Generic, TypeVar

from gateway.validation.worker import MAX_FRAMES

Item = TypeVar("Item")
Result = TypeVar("Result")

_ADDRESS_SPACE: Final = 6 << 30
_WALL_FACTOR: Final = 30
"""A child gets this many times its CPU seconds by the clock on the wall: others use the machine too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Died:
    """The child did not come to a result."""

    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Begun:
    """The child is at its next item."""


def outcomes(
    start: Callable[[], Callable[[Item], Result]], items: Sequence[Item], *, jobs: int, cpu_seconds: float
) -> Iterator[tuple[Item, Result | Died]]:
    """What each item came to, as it comes. `start` runs once in each child; `cpu_seconds` are of one item."""
    lines = [_Line(start, items[at::jobs], cpu_seconds) for at in range(jobs)]
    while lines:
        wait([line.connection for line in lines], timeout=5)
        for line in lines:
            yield from line.outcomes()
        lines = [line for line in lines if not line.is_done]


class _Line(Generic[Item, Result]):
    """One child after another over the same items."""

    def __init__(
        self, start: Callable[[], Callable[[Item], Result]], items: Sequence[Item], cpu_seconds: float
    ) -> None:
        self._start, self._items, self._cpu_seconds = start, items, cpu_seconds
        self._num_begun = 0
        self.is_done = False
        self._fork()

    def _fork(self) -> None:
        context = multiprocessing.get_context("fork")
        self.connection, theirs = context.Pipe(duplex=False)
        arguments = (self._start, self._items[self._num_begun :], self._cpu_seconds, theirs)
        self._process = context.Process(target=_live, args=arguments, daemon=True)
        self._process.start()
        self._began = time.monotonic()
        theirs.close()

    def outcomes(self) -> Iterator[tuple[Item, Result | Died]]:
        """What has come since. After a child that died comes another, for the items behind."""
        try:
            while self.connection.poll():
                message = self.connection.recv()
                if isinstance(message, _Begun):
                    self._num_begun, self._began = self._num_begun + 1, time.monotonic()
                else:
                    yield self._items[self._num_begun - 1], message
        except EOFError:
            yield from self._ended()
            return
        if time.monotonic() - self._began > _WALL_FACTOR * self._cpu_seconds:
            self._process.kill()
            yield from self._ended()

    def _ended(self) -> Iterator[tuple[Item, Died]]:
        self._process.join()
        self.connection.close()
        code = self._process.exitcode
        if code == 0 or self._num_begun == 0:
            assert code == 0, "a child could not even begin"
            self.is_done = True
            return
        is_hang = code in {-signal.SIGPROF, -signal.SIGKILL}
        yield self._items[self._num_begun - 1], Died(why="takes too long" if is_hang else f"ends the process: {code}")
        self._fork()


def _live(
    start: Callable[[], Callable[[Item], Result]], items: Sequence[Item], cpu_seconds: float, to: Connection
) -> None:
    """A child's life. The default action of SIGPROF ends it, so that a hang in native code ends too."""
    sys.setrecursionlimit(MAX_FRAMES)
    resource.setrlimit(resource.RLIMIT_AS, (_ADDRESS_SPACE, _ADDRESS_SPACE))
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    work = start()
    for item in items:
        to.send(_Begun())
        signal.setitimer(signal.ITIMER_PROF, cpu_seconds)
        result = work(item)
        signal.setitimer(signal.ITIMER_PROF, 0)
        to.send(result)
