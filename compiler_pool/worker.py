"""One killable child process: the parent's side of `compiler_pool.child`."""

import asyncio
import json
import os
import signal
import sys
import time
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from typing import Self

from compiler_pool.errors import WorkerStartError
from compiler_pool.job import (
    HEADER,
    MAX_MESSAGE_BYTES,
    JobCrashed,
    JobFinished,
    JobOutcome,
    JobTimedOut,
    JsonLike,
    Kind,
    MessageTooLargeError,
    pack_job,
    pack_message,
    unpack_answer,
)
from policy.limits import ProcessBudget

START_SECONDS = 60.0
"""Wall limit on a worker's start-up: import, tokenizer, first answer."""
_MAX_STDERR_BYTES = 4096
_CPU_SIGNALS = {signal.SIGPROF, signal.SIGXCPU}


class WorkerProcess:
    """One killable child. One job at a time; any end but `JobFinished` leaves it dead (`is_alive`)."""

    def __init__(self, process: asyncio.subprocess.Process, budget: ProcessBudget) -> None:
        self._process = process
        self._budget = budget
        self._stderr: deque[bytes] = deque()
        # Not `Process.kill`: that polls first, and so takes the exit status away from whoever waits for it.
        self._handle = _open_handle(process.pid)
        self._is_alive = True
        self._is_running = False
        # Owned here and awaited by `_reap`: the child must never block on a full pipe of complaints.
        self._complaints = asyncio.get_running_loop().create_task(self._keep_stderr_tail())

    @classmethod
    async def start(
        cls,
        entry: str,
        config: Mapping[str, JsonLike],
        *,
        budget: ProcessBudget,
        start_seconds: float = START_SECONDS,
    ) -> Self:
        """Start `entry` (`package.module:factory`) and wait until it is ready; jobs cost at most `budget` by default.

        Raises WorkerStartError when the factory fails or takes longer than `start_seconds`.
        """
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join(part or os.getcwd() for part in sys.path),  # noqa: PTH109 - '' means the cwd
            # Address space is limited, and glibc reserves 64 MiB of it per thread that allocates.
            "MALLOC_ARENA_MAX": "1",
            "TOKENIZERS_PARALLELISM": "false",
            "RAYON_NUM_THREADS": "1",
        }
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "compiler_pool.child", str(os.getpid()), entry,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
            env=environment,
        )  # fmt: skip
        worker = cls(process, budget)
        try:
            async with asyncio.timeout(start_seconds):
                await worker._send(pack_message(Kind.CONFIG, json.dumps(dict(config)).encode()))
                kind, payload = await worker._receive()
        except TimeoutError:
            await worker._reap()
            raise WorkerStartError(f"not ready within {start_seconds:g} s", entry=entry) from None
        except (ConnectionError, EOFError):
            reason = await worker._reap()
            raise WorkerStartError(f"died: {reason}; {worker.stderr_tail}", entry=entry) from None
        except BaseException:
            await worker._reap()
            raise
        if kind is not Kind.READY:
            await worker._reap()
            raise WorkerStartError(f"{payload.decode(errors='replace')}; {worker.stderr_tail}", entry=entry)
        return worker

    @property
    def pid(self) -> int:
        """The child's process id."""
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        """Whether it can take another job."""
        return self._is_alive and self._process.returncode is None

    @property
    def stderr_tail(self) -> str:
        """The last few kilobytes of what the child complained about: for logs, never for callers."""
        return b"".join(self._stderr).decode(errors="replace").strip()

    async def run(self, payload: bytes, *, budget: ProcessBudget | None = None) -> JobOutcome:
        """Run one job. Cancelling this call kills the child: a job that nobody waits for must not keep a worker."""
        self._is_running = True
        try:
            return await self._run(pack_job(payload, budget or self._budget), budget or self._budget)
        finally:
            self._is_running = False

    async def _run(self, message: bytes, budget: ProcessBudget) -> JobOutcome:
        started = time.monotonic()
        try:
            async with asyncio.timeout(budget.wall_seconds):
                await self._send(message)
                kind, answer = await self._receive()
        except TimeoutError:
            await self._reap()
            return JobTimedOut(limit_name="wall_seconds", limit_seconds=budget.wall_seconds)
        except MessageTooLargeError:
            await self._reap()
            return JobCrashed(reason="MessageTooLargeError")
        except (ConnectionError, EOFError):
            return await self._autopsy(budget)
        except BaseException:
            await self._reap()
            raise
        if kind is Kind.ANSWER:
            body, cpu_seconds = unpack_answer(answer)
            return JobFinished(payload=body, cpu_seconds=cpu_seconds, wall_seconds=time.monotonic() - started)
        reason = answer.decode(errors="replace") if kind is Kind.FAULT else "protocol"
        await self._reap()
        return JobCrashed(reason=reason)

    async def ended(self) -> None:
        """Returns once the child is gone, whatever the reason."""
        await self._process.wait()

    async def close(self) -> None:
        """Kill the child, whatever it does, and collect it. A job in flight ends as crashed, and collects it itself."""
        if not self._is_running:
            await self._reap()
            return
        self._kill()
        await self._process.wait()

    async def _autopsy(self, budget: ProcessBudget) -> JobOutcome:
        # It closed its end, so it is ending by itself: let it, so that the cause of death is its own.
        with suppress(TimeoutError):
            async with asyncio.timeout(1.0):
                await self._process.wait()
        reason = await self._reap()
        if (self._process.returncode or 0) in {-number for number in _CPU_SIGNALS}:
            return JobTimedOut(limit_name="cpu_seconds", limit_seconds=budget.cpu_seconds)
        # Rust aborts when an allocation fails; its last words are the only way to tell.
        if "memory allocation of" in self.stderr_tail:
            return JobCrashed(reason="memory")
        return JobCrashed(reason=reason)

    async def _send(self, message: bytes) -> None:
        stdin = self._process.stdin
        assert stdin is not None
        stdin.write(message)
        await stdin.drain()

    async def _receive(self) -> tuple[Kind, bytes]:
        stdout = self._process.stdout
        assert stdout is not None
        kind, length = HEADER.unpack(await stdout.readexactly(HEADER.size))
        if length > MAX_MESSAGE_BYTES:
            raise MessageTooLargeError
        return Kind(kind), await stdout.readexactly(length)

    async def _keep_stderr_tail(self) -> None:
        stderr = self._process.stderr
        assert stderr is not None
        while chunk := await stderr.read(_MAX_STDERR_BYTES):
            self._stderr.append(chunk)
            while len(self._stderr) > 1 and sum(map(len, self._stderr)) > _MAX_STDERR_BYTES:
                self._stderr.popleft()

    async def _reap(self) -> str:
        """Kill, drain and collect; returns how the process ended, in words.

        Shielded, because a caller that is cancelled twice must still not leave a child behind.
        """
        self._kill()
        return await asyncio.shield(asyncio.ensure_future(self._collect()))

    def _kill(self) -> None:
        self._is_alive = False
        if self._handle is not None:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._handle, signal.SIGKILL)

    async def _collect(self) -> str:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.close()
        # A reader that is paused on a full buffer never sees the end of the pipe, and the transport stays open.
        while await stdout.read(1 << 16):
            pass
        await self._complaints
        status = await self._process.wait()
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None
        with suppress(ConnectionError):
            await stdin.wait_closed()
        return f"signal {signal.Signals(-status).name}" if status < 0 else f"exit {status}"


def _open_handle(pid: int) -> int | None:
    """A descriptor that means this process for good, even once its number is another's; None if it is gone."""
    try:
        return os.pidfd_open(pid)
    except ProcessLookupError:
        return None
