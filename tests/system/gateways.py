"""Gateway processes on their own: the registry needs neither pool nor node, and may be killed at any moment."""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest

from gateway.auth.issue import issue_key
from gateway.auth.keys import Pepper
from gateway.auth.store import KeyStore
from policy.roles import ALL_ROLES
from registry.identifiers import PrincipalId, TenantId
from tests.system.product import free_ports

PEPPER = "a pepper for gateways that are killed"
_START_SECONDS = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningGateway:
    """One process and where it listens."""

    process: "subprocess.Popen[bytes]"
    url: str

    def kill(self) -> None:
        """SIGKILL: nothing of it gets to run any more."""
        self.process.kill()
        self.process.wait()


def start_gateway(database_url: str, log_dir: Path, settings: Mapping[str, str] | None = None) -> RunningGateway:
    """Start one and wait until it answers. Pool and node are at addresses where nobody listens, unless `settings`
    (without their prefix) say otherwise."""
    port, nobody = free_ports(2)
    environment = {
        **os.environ,
        "SCHEMAGATE_GATEWAY_PORT": str(port),
        "SCHEMAGATE_GATEWAY_DATABASE_URL": database_url,
        "SCHEMAGATE_GATEWAY_KEY_PEPPER": PEPPER,
        "SCHEMAGATE_GATEWAY_POOL_URL": f"http://127.0.0.1:{nobody}",
        "SCHEMAGATE_GATEWAY_NODE_URLS": f"http://127.0.0.1:{nobody}",
        "SCHEMAGATE_GATEWAY_NUM_VALIDATORS": "1",
        **{f"SCHEMAGATE_GATEWAY_{name}": value for name, value in (settings or {}).items()},
    }
    with (log_dir / f"gateway-{port}.log").open("ab") as log:
        process = subprocess.Popen([sys.executable, "-m", "gateway"], stdout=log, stderr=log, env=environment)
    gateway = RunningGateway(process=process, url=f"http://127.0.0.1:{port}")
    deadline = time.monotonic() + _START_SECONDS
    while True:
        assert process.poll() is None, (log_dir / f"gateway-{port}.log").read_text()
        try:
            if httpx.get(f"{gateway.url}/healthz", timeout=2).status_code == httpx.codes.OK:
                return gateway
        except httpx.TransportError:
            pass
        if time.monotonic() >= deadline:
            # Nobody else knows of it: left alone it would take the processor from all that comes after.
            gateway.kill()
            pytest.fail("the gateway does not answer")
        time.sleep(0.05)


@contextmanager
def running_gateway(
    database_url: str, log_dir: Path, settings: Mapping[str, str] | None = None
) -> Iterator[RunningGateway]:
    """A gateway for the length of a block."""
    gateway = start_gateway(database_url, log_dir, settings)
    try:
        yield gateway
    finally:
        gateway.kill()


def make_key(database_url: str, *, tenant: str = "acme", principal: str = "ada") -> str:
    """A key with every role, in clear."""

    async def make() -> str:
        store = await KeyStore.open(database_url)
        try:
            key = await issue_key(
                store,
                Pepper(PEPPER),
                tenant=TenantId(tenant),
                label="",
                at=datetime.now(UTC),
                principal=PrincipalId(principal),
                roles=ALL_ROLES,
            )
            return key.text
        finally:
            await store.close()

    return asyncio.run(make())
