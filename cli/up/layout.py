"""Where an embedded installation keeps things, and the environment its processes share."""

import fcntl
import os
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_SECRET_BYTES = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """One TCP port for each service, all on the same host."""

    gateway: int = 8080
    pool: int = 8081
    node: int = 8082


class InUseError(Exception):
    """Another `schemagate up` runs on this state directory."""

    def __init__(self, state_dir: Path) -> None:
        super().__init__(f"another `schemagate up` uses {state_dir}: stop it, or choose another with --state-dir")


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Paths and addresses of one embedded installation. Nothing here is created until `prepare`."""

    host: str
    ports: Ports
    state_dir: Path
    cache_dir: Path

    @property
    def database_url(self) -> str:
        """SQLite in the state directory; tenants and keys outlive a restart."""
        return f"sqlite+aiosqlite:///{self.state_dir / 'schemagate.db'}"

    @property
    def log_dir(self) -> Path:
        """One log file a service, JSON lines."""
        return self.state_dir / "logs"

    def url(self, port: int) -> str:
        """Base URL as another process on this machine reaches it."""
        host = "127.0.0.1" if self.host in {"0.0.0.0", "::"} else self.host  # noqa: S104 - compared, not bound
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    def prepare(self) -> None:
        """Make the directories; the state directory holds secrets and is the owner's alone."""
        self.state_dir.mkdir(parents=True, exist_ok=True)
        self.state_dir.chmod(0o700)
        self.log_dir.mkdir(exist_ok=True)
        self.cache_dir.mkdir(parents=True, exist_ok=True)

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the state directory: a second start on it would revoke the first one's key.

        Raises:
            InUseError: another process holds it.
        """
        with (self.state_dir / "up.lock").open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise InUseError(self.state_dir) from None
            yield

    def pepper(self) -> str:
        """The key under which API keys are digested: made once, kept, because stored digests depend on it."""
        return self._kept("pepper", lambda: secrets.token_hex(_SECRET_BYTES))

    def artifact_keys(self, environment: Mapping[str, str] = os.environ) -> str:
        """What signs artifacts: `SCHEMAGATE_ARTIFACT_KEYS`, else made once and kept, so that what a Redis holds from an
        earlier start still opens."""
        made = environment.get("SCHEMAGATE_ARTIFACT_KEYS")
        return made or self._kept(
            "artifact-keys", lambda: f"up-{secrets.token_hex(4)}:{secrets.token_hex(_SECRET_BYTES)}"
        )

    def _kept(self, name: str, make: Callable[[], str]) -> str:
        """A secret in a file that is the owner's alone."""
        path = self.state_dir / name
        try:
            return path.read_text().strip()
        except FileNotFoundError:
            secret = make()
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w") as file:
                file.write(secret)
            return secret


def default_state_dir(environment: Mapping[str, str] = os.environ) -> Path:
    """`SCHEMAGATE_STATE_DIR`, else the XDG state directory."""
    if chosen := environment.get("SCHEMAGATE_STATE_DIR"):
        return Path(chosen).absolute()
    base = environment.get("XDG_STATE_HOME")
    return (Path(base) if base else Path.home() / ".local" / "state") / "schemagate"


def default_cache_dir(environment: Mapping[str, str] = os.environ) -> Path:
    """`SCHEMAGATE_CACHE_DIR`, else the XDG cache directory. Everything in it can be made again."""
    if chosen := environment.get("SCHEMAGATE_CACHE_DIR"):
        return Path(chosen).absolute()
    base = environment.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "schemagate"
