"""On a terminal: colours, ruled tables, and a question before anything is signed."""

import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path

from tests.cli.contract.desk import INVOICE, WIDER, Desk, Site


def on_terminal(desk: Desk, *words: str, answer: str = "") -> tuple[int, str]:
    """The command in a process of its own whose every stream is a terminal; status and what was to be seen."""
    ours, theirs = pty.openpty()
    environment = {
        **os.environ,
        "SCHEMAGATE_URL": desk.site.url,
        "SCHEMAGATE_API_KEY": desk.key,
        "TERM": "xterm-256color",
    }
    environment.pop("NO_COLOR", None)
    process = subprocess.Popen(
        [sys.executable, "-m", "cli.main", *words], stdin=theirs, stdout=theirs, stderr=theirs, env=environment
    )
    os.close(theirs)
    os.write(ours, answer.encode())
    seen = b""
    deadline = time.monotonic() + 60
    while select.select([ours], [], [], max(0.0, deadline - time.monotonic()))[0]:
        try:
            piece = os.read(ours, 65_536)
        except OSError:  # the other end was closed: how Linux says the end of a terminal
            break
        if not piece:
            break
        seen += piece
    os.close(ours)
    return process.wait(timeout=10), seen.decode()


def test_a_review_has_colours_on_a_terminal_and_none_in_a_pipe(site: Site, tmp_path: Path) -> None:
    desk = site.desk(tmp_path)
    old, new = desk.file("a.json", INVOICE), desk.file("b.json", WIDER)
    status, seen = on_terminal(desk, "contract", "diff", old, new)
    assert status == 0
    assert "\x1b[32m" in seen
    assert "consumer-safe: no" in seen
    assert "\x1b" not in desk.do("contract", "diff", old, new)


def test_a_table_is_ruled_on_a_terminal(site: Site, tmp_path: Path) -> None:
    desk = site.desk(tmp_path)
    desk.register(INVOICE, "invoice", "-m", "a [bold]message[/bold]\x1b[2J")
    status, seen = on_terminal(desk, "contract", "show", "invoice")
    assert status == 0
    assert "───" in seen
    assert "[bold]" in seen.replace("\r\n", "").replace(" ", "")
    assert "\x1b[2J" not in seen


def test_signing_asks_first(site: Site, tmp_path: Path) -> None:
    desk = site.desk(tmp_path)
    desk.register(INVOICE)
    private, public = str(tmp_path / "key.pem"), str(tmp_path / "key.pub")
    desk.do("signing-key", "create", "--out", private, "--public-out", public)
    desk.do("signing-key", "trust", public)
    status, seen = on_terminal(desk, "contract", "sign", "invoice@1", "--key", private, answer="n\n")
    assert status == 1
    assert "nothing was signed" in seen
    assert desk.contract("verify", "invoice@1").exit_code == 1
    status, _ = on_terminal(desk, "contract", "sign", "invoice@1", "--key", private, answer="y\n")
    assert status == 0
    assert desk.contract("verify", "invoice@1").exit_code == 0
