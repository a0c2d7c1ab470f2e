"""`schemagate up`: prepare the model, start pool, node and gateway, print a line that works, and watch."""

import asyncio
import errno
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import httpx
import typer

from cli.up.greeting import greeting
from cli.up.layout import InUseError, Layout, Ports, default_cache_dir, default_state_dir
from cli.up.model import ModelPreparationError, prepare_model
from cli.up.services import Service, embedded_services
from cli.up.supervisor import Supervisor

_READY_SECONDS = 180.0
"""A cold start loads a model from disk on a slow machine; past this something is wrong."""
_POLL_SECONDS = 0.2
_PROBE_SECONDS = 2.0


_SERVING = frozenset({"ready", "degraded"})


@dataclass(frozen=True, slots=True, kw_only=True)
class _State:
    """What a service says of itself on `/readyz`; `silent` before it listens, `failed` once waiting is no use."""

    status: str
    reason: str


class _StopRequestedError(Exception):
    """Ctrl-C or SIGTERM arrived."""


def up_command(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    gateway_port: Annotated[int, typer.Option(help="The public API.", min=1, max=65535)] = 8080,
    pool_port: Annotated[int, typer.Option(help="The compiler pool.", min=1, max=65535)] = 8081,
    node_port: Annotated[int, typer.Option(help="The inference node.", min=1, max=65535)] = 8082,
    state_dir: Annotated[Path | None, typer.Option(help="Database, secrets, logs.")] = None,
    cache_dir: Annotated[Path | None, typer.Option(help="Converted model weights.")] = None,
    model_dir: Annotated[
        Path | None, typer.Option(help="A Llama- or Qwen-family directory of safetensors instead of the default model.")
    ] = None,
) -> None:
    """Start the whole product on this machine with embedded defaults. Ctrl-C stops all of it."""
    layout = Layout(
        host=host,
        ports=Ports(gateway=gateway_port, pool=pool_port, node=node_port),
        state_dir=state_dir.absolute() if state_dir else default_state_dir(),
        cache_dir=cache_dir.absolute() if cache_dir else default_cache_dir(),
    )
    started = time.monotonic()

    def say(line: str) -> None:
        typer.echo(f"[{time.monotonic() - started:6.1f} s] {line}", err=True)

    _refuse_bad_options(layout, model_dir)
    try:
        layout.prepare()
    except OSError as error:
        raise _refusal(f"cannot keep state in {layout.state_dir}: {error.strerror}") from error
    supervisor = Supervisor(say=say)
    try:
        with layout.lock(), _stop_signals():
            try:
                _run(layout, model_dir, supervisor, say)
            except _StopRequestedError:
                say("stopping")
            finally:
                supervisor.stop()
                say("stopped")
    except InUseError as error:
        raise _refusal(str(error)) from error


def _run(layout: Layout, model_dir: Path | None, supervisor: Supervisor, say: Callable[[str], None]) -> None:
    from gateway.auth.bootstrap import make_bootstrap_key  # no other command is to wait for a database library

    try:
        model_dir = prepare_model(layout.cache_dir, say) if model_dir is None else model_dir.absolute()
    except ModelPreparationError as error:
        say(str(error))
        raise typer.Exit(1) from error
    pepper = layout.pepper()
    key = asyncio.run(make_bootstrap_key(database_url=layout.database_url, pepper=pepper))
    services = embedded_services(layout, model_dir=model_dir, artifact_keys=layout.artifact_keys(), pepper=pepper)
    for service in services:
        say(f"starting {service.name} on {service.base_url}")
        supervisor.start(service)
    _wait_until_ready(services, supervisor, say)
    typer.echo(greeting(base_url=services[-1].base_url, api_key=key, model=_served_model(services[-1], key)))
    while True:
        supervisor.check()
        time.sleep(_POLL_SECONDS)


def _wait_until_ready(services: tuple[Service, ...], supervisor: Supervisor, say: Callable[[str], None]) -> None:
    """Return when every service answers `/readyz` with 200. A service that exits while starting ends the command."""
    waiting = list(services)
    said: dict[str, str] = {}
    deadline = time.monotonic() + _READY_SECONDS
    with httpx.Client(timeout=_PROBE_SECONDS) as http:
        while waiting:
            for service in list(waiting):
                if (status := supervisor.exited(service.name)) is not None:
                    say(f"{service.name} ended with status {status} while starting; its log ends:")
                    typer.echo(_tail(service.log_path), err=True)
                    raise typer.Exit(1)
                state = _state(http, service)
                if state.status in _SERVING:
                    say(f"{service.name} is ready")
                    waiting.remove(service)
                elif state.reason and state.reason != said.get(service.name):
                    say(f"{service.name}: {state.reason}")
                    said[service.name] = state.reason
                if state.status == "failed":
                    raise typer.Exit(1)
            if waiting and time.monotonic() > deadline:
                names = ", ".join(service.name for service in waiting)
                say(f"not ready after {_READY_SECONDS:.0f} s: {names}; logs are in {waiting[0].log_path.parent}")
                raise typer.Exit(1)
            time.sleep(_POLL_SECONDS)


def _state(http: httpx.Client, service: Service) -> _State:
    try:
        body = http.get(f"{service.base_url}/readyz").json()
        return _State(status=str(body["status"]), reason="; ".join(body.get("reasons", ())))
    except (httpx.TransportError, ValueError, KeyError):
        return _State(status="silent", reason="")


def _served_model(gateway: Service, key: str) -> str:
    answer = httpx.get(
        f"{gateway.base_url}/v1/models", headers={"Authorization": f"Bearer {key}"}, timeout=_PROBE_SECONDS
    )
    return str(answer.raise_for_status().json()["data"][0]["id"])


def _tail(path: Path, *, max_bytes: int = 4096) -> str:
    data = path.read_bytes()[-max_bytes:]
    return data.decode(errors="replace")


def _refusal(message: str) -> typer.Exit:
    typer.echo(message, err=True)
    return typer.Exit(1)


def _refuse_bad_options(layout: Layout, model_dir: Path | None) -> None:
    """Say what is wrong before anything is started, instead of letting one service fail in its log."""
    ports = {"gateway": layout.ports.gateway, "pool": layout.ports.pool, "node": layout.ports.node}
    if len(set(ports.values())) < len(ports):
        raise _refusal(f"gateway, pool and node need three different ports, not {', '.join(map(str, ports.values()))}")
    for name, port in ports.items():
        _refuse_unless_free(name, layout.host, port)
    for file in ("config.json", "tokenizer.json") if model_dir is not None else ():
        if model_dir is not None and not (model_dir / file).is_file():
            raise _refusal(f"{model_dir} is not a model directory: it has no {file}")


def _refuse_unless_free(name: str, host: str, port: int) -> None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                advice = (
                    f"Stop what uses it, or choose another with --{name}-port (make run UP_OPTIONS=--{name}-port=…)."
                )
            else:
                advice = "Choose an address of this machine with --host."
            reason = error.strerror or str(error)
            raise _refusal(f"cannot listen on {host}:{port} for the {name}: {reason}. {advice}") from error


@contextmanager
def _stop_signals() -> Iterator[None]:
    """Turn the first SIGINT or SIGTERM into an exception here; further ones are ignored while we stop."""

    def request_stop(_number: int, _frame: object) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        raise _StopRequestedError

    before = {number: signal.signal(number, request_stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
