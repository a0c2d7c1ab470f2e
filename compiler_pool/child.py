"""The worker's side: `python -m compiler_pool.child PARENT_PID ENTRY`, started by `compiler_pool.process` only.

Linux only: it leans on `prctl`, `/proc` and the kernel's own limits, because those hold while native code runs without
giving the interpreter a chance. Every limit ends in the death of this process; the parent reads the reason from it.
"""

import ctypes
import importlib
import json
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, NoReturn

from compiler_pool.job import (
    HEADER,
    KEEPS_THREAD,
    JsonLike,
    Kind,
    MessageTooLargeError,
    pack_answer,
    pack_message,
    unpack_job,
)
from compiler_pool.job_thread import JobThread
from policy.limits import ProcessBudget

Job = Callable[[bytes], bytes]
Factory = Callable[[dict[str, JsonLike]], Job]

_PR_SET_PDEATHSIG = 1
_ORPHAN_GRACE_SECONDS = 5.0
"""Past the parent's own wall limit: it bites only when the parent could not."""
_EXIT_FAULT = 70
_QUICK_SECONDS = 0.05
"""Of CPU time, after which a job is a long one. Of real contracts 97 in 100 take less."""
_WATCH_SECONDS = 0.02
_LONG_NICENESS = 5
"""Of long jobs: a third of a quick one's share of a processor. Where processors are few, others' quick jobs and the
service go on nearly as though the long one were not there; where nobody else wants one, it loses nothing. Yielding more
would leave honest long jobs to their wall limit on a machine that is busy with other things."""


def main(arguments: list[str]) -> NoReturn:
    """Serve jobs until standard input ends."""
    parent, entry = int(arguments[0]), arguments[1]
    _die_with(parent)
    # An interrupt at the terminal reaches the whole group; when to stop is the parent's decision.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # The default action of both ends the process from inside the kernel, whoever holds the interpreter lock. Jobs run
    # in other threads, where the interpreter lets nobody change it.
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    inbox, outbox = _reserve_pipes()
    try:
        config = json.loads(_read_message(inbox, Kind.CONFIG))  # noqa: TID251 - our own parent wrote it
        keeps_thread = config.pop(KEEPS_THREAD, False) is True
        job = _loaded(entry, config)
    except BaseException as fault:
        _end_with_fault(outbox, fault)
    bench = _Bench(job, outbox, keeps_thread=keeps_thread)
    _send(outbox, pack_message(Kind.READY, b""))
    while True:
        payload, budget = unpack_job(_read_message(inbox, Kind.JOB))
        _send(outbox, bench.perform(payload, budget))


def _die_with(parent: int) -> None:
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    # The parent may have died before the line above: then nobody will send the signal.
    if os.getppid() != parent:
        os._exit(0)


def _reserve_pipes() -> tuple[BinaryIO, BinaryIO]:
    """Move the protocol off descriptors 0 and 1, so that a stray print or read cannot break it."""
    inbox, outbox = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb", buffering=0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return inbox, outbox


def _load(entry: str) -> Factory:
    module, _, name = entry.partition(":")
    factory: Factory = getattr(importlib.import_module(module), name)
    return factory


def _loaded(entry: str, config: dict[str, JsonLike]) -> Job:
    """The job, made at the pace of long ones: most starts replace a worker that somebody's contract has killed."""
    made: list[Job] = []
    faults: list[BaseException] = []

    def run() -> None:
        _yield_processor(threading.get_native_id())
        try:
            made.append(_load(entry)(config))
        except BaseException as fault:
            faults.append(fault)

    # Niceness belongs to a thread, and nothing makes one less nice again: the main one keeps it for those it starts.
    loading = threading.Thread(target=run, name="load")
    loading.start()
    loading.join()
    if faults:
        raise faults[0]
    return made[0]


def _yield_processor(thread: int) -> None:
    os.setpriority(os.PRIO_PROCESS, thread, min(os.getpriority(os.PRIO_PROCESS, thread) + _LONG_NICENESS, 19))


class _Bench:
    """Where jobs are done, each under the kernel's limits, in a thread whose stack is the budget's.

    `keeps_thread`: the next job gets the same one, as long as no job was a long one. It saves a job of a tenth of a
    millisecond a third of that; what a job leaves in thread-local memory of native code stays, so it is for jobs that
    leave nothing there.
    """

    def __init__(self, job: Job, outbox: BinaryIO, *, keeps_thread: bool) -> None:
        self._job, self._outbox, self._keeps_thread = job, outbox, keeps_thread
        self._idle_bytes = _address_space_bytes()
        self._thread: JobThread | None = None

    def perform(self, payload: bytes, budget: ProcessBudget) -> bytes:
        """Do one job. A fault ends the process."""
        cpu_before = time.process_time()
        _arm(budget, self._idle_bytes)
        try:
            answer = self._answered(payload, budget, cpu_before)
        except (MemoryError, RuntimeError):
            answer = MemoryError()
        _disarm()
        if isinstance(answer, BaseException):
            _end_with_fault(self._outbox, answer)
        try:
            return pack_answer(answer, cpu_seconds=time.process_time() - cpu_before)
        except MessageTooLargeError as fault:
            _end_with_fault(self._outbox, fault)

    def _answered(self, payload: bytes, budget: ProcessBudget, cpu_before: float) -> bytes | BaseException:
        thread, self._thread = self._thread, None
        if thread is None or thread.stack_bytes != budget.stack_bytes:
            thread = JobThread(stack_bytes=budget.stack_bytes)
        thread.begin(lambda: self._job(payload))
        answer = thread.answer(seconds=_WATCH_SECONDS)
        while answer is None and time.process_time() - cpu_before < _QUICK_SECONDS:
            answer = thread.answer(seconds=_WATCH_SECONDS)
        if answer is None:
            if thread.native_id is not None:
                with suppress(ProcessLookupError):
                    _yield_processor(thread.native_id)
            answer = thread.answer()
            assert answer is not None
        elif self._keeps_thread:
            self._thread = thread
            return answer
        thread.end()
        return answer


def _arm(budget: ProcessBudget, idle_bytes: int) -> None:
    signal.setitimer(signal.ITIMER_PROF, budget.cpu_seconds)
    signal.setitimer(signal.ITIMER_REAL, budget.wall_seconds + _ORPHAN_GRACE_SECONDS)
    # RLIMIT_CPU has whole seconds only; it stands behind the timer in case something disarms that.
    used = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (int(used + budget.cpu_seconds) + 2, hard))
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    allowed = idle_bytes + budget.stack_bytes + budget.address_space_bytes
    resource.setrlimit(resource.RLIMIT_AS, (allowed, hard))


def _disarm() -> None:
    signal.setitimer(signal.ITIMER_PROF, 0)
    signal.setitimer(signal.ITIMER_REAL, 0)
    for limit in (resource.RLIMIT_AS, resource.RLIMIT_CPU):
        _, hard = resource.getrlimit(limit)
        resource.setrlimit(limit, (hard, hard))


def _address_space_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    return pages * resource.getpagesize()


def _end_with_fault(outbox: BinaryIO, fault: BaseException) -> NoReturn:
    """Name the fault's type to the parent and end: what a failed job left behind is not worth trusting."""
    reason = "memory" if isinstance(fault, MemoryError) else type(fault).__name__
    detail = "" if isinstance(fault, MemoryError) else str(fault)[:500]
    os.write(2, f"{reason}: {detail}\n".encode(errors="replace"))
    _send(outbox, pack_message(Kind.FAULT, reason.encode()))
    os._exit(_EXIT_FAULT)


def _send(outbox: BinaryIO, message: bytes) -> None:
    view = memoryview(message)
    while view:
        view = view[outbox.write(view) :]


def _read_message(inbox: BinaryIO, expected: Kind) -> bytes:
    header = inbox.read(HEADER.size)
    if len(header) < HEADER.size:
        os._exit(0)  # the parent closed its end
    kind, length = HEADER.unpack(header)
    payload = inbox.read(length)
    if kind != expected or len(payload) < length:
        os._exit(_EXIT_FAULT)
    return payload


if __name__ == "__main__":
    main(sys.argv[1:])
