"""Whatever is named on a command line: a line on stderr and a status, never a traceback, in bounded time and memory."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cli.contract.desk import INVOICE, Site

NAMES = [
    "",
    "@",
    "a@",
    "@prod",
    "a b",
    "-",
    "../x@1",
    "a@b@c",
    "a/b/c@1",
    "a@0",
    "sha256:12",
    "a" * 400,
    "é@1",
    "a\x00@1",
]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("command", ["show", "promote", "deprecate", "verify", "retire"])
def test_a_reference_that_is_none(site: Site, tmp_path: Path, command: str, name: str) -> None:
    result = site.desk(tmp_path).contract(command, "--", name)
    assert result.exit_code == 2
    assert len(result.stderr) < 2_000


def test_a_name_that_is_none_for_a_new_contract(site: Site, tmp_path: Path) -> None:
    desk = site.desk(tmp_path)
    path = desk.file("i.json", INVOICE)
    for name in ("a b", "explain", "x" * 200, "é"):
        assert desk.contract("register", name, path).exit_code == 1
    assert "a letter or digit, then" in desk.contract("register", "a b", path).output
    assert "reserved" in desk.contract("register", "explain", path).output


@pytest.mark.parametrize(
    "content", [b"", b"\xff\xfe", b"{", b'{"a":1,"a":2}', b"[" * 100_000, b"\xef\xbb\xbf{}", b"NaN", b'"\\ud800"']
)
def test_a_file_that_is_no_json(site: Site, tmp_path: Path, content: bytes) -> None:
    desk = site.desk(tmp_path)
    path = desk.file("x.json", content)
    for words in (["register", "x", path], ["check", "x", path], ["diff", path, path], ["explain", path]):
        result = desk.contract(*words)
        assert result.exit_code == 1
        assert path in result.stderr


def test_a_folder_is_no_contract(site: Site, tmp_path: Path) -> None:
    desk = site.desk(tmp_path)
    folder = tmp_path / "contracts"
    folder.mkdir()
    for words in (["register", "x", folder], ["check", "x", folder], ["diff", folder, folder]):
        result = desk.contract(*map(str, words))
        assert result.exit_code == 2
        assert "is a folder" in result.stderr


@pytest.mark.parametrize("name", ["x.lark", "x.regex"])
def test_a_text_that_is_not_utf8(site: Site, tmp_path: Path, name: str) -> None:
    desk = site.desk(tmp_path)
    result = desk.contract("register", "x", desk.file(name, b"\xff\xff"))
    assert result.exit_code == 2
    assert "UTF-8" in result.stderr


def test_a_file_that_cannot_be_read(site: Site, tmp_path: Path) -> None:
    desk = site.desk(tmp_path)
    (tmp_path / "directory.json").mkdir()
    (tmp_path / "endless.json").symlink_to("/dev/zero")
    (tmp_path / "loop.json").symlink_to(tmp_path / "loop.json")
    huge = tmp_path / "huge.json"
    with huge.open("wb") as file:
        file.truncate(10 * 1024**3)
    for path in ("none.json", "directory.json", "endless.json", "loop.json", "huge.json"):
        result = desk.contract("register", "x", str(tmp_path / path))
        assert result.exit_code == 2, path
        assert len(result.stderr.splitlines()) == 1
    assert desk.contract("register", "x", "a\x00b.json").exit_code == 2
    assert desk.contract("register", str(huge)).exit_code == 2
    assert desk.contract("register", str(tmp_path / "none")).exit_code == 2
    assert desk.contract("register", "x", desk.file("x.txt", "{}")).exit_code == 2
    assert desk.contract("import", str(tmp_path)).exit_code == 2


def test_an_empty_folder_is_refused(site: Site, tmp_path: Path) -> None:
    desk = site.desk(tmp_path)
    (tmp_path / "folder").mkdir()
    assert desk.contract("check", str(tmp_path / "folder")).exit_code == 2


def test_a_place_that_cannot_be_written(site: Site, tmp_path: Path) -> None:
    desk = site.desk(tmp_path)
    desk.register(INVOICE)
    for path in (tmp_path, tmp_path / "none" / "x", Path("/proc/nowhere")):
        assert desk.contract("export", "-o", str(path)).exit_code == 2
        assert desk.run("audit", "export", "-o", str(path)).exit_code == 2
        assert desk.run("signing-key", "create", "--out", str(path)).exit_code == 2
    assert not [name for name in tmp_path.iterdir() if name.name.endswith(".part")]


@pytest.mark.parametrize(
    "content",
    [b"", b"nonsense", b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", b"\xff" * 100, b"x" * 10_000],
)
def test_a_key_that_is_none(site: Site, tmp_path: Path, content: bytes) -> None:
    desk = site.desk(tmp_path)
    desk.register(INVOICE)
    path = desk.file("key.pem", content)
    assert desk.contract("sign", "invoice@1", "--key", path).exit_code == 2
    assert desk.run("signing-key", "trust", path).exit_code == 2
    assert desk.contract("verify", "invoice@1", "--public-key", path).exit_code == 2


@pytest.mark.parametrize(
    "url",
    [
        "",
        "nonsense",
        "ftp://x",
        "http://",
        "http://[",
        "http://x:99999999",
        "http://a b",
        "http://x/?q=1",
        "http://a..b",
        "http://" + "a" * 70,
        "http://\x00",
    ],
)
def test_an_address_that_is_none(site: Site, tmp_path: Path, url: str) -> None:
    result = site.desk(tmp_path).contract("list", "--url", url)
    assert result.exit_code == 2
    assert "no address of a gateway" in result.stderr


@pytest.mark.parametrize("key", ["", "sg_x", "é", "a b", "a\nX-Evil: 1", "x" * 2_000])
def test_a_key_that_opens_nothing(site: Site, tmp_path: Path, key: str) -> None:
    result = replace(site.desk(tmp_path), key=key).contract("list", "--json")
    assert result.exit_code == 5
    assert json.loads(result.stdout)["error"]["exit"] == 5


def test_ids_that_are_none(site: Site, tmp_path: Path) -> None:
    desk = site.desk(tmp_path)
    for odd in ("prm_1", "../../policy", "a/b", "é", "x" * 3_000):
        assert desk.contract("approve", odd).exit_code in {2, 4}
        assert desk.run("promotion", "show", odd).exit_code in {2, 4}
        assert desk.run("signing-key", "revoke", odd).exit_code in {2, 4}
    desk.register(INVOICE)
    for alias in ("latest", "Prod", "a b", "../x", "1"):
        assert desk.contract("promote", "invoice@1", "--to", alias).exit_code == 2
