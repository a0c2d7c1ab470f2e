"""The audit chain as a file: exported through the gateway, verified without one."""

from pathlib import Path

import pytest

from tests.cli.contract.desk import INVOICE, WIDER, Desk, Site


def exported(site: Site, tmp_path: Path) -> tuple[Desk, Path, str]:
    """A chain of some events in a file; and its head."""
    desk = site.desk(tmp_path)
    desk.register(INVOICE)
    desk.register(WIDER)
    desk.do("contract", "promote", "invoice@1")
    path = tmp_path / "audit.jsonl"
    said = desk.json("audit", "export", "--output", str(path))
    assert said["verdict"] == "intact"
    return desk, path, said["head"]


def test_an_export_verifies_offline(site: Site, tmp_path: Path) -> None:
    desk, path, head = exported(site, tmp_path)
    offline = desk.run("audit", "verify", str(path), "--head", head)
    assert offline.exit_code == 0
    assert f"keep its head elsewhere: {head}" in offline.stdout
    assert desk.run("audit", "verify", str(path), "--head", head.split(":")[1]).exit_code == 0


def test_an_older_head_is_passed_by_a_longer_chain(site: Site, tmp_path: Path) -> None:
    desk, path, head = exported(site, tmp_path)
    desk.do("contract", "promote", "invoice@2")
    later = tmp_path / "later.jsonl"
    desk.do("audit", "export", "-o", str(later))
    assert desk.run("audit", "verify", str(later), "--head", head).exit_code == 0
    assert desk.run("audit", "verify", str(later), "--head", head.split(":")[1]).exit_code == 0
    new_head = desk.json("audit", "verify", str(later))["head"]
    for kept in (new_head, new_head.split(":")[1]):
        assert desk.run("audit", "verify", str(path), "--head", kept).exit_code == 1


def test_a_changed_event_is_named(site: Site, tmp_path: Path) -> None:
    desk, path, _ = exported(site, tmp_path)
    lines = path.read_text().splitlines(keepends=True)
    lines[3] = lines[3].replace("ada", "eve")
    path.write_text("".join(lines))
    result = desk.run("audit", "verify", str(path))
    assert result.exit_code == 1
    assert "broken at event 3" in result.stdout


@pytest.mark.parametrize("kept", ["nonsense", "0:" + "a" * 64, "a" * 63, ""])
def test_a_head_that_is_none_is_a_usage_error(site: Site, tmp_path: Path, kept: str) -> None:
    desk, path, _ = exported(site, tmp_path)
    assert desk.run("audit", "verify", str(path), "--head", kept).exit_code == 2


@pytest.mark.parametrize("content", [b"", b"\n", b"{}\n", b"\xff\n", b"x" * 300_000, b"[" * 1000 + b"\n"])
def test_what_is_no_export_is_broken(site: Site, tmp_path: Path, content: bytes) -> None:
    desk = site.desk(tmp_path)
    path = desk.file("x.jsonl", content)
    assert desk.run("audit", "verify", path).exit_code == 1
    assert desk.run("audit", "verify", path, "--head", "a" * 64).exit_code == 1


def test_a_file_that_is_not_there_is_a_usage_error(site: Site, tmp_path: Path) -> None:
    desk = site.desk(tmp_path)
    assert desk.run("audit", "verify", str(tmp_path / "none")).exit_code == 2
    assert desk.run("audit", "verify", str(tmp_path)).exit_code == 2


def test_the_chain_is_for_auditors(site: Site, tmp_path: Path) -> None:
    desk, path, _ = exported(site, tmp_path)
    before = path.read_bytes()
    author = site.desk(tmp_path, tenant=desk.tenant, roles=["author"])
    assert author.run("audit", "export", "-o", str(path)).exit_code == 5
    assert path.read_bytes() == before
    assert list(tmp_path.glob("*.part")) == list(tmp_path.glob(".*.part")) == []
    auditor = site.desk(tmp_path, tenant=desk.tenant, roles=["auditor"])
    assert auditor.run("audit", "export", "-o", str(path)).exit_code == 0
