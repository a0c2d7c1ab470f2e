"""A gateway over twins in a process of its own, so that several share a Redis, and one can be killed.

`python -m tests.gateway.budgets.gateway_process '{"port": …, …}'`: the members are settings. A message `hold` is
answered when the process ends, any other at once.
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import uvicorn

from gateway.app import Surroundings, create_app
from gateway.budgets.settings import BudgetSettings
from inference_node.protocol import GenerateRequest
from tests.gateway.twins import (
    MODEL,
    CompareHere,
    Event,
    JudgeHere,
    NodeTwin,
    PoolTwin,
    TwinTransport,
    says,
    twin_settings,
)
from tests.system.product import free_ports

_ROOT = Path(__file__).parents[3]
_START_SECONDS = 90.0
PRICES = {"compile_cpu_second": 0, "models": {MODEL: {"input_per_million": 1, "output_per_million": 2}}}


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayProcess:
    """Where it listens, and how to end it."""

    process: "subprocess.Popen[bytes]"
    url: str

    def kill(self) -> None:
        """SIGKILL: it settles nothing any more."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


@contextmanager
def gateway_processes(
    directory: Path, count: int, *, redis_url: str, **settings: Any
) -> Iterator[list[GatewayProcess]]:
    """So many gateways over one database and one Redis, each with its own twins."""
    database = f"sqlite+aiosqlite:///{directory / 'gateway.db'}"
    with ExitStack() as stack:
        found = []
        for port in free_ports(count):
            chosen = {"port": port, "redis_url": redis_url, "database_url": database, **settings}
            log = stack.enter_context((directory / f"gateway-{port}.log").open("wb"))
            command = [sys.executable, "-m", "tests.gateway.budgets.gateway_process", json.dumps(chosen)]
            process = subprocess.Popen(command, stdout=log, stderr=log, cwd=_ROOT, env=dict(os.environ))
            stack.callback(process.wait)
            stack.callback(process.kill)
            found.append(GatewayProcess(process=process, url=f"http://127.0.0.1:{port}"))
        for each in found:
            _wait_until_up(each, directory)
        yield found


def _wait_until_up(gateway: GatewayProcess, directory: Path) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while True:
        assert gateway.process.poll() is None, [each.read_text()[-2000:] for each in directory.glob("*.log")]
        try:
            if httpx.get(f"{gateway.url}/healthz", timeout=2).status_code == httpx.codes.OK:
                return
        except httpx.TransportError:
            pass
        assert time.monotonic() < deadline, "the gateway does not answer"
        time.sleep(0.05)


def _says(request: GenerateRequest) -> list[Event | asyncio.Event]:
    start, *rest = says("hi", end="end_of_sequence", accepting=None)
    is_held = request.messages[-1].content == "hold"
    return [start, rest[0], asyncio.Event(), *rest[1:]] if is_held else [start, *rest]


def main() -> None:
    """Serve until killed."""
    chosen = json.loads(sys.argv[1])
    port = chosen.pop("port")
    budgets = BudgetSettings(
        redis_url=chosen.pop("redis_url"),
        lease_seconds=chosen.pop("lease_seconds", 30),
        # The machine may be busy with anything: what is tested here is not patience.
        redis_timeout_seconds=5,
        prices=PRICES,
    )
    settings = twin_settings(Path(), budgets=budgets, **chosen)
    transport = TwinTransport(PoolTwin(), {"node": NodeTwin(script=_says)})
    around = Surroundings(transport=transport, validator=JudgeHere(), comparer=CompareHere())
    config = uvicorn.Config(create_app(settings, around), port=port, log_config=None, access_log=False, ws="none")
    uvicorn.Server(config).run()


if __name__ == "__main__":
    main()
