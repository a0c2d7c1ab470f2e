"""The real product, started as a user starts it: `schemagate up`, all three processes, the real model."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import psutil

READY_SECONDS = 240.0
"""A first start converts the model; two cores may be busy with other tests."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """A running installation and what a user of it knows: an address and a key."""

    gateway_url: str
    pool_url: str
    node_url: str
    api_key: str
    greeting: str
    supervisor: psutil.Process
    state_dir: Path

    @property
    def headers(self) -> dict[str, str]:
        """Authorization for raw requests."""
        return {"Authorization": f"Bearer {self.api_key}"}

    def service(self, module: str) -> psutil.Process:
        """The process running `python -m module` directly under the supervisor."""
        for child in self.supervisor.children():
            if child.cmdline()[1:3] == ["-m", module]:
                return child
        raise AssertionError(f"{module} is not running")

    def wait_until_ready(self, url: str, *, seconds: float = 120.0) -> None:
        """Poll `/readyz` until it answers 200."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            try:
                if httpx.get(f"{url}/readyz", timeout=2).status_code == httpx.codes.OK:
                    return
            except httpx.TransportError:
                pass
            time.sleep(0.1)
        raise AssertionError(f"{url} is not ready after {seconds} s")


@contextmanager
def running_product(state_dir: Path) -> Iterator[Product]:
    """Start everything on free ports; stop it with Ctrl-C's signal and insist that nothing survives."""
    gateway_port, pool_port, node_port = free_ports(3)
    errors = (state_dir / "up.stderr").open("wb")
    process = subprocess.Popen(
        [
            sys.executable, "-m", "cli.main", "up",
            "--gateway-port", str(gateway_port),
            "--pool-port", str(pool_port),
            "--node-port", str(node_port),
            "--state-dir", str(state_dir),
        ],
        stdout=subprocess.PIPE,
        stderr=errors,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    try:
        greeting = _read_greeting(process, state_dir)
        found = re.search(r"sg_[\w-]+", greeting)
        assert found is not None, greeting
        product = Product(
            gateway_url=f"http://127.0.0.1:{gateway_port}",
            pool_url=f"http://127.0.0.1:{pool_port}",
            node_url=f"http://127.0.0.1:{node_port}",
            api_key=found.group(),
            greeting=greeting,
            supervisor=psutil.Process(process.pid),
            state_dir=state_dir,
        )
        yield product
        family = product.supervisor.children(recursive=True)
        process.send_signal(signal.SIGINT)
        process.wait(timeout=15)
        _, alive = psutil.wait_procs(family, timeout=5)
        assert not alive, f"survived their parent: {alive}"
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        assert process.stdout is not None
        process.stdout.close()
        errors.close()


def _read_greeting(process: "subprocess.Popen[str]", state_dir: Path) -> str:
    assert process.stdout is not None
    lines: list[str] = []
    watchdog = time.monotonic() + READY_SECONDS
    for line in process.stdout:  # ends at once if the process dies
        lines.append(line)
        if line.startswith("Ctrl-C stops everything"):
            return "".join(lines)
        assert time.monotonic() < watchdog
    raise AssertionError((state_dir / "up.stderr").read_text())


def free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [int(one.getsockname()[1]) for one in sockets]
    finally:
        for one in sockets:
            one.close()
