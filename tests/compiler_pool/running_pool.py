"""The real service: a process of its own on a local port, with real workers and a real tokenizer."""

import asyncio
import os
import socket
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal

import httpx
import psutil

from compiler_pool.client import PoolClient
from compiler_pool.protocol import CompileRequest, PolicyWire
from registry.contract import ContractKind
from registry.digests import contract_digest
from tests.compiler_pool.tiny_tokenizer import write_tokenizer

KEYS = "k1:" + "ab" * 32
OBJECT = '{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"],"additionalProperties":false}'


class RunningPool:
    """A running pool."""

    def __init__(self, process: asyncio.subprocess.Process, url: str, http: httpx.AsyncClient, digest: str) -> None:
        self.process, self.url, self.http, self.digest = process, url, http, digest
        self.client = PoolClient(url, http)

    def request(
        self,
        text: str = OBJECT,
        *,
        checked: bool = False,
        seconds: float = 30.0,
        partition: str = "t",
        limits: Literal["tenant", "governed", "none"] = "tenant",
        urgency: Literal["answer", "precompile"] = "answer",
    ) -> CompileRequest:
        """A well-formed request for the pool's own tokenizer."""
        return CompileRequest(
            kind="json_schema",
            canonical_text=text,
            contract_digest=contract_digest(ContractKind.JSON_SCHEMA, text),
            tokenizer_digest=self.digest,
            policy=PolicyWire(allow_checked_after=checked),
            limits=limits,
            tenant_partition=partition,
            deadline_seconds=seconds,
            urgency=urgency,
        )

    async def metric(self, name: str) -> float:
        """One sample of `/metrics`, labels and all; 0 where there is none."""
        text = (await self.http.get(f"{self.url}/metrics")).text
        lines = (line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
        return next((float(value) for sample, value in lines if sample == name), 0.0)

    def workers(self) -> list[psutil.Process]:
        """The pool's children."""
        return psutil.Process(self.process.pid).children()


def free_port() -> int:
    """A port of this machine that nobody listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@asynccontextmanager
async def running_pool(directory: Path, *, num_workers: int = 2, **settings: str) -> AsyncIterator[RunningPool]:
    """A pool for the tiny tokenizer, ready; `settings` are variables of its environment."""
    port = free_port()
    environment = os.environ | {
        "SCHEMAGATE_POOL_TOKENIZERS": str(write_tokenizer(directory / "tiny.json")),
        "SCHEMAGATE_ARTIFACT_KEYS": KEYS,
        "SCHEMAGATE_POOL_PORT": str(port),
        "SCHEMAGATE_POOL_NUM_WORKERS": str(num_workers),
        **settings,
    }
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "compiler_pool", env=environment, stderr=asyncio.subprocess.DEVNULL
    )
    url = f"http://127.0.0.1:{port}"
    try:
        async with httpx.AsyncClient(timeout=60) as http:
            await until_ready(url, http)
            digest = (await PoolClient(url, http).identity()).tokenizers[0].digest
            yield RunningPool(process, url, http, digest)
    finally:
        if process.returncode is None:
            process.terminate()
        await asyncio.wait_for(process.wait(), 20)


async def until_ready(url: str, http: httpx.AsyncClient) -> None:
    """Wait until nothing is missing."""
    deadline = time.monotonic() + 60
    while True:
        try:
            response = await http.get(f"{url}/readyz")
        except httpx.HTTPError:
            response = None
        if response is not None and response.json() == {"status": "ready", "reasons": []}:
            return
        assert time.monotonic() < deadline, response and response.text
        await asyncio.sleep(0.05)
