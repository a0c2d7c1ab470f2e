"""The processes of one comparison: the measured server on a processor of its own, everything else on another."""

import asyncio
import json
import os
import secrets
import sys
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import httpx
import psutil

from gateway.auth.bootstrap import make_bootstrap_key
from tests.benchmarks.gateway_overhead.workload import MODEL, OPENAI_MODEL
from tests.compiler_pool.running_pool import free_port

_START_SECONDS = 120.0
_STOP_SECONDS = 20.0
_PEPPER = "a pepper only for benchmarks"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cores:
    """Two processors of this machine."""

    measured: int
    others: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """Something that answers chat completions."""

    name: str
    base_url: str
    key: str
    process: psutil.Process
    model: str = MODEL

    @property
    def chat_url(self) -> str:
        """Where callers ask."""
        return f"{self.base_url}/v1/chat/completions"

    def cpu_seconds(self) -> float:
        """Of the process and its children, since they began."""
        family = [self.process, *self.process.children(recursive=True)]
        return sum(sum(each.cpu_times()[:2]) for each in family)

    def memory_mib(self) -> float:
        """Resident, of the process and its children; pages that they share are counted for each."""
        family = [self.process, *self.process.children(recursive=True)]
        return sum(each.memory_info().rss for each in family) / 2**20


@asynccontextmanager
async def stub_server(cores: Cores, tokenizer_digest: str, num_tokens: int, log: Path) -> AsyncIterator[Server]:
    """The backend of both."""
    port = free_port()
    command = [sys.executable, "-m", "tests.benchmarks.gateway_overhead.stub", "--port", str(port)]
    command += ["--tokenizer-digest", tokenizer_digest, "--tokens", str(num_tokens)]
    async with _running(
        "stub", command, port=port, core=cores.others, log=log, probe="/v1/identity", key="none", environment={}
    ) as server:
        yield server


@asynccontextmanager
async def schemagate_server(
    cores: Cores, *, pool_url: str, node_url: str, directory: Path, settings: Mapping[str, str]
) -> AsyncIterator[Server]:
    """The gateway as `schemagate up` runs it: one process and its judges, logs written."""
    port = free_port()
    database_url = f"sqlite+aiosqlite:///{directory / 'gateway.db'}"
    key = await make_bootstrap_key(database_url=database_url, pepper=_PEPPER)
    environment = {
        "SCHEMAGATE_GATEWAY_PORT": str(port),
        "SCHEMAGATE_GATEWAY_POOL_URL": pool_url,
        "SCHEMAGATE_GATEWAY_NODE_URLS": node_url,
        "SCHEMAGATE_GATEWAY_DATABASE_URL": database_url,
        "SCHEMAGATE_GATEWAY_KEY_PEPPER": _PEPPER,
        "SCHEMAGATE_GATEWAY_NUM_VALIDATORS": "1",
        # Budgets are counted as always, and are large enough to refuse nothing.
        "SCHEMAGATE_GATEWAY_REQUESTS_PER_MINUTE": str(10**9),
        "SCHEMAGATE_GATEWAY_TOKENS_PER_MINUTE": str(10**12),
        "SCHEMAGATE_GATEWAY_MAX_CONCURRENT_REQUESTS": "1024",
        "SCHEMAGATE_GATEWAY_OPENAI_BACKENDS": json.dumps([_openai_backend(node_url)]),
        "SCHEMAGATE_GATEWAY_SERVING_POLICY": json.dumps({"downgrade": "validate"}),
        **settings,
    }
    command, log = [sys.executable, "-m", "gateway"], directory / "gateway.log"
    async with _running(
        "Schemagate",
        command,
        port=port,
        core=cores.measured,
        log=log,
        probe="/readyz",
        key=key,
        environment=environment,
    ) as server:
        yield server


def over_openai(gateway: Server) -> Server:
    """The same gateway asked for a model of a server that speaks OpenAI's API, and decodes without our grammar."""
    return replace(gateway, name=f"{gateway.name}, OpenAI backend", model=OPENAI_MODEL)


def _openai_backend(url: str) -> dict[str, object]:
    models = {OPENAI_MODEL: MODEL}
    return {"name": "stub", "base_url": f"{url}/v1", "models": models, "capability": "json_schema"}


@asynccontextmanager
async def litellm_server(cores: Cores, *, executable: Path, backend_url: str, directory: Path) -> AsyncIterator[Server]:
    """LiteLLM's proxy from an environment of its own: one worker, no logging, no database, nothing called home."""
    port, key = free_port(), f"sk-{secrets.token_hex(16)}"
    config = directory / "litellm.yaml"
    config.write_text(
        f"""
model_list:
  - model_name: {MODEL}
    litellm_params:
      model: openai/{MODEL}
      api_base: {backend_url}/v1
      api_key: none
litellm_settings:
  telemetry: false
  request_timeout: 60
  num_retries: 0
  set_verbose: false
general_settings:
  master_key: {key}
  disable_spend_logs: true
  disable_error_logs: true
  background_health_checks: false
router_settings:
  num_retries: 0
  disable_cooldowns: true
""",
        encoding="utf-8",
    )
    command = [str(executable), "--config", str(config), "--host", "127.0.0.1", "--port", str(port)]
    command += ["--num_workers", "1"]
    environment = {"LITELLM_LOG": "ERROR", "LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_MODE": "PRODUCTION"}
    environment |= {"NO_DOCS": "True", "LITELLM_TELEMETRY": "False"}
    async with _running(
        "LiteLLM", command, port=port, core=cores.measured, log=directory / "litellm.log", probe="/health/liveliness",
        key=key, environment=environment,
    ) as server:  # fmt: skip
        yield server


@asynccontextmanager
async def _running(
    name: str,
    command: list[str],
    *,
    port: int,
    core: int,
    log: Path,
    probe: str,
    key: str,
    environment: Mapping[str, str],
) -> AsyncIterator[Server]:
    url = f"http://127.0.0.1:{port}"
    with log.open("ab") as output:
        process = await asyncio.create_subprocess_exec(
            "taskset", "-c", str(core), *command, stdout=output, stderr=output, env={**os.environ, **environment}
        )
    try:
        await _until_up(process, url + probe, log)
        yield Server(name=name, base_url=url, key=key, process=psutil.Process(process.pid))
    finally:
        if process.returncode is None:
            process.terminate()
        try:
            await asyncio.wait_for(process.wait(), _STOP_SECONDS)
        except TimeoutError:
            process.kill()
            await process.wait()


async def _until_up(process: asyncio.subprocess.Process, url: str, log: Path) -> None:
    deadline = time.monotonic() + _START_SECONDS
    async with httpx.AsyncClient(timeout=5, trust_env=False) as http:
        while process.returncode is None and time.monotonic() < deadline:
            with suppress(httpx.TransportError):
                if (await http.get(url)).status_code == httpx.codes.OK:
                    return
            await asyncio.sleep(0.1)
    said = await asyncio.to_thread(log.read_text, errors="replace")
    raise RuntimeError(f"{url} does not answer: {said[-2000:]}")
