"""Child processes that live as long as we do: started, watched, started again, and stopped within a bound."""

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO

from cli.up.services import Service

STOP_SECONDS = 4.0
"""From the stop signal to SIGKILL. With what follows it stays under the five seconds that a Ctrl-C may take."""

_FIRST_BACKOFF_SECONDS = 0.5
_MAX_BACKOFF_SECONDS = 10.0
_STEADY_SECONDS = 30.0
"""A process that ran this long before it died starts again without a wait."""

_PR_SET_PDEATHSIG = 1


def _die_with_parent(parent: int) -> None:
    """In the child, before exec: ask the kernel for SIGKILL when the supervisor dies, however it dies."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it died between fork and prctl
            os._exit(1)


@dataclass(slots=True, kw_only=True)
class _Child:
    service: Service
    process: subprocess.Popen[bytes]
    log: IO[bytes]
    started_at: float
    backoff_seconds: float
    restart_at: float | None = None


class Supervisor:
    """Runs services until `stop`. Call `check` often: it starts again what has died, with a growing wait."""

    def __init__(self, *, say: Callable[[str], None]) -> None:
        self._say = say
        self._children: list[_Child] = []

    def start(self, service: Service) -> None:
        """Start one service; its output goes to its log file."""
        log = service.log_path.open("ab")
        self._children.append(
            _Child(
                service=service,
                process=_spawn(service, log),
                log=log,
                started_at=time.monotonic(),
                backoff_seconds=_FIRST_BACKOFF_SECONDS,
            )
        )

    def pid(self, name: str) -> int:
        """Process id of a running service."""
        return next(child.process.pid for child in self._children if child.service.name == name)

    def exited(self, name: str) -> int | None:
        """Exit status of a service that is not running now, else None."""
        return next(child.process.poll() for child in self._children if child.service.name == name)

    def check(self) -> None:
        """Notice deaths and start again what is due."""
        now = time.monotonic()
        for child in self._children:
            status = child.process.poll()
            if status is None:
                continue
            if child.restart_at is None:
                if now - child.started_at > _STEADY_SECONDS:
                    child.backoff_seconds = _FIRST_BACKOFF_SECONDS
                child.restart_at = now + child.backoff_seconds
                self._say(
                    f"{child.service.name} ended with status {status}; starting it again in "
                    f"{child.backoff_seconds:g} s (log: {child.service.log_path})"
                )
                child.backoff_seconds = min(child.backoff_seconds * 2, _MAX_BACKOFF_SECONDS)
            elif now >= child.restart_at:
                child.process = _spawn(child.service, child.log)
                child.started_at = now
                child.restart_at = None

    def stop(self) -> None:
        """SIGTERM to all at once, then SIGKILL to what is left after `STOP_SECONDS`. Last started stops first."""
        running = [child for child in reversed(self._children) if child.process.poll() is None]
        for child in running:
            child.process.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + STOP_SECONDS
        for child in running:
            try:
                child.process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                child.process.kill()
        for child in self._children:
            child.process.wait()
            child.log.close()
        self._children.clear()


def _spawn(service: Service, log: IO[bytes]) -> subprocess.Popen[bytes]:
    parent = os.getpid()
    # A session of its own: the terminal's Ctrl-C reaches the supervisor alone, which then stops all in order.
    return subprocess.Popen(
        service.command,
        env={**os.environ, **service.environment},
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        start_new_session=True,
        preexec_fn=lambda: _die_with_parent(parent),  # noqa: PLW1509 - the supervisor has one thread
    )
