"""What `schemagate up` refuses before it starts anything, and what `schemagate key` finds by itself."""

import fcntl
import socket
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli.main import app
from cli.up.layout import InUseError, Layout, Ports

runner = CliRunner()


def free_ports() -> list[str]:
    sockets = [socket.socket() for _ in range(3)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [str(one.getsockname()[1]) for one in sockets]
    for one in sockets:
        one.close()
    return ["--gateway-port", ports[0], "--pool-port", ports[1], "--node-port", ports[2]]


def test_a_port_in_use_is_named_with_the_option_that_changes_it() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        result = runner.invoke(app, ["up", *free_ports(), "--node-port", port])
    assert result.exit_code == 1
    assert f"127.0.0.1:{port}" in result.stderr
    assert "--node-port" in result.stderr


def test_three_services_need_three_ports() -> None:
    result = runner.invoke(app, ["up", "--gateway-port", "7001", "--pool-port", "7001", "--node-port", "7002"])
    assert result.exit_code == 1
    assert "three different ports" in result.stderr


@pytest.mark.parametrize("port", ["0", "-1", "70000"])
def test_a_port_that_is_none_is_a_usage_error(port: str) -> None:
    assert runner.invoke(app, ["up", "--gateway-port", port]).exit_code == 2


def test_a_directory_without_a_model_is_refused_at_once(tmp_path: Path) -> None:
    result = runner.invoke(app, ["up", *free_ports(), "--model-dir", str(tmp_path)])
    assert result.exit_code == 1
    assert "config.json" in result.stderr


def test_a_second_start_on_one_state_directory_is_refused(tmp_path: Path) -> None:
    with (tmp_path / "up.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        result = runner.invoke(app, ["up", *free_ports(), "--state-dir", str(tmp_path)])
    assert result.exit_code == 1
    assert "another `schemagate up`" in result.stderr


def test_the_lock_is_free_again_when_its_holder_ends(tmp_path: Path) -> None:
    layout = Layout(host="127.0.0.1", ports=Ports(), state_dir=tmp_path, cache_dir=tmp_path)
    with layout.lock(), pytest.raises(InUseError), layout.lock():
        pass
    with layout.lock():
        pass


def test_keys_of_an_embedded_installation_need_no_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCHEMAGATE_STATE_DIR", str(tmp_path))
    monkeypatch.delenv("SCHEMAGATE_GATEWAY_DATABASE_URL", raising=False)
    monkeypatch.delenv("SCHEMAGATE_GATEWAY_KEY_PEPPER", raising=False)
    missing = runner.invoke(app, ["key", "list"])
    assert missing.exit_code == 1
    assert "SCHEMAGATE_STATE_DIR" in missing.stderr
    Layout(host="127.0.0.1", ports=Ports(), state_dir=tmp_path, cache_dir=tmp_path).pepper()
    made = runner.invoke(app, ["key", "create", "acme", "--label", "ci"])
    assert made.exit_code == 0
    key_id = made.stdout.split("_")[1]
    assert runner.invoke(app, ["key", "revoke", key_id]).exit_code == 0
    listed = runner.invoke(app, ["key", "list"]).stdout
    assert f"{key_id}\tacme\trevoked" in listed


@pytest.mark.parametrize("url", ["sqlite+pysqlite:///x.db", "sqlite+aiosqlite:////proc/nowhere/x.db", "nonsense"])
def test_a_database_that_cannot_be_used_is_one_line(url: str) -> None:
    result = runner.invoke(app, ["key", "list", "--database-url", url])
    assert result.exit_code == 1
    assert result.stderr.startswith("the database cannot be used: ")
    assert len(result.stderr.splitlines()) == 1


def test_a_database_that_cannot_be_used_is_said_with_what_could_be() -> None:
    environment = {
        "SCHEMAGATE_GATEWAY_DATABASE_URL": "postgresql+psycopg2://localhost/x",
        "SCHEMAGATE_GATEWAY_KEY_PEPPER": "a pepper only for tests",
    }
    result = runner.invoke(app, ["key", "list"], env=environment)
    assert result.exit_code == 1
    assert "postgresql+asyncpg" in result.stderr
