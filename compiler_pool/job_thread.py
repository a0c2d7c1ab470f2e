"""The thread in which jobs run: a thread has the stack that a budget allows, which the main one has not."""

import threading
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import TypeAlias

_Answer: TypeAlias = bytes | BaseException


class JobThread:
    """Takes one job after another. Calling order: `begin`, then `answer` until it is there; `end` after the last.

    Raises `RuntimeError` or `MemoryError` where there is no room for its stack.
    """

    def __init__(self, *, stack_bytes: int) -> None:
        self.stack_bytes = stack_bytes
        self._jobs: SimpleQueue[Callable[[], bytes] | None] = SimpleQueue()
        self._answers: SimpleQueue[_Answer] = SimpleQueue()
        threading.stack_size(stack_bytes)
        thread = threading.Thread(target=self._work, name="job", daemon=True)
        thread.start()
        self._thread = thread

    @property
    def native_id(self) -> int | None:
        """What the kernel calls it."""
        return self._thread.native_id

    def end(self) -> None:
        """Let it go once it has nothing to do, and wait for that: its stack belongs to its job's limits."""
        self._jobs.put(None)
        self._thread.join()

    def begin(self, job: Callable[[], bytes]) -> None:
        """Have a job done."""
        self._jobs.put(job)

    def answer(self, *, seconds: float | None = None) -> _Answer | None:
        """The job's answer, or what it raised; None if it is not done within `seconds`."""
        with suppress(Empty):
            return self._answers.get(timeout=seconds)
        return None

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            try:
                answer: _Answer = job()
            except BaseException as fault:
                answer = fault
            self._answers.put(answer)
            # What a job made does not wait in here for the next one.
            del job, answer
