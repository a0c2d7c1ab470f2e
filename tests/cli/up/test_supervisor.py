"""The supervisor starts again what dies and leaves nothing behind."""

import signal
import textwrap
import time
from pathlib import Path

import psutil

from cli.up.services import Service
from cli.up.supervisor import Supervisor

PATIENCE_SECONDS = 30.0


def service(tmp_path: Path, source: str, *, name: str = "probe") -> Service:
    """A service whose module is a file made for the test."""
    module = tmp_path / f"{name}_module.py"
    module.write_text(textwrap.dedent(source))
    return Service(
        name=name,
        module=module.stem,
        port=0,
        base_url="http://127.0.0.1:0",
        log_path=tmp_path / f"{name}.log",
        environment={"PYTHONPATH": str(tmp_path), "PROBE": "given"},
    )


def wait_for(log: Path, text: str, *, times: int = 1) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not log.exists() or log.read_text().count(text) < times:
        assert time.monotonic() < deadline, f"{text!r} did not appear {times} times"
        time.sleep(0.02)


SLEEPER = """
    import os, time
    print("up with", os.environ["PROBE"], flush=True)
    time.sleep(600)
"""


def test_a_service_gets_its_environment_and_its_output_goes_to_its_log(tmp_path: Path) -> None:
    supervisor = Supervisor(say=lambda _: None)
    probe = service(tmp_path, SLEEPER)
    supervisor.start(probe)
    wait_for(probe.log_path, "up with given")
    assert supervisor.exited("probe") is None
    supervisor.stop()


def test_a_service_that_dies_is_started_again_and_said_so(tmp_path: Path) -> None:
    said: list[str] = []
    supervisor = Supervisor(say=said.append)
    probe = service(tmp_path, SLEEPER)
    supervisor.start(probe)
    wait_for(probe.log_path, "up with given")
    first = supervisor.pid("probe")
    psutil.Process(first).kill()
    deadline = time.monotonic() + PATIENCE_SECONDS
    while supervisor.pid("probe") == first:
        assert time.monotonic() < deadline
        supervisor.check()
        time.sleep(0.02)
    wait_for(probe.log_path, "up with given", times=2)
    supervisor.stop()
    assert any("probe ended with status -9" in line for line in said)


def test_stop_ends_even_a_service_that_ignores_the_signal(tmp_path: Path) -> None:
    supervisor = Supervisor(say=lambda _: None)
    probe = service(
        tmp_path,
        """
        import signal, time
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        print("deaf", flush=True)
        time.sleep(600)
        """,
    )
    supervisor.start(probe)
    wait_for(probe.log_path, "deaf")
    process = psutil.Process(supervisor.pid("probe"))
    supervisor.stop()
    assert not process.is_running()


def test_stop_lets_a_service_end_by_itself(tmp_path: Path) -> None:
    supervisor = Supervisor(say=lambda _: None)
    probe = service(
        tmp_path,
        f"""
        import signal, sys, time
        signal.signal({int(signal.SIGTERM)}, lambda *_: (print("farewell", flush=True), sys.exit(0)))
        print("waiting", flush=True)
        time.sleep(600)
        """,
    )
    supervisor.start(probe)
    wait_for(probe.log_path, "waiting")
    supervisor.stop()
    assert "farewell" in probe.log_path.read_text()
