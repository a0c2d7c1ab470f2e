"""A real Redis server for tests: started once a run on a Unix socket, gone with the run. Each test finds it empty."""

import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from redis import Redis
from redis.exceptions import RedisError

_START_SECONDS = 30.0
_STOP_SECONDS = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RedisServer:
    """A running server, and a client of its own for looking into it."""

    process: "subprocess.Popen[bytes]"
    url: str
    client: "Redis"

    def pause(self) -> None:
        """It takes connections and answers nothing."""
        self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """It goes on where it was."""
        self.process.send_signal(signal.SIGCONT)

    def names(self, pattern: str = "*") -> list[str]:
        """What lies there."""
        return sorted(name.decode() for name in self.client.keys(pattern) if isinstance(name, bytes))


@contextmanager
def running_redis(*options: str) -> Iterator[RedisServer]:
    """A server on a fresh directory; stopped, by its own process, at the end."""
    program = shutil.which("redis-server")
    assert program is not None
    # A short path: that of a Unix socket has at most 107 bytes.
    directory = Path(tempfile.mkdtemp(prefix="sgrd"))
    socket = directory / "s"
    command = [program, "--port", "0", "--unixsocket", str(socket), "--save", "", "--appendonly", "no", *options]
    try:
        with (directory / "log").open("wb") as log:
            server = subprocess.Popen([*command, "--dir", str(directory)], stdout=log, stderr=log, cwd="/")
        client = Redis(unix_socket_path=str(socket), protocol=2)
        try:
            _wait_until_ready(client, directory, server)
            yield RedisServer(process=server, url=f"unix://{socket}", client=client)
        finally:
            client.close()
            server.send_signal(signal.SIGCONT)
            server.terminate()
            try:
                server.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _wait_until_ready(client: "Redis", directory: Path, server: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + _START_SECONDS
    while not _answers(client):
        assert server.poll() is None, (directory / "log").read_text()
        assert time.monotonic() < deadline, "the server does not answer"
        time.sleep(0.02)


def _answers(client: "Redis") -> bool:
    try:
        return bool(client.ping())
    except RedisError:
        return False


@pytest.fixture(scope="session")
def redis_of_the_run() -> Iterator[RedisServer]:
    """The run's server; without its program, what needs it is skipped."""
    if shutil.which("redis-server") is None:
        pytest.skip("Redis is not installed (Debian, Ubuntu: apt-get install redis-server)")
    with running_redis() as server:
        yield server


@pytest.fixture
def redis(redis_of_the_run: RedisServer) -> RedisServer:
    """The run's server, empty."""
    redis_of_the_run.resume()
    redis_of_the_run.client.flushall()
    return redis_of_the_run
