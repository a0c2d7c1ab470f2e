"""What leaves one registry comes into another as it was, number for number, or stops before anything is written."""

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from tests.cli.contract.desk import INVOICE, NARROWER, WIDER, Desk, Site
from tests.system.gateways import running_gateway

Furnished = tuple[Desk, str, str]


@pytest.fixture(scope="module")
def furnished(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Furnished:
    """A tenant with contracts that refer to each other, in several states, signed and promoted; its export; its key.

    Made once, because it takes twenty requests; no test changes it.
    """
    tmp_path = tmp_path_factory.mktemp("furnished")
    desk = site.desk(tmp_path)
    private, public = str(tmp_path / "key.pem"), str(tmp_path / "key.pub")
    desk.do("signing-key", "create", "--out", private, "--public-out", public)
    desk.do("signing-key", "trust", public)
    desk.register(INVOICE, "invoice", "-m", "the first", "--description", "bills")
    desk.register({"type": "array", "items": {"$ref": "schemagate:invoice@1"}, "maxItems": 3}, "all-invoices")
    desk.register(WIDER)
    desk.register(NARROWER, "invoice", "--draft")
    desk.json("contract", "register", "reply", desk.file("reply.choice.json", ["yes", "no"]))
    desk.do("contract", "sign", "invoice@2", "--key", private)
    desk.do("contract", "deprecate", "invoice@1", "--reason", "see 2")
    desk.do("contract", "promote", "invoice@2")
    desk.do("contract", "change", "invoice", "--compatibility", "FULL")
    path = str(tmp_path / "export.jsonl")
    desk.do("contract", "export", "--output", path)
    return desk, path, public


def state_of(desk: Desk) -> Any:
    """What has to be the same on both sides."""
    found = {}
    for name in ("invoice", "all-invoices", "reply"):
        shown = desk.json("contract", "show", name)
        aliases = [(each["alias"], each["revision"]) for each in shown["aliases"]]
        kept = ("number", "digest", "annotation_digest", "state", "state_reason", "message", "policy")
        revisions = [{member: each[member] for member in kept} for each in shown["revisions"]]
        terms = {name: shown["contract"][name] for name in ("kind", "class", "description", "compatibility", "latest")}
        found[name] = (terms, aliases, revisions)
    return found


def test_everything_arrives_as_it_was(site: Site, tmp_path: Path, furnished: Furnished) -> None:
    desk, path, _ = furnished
    other = site.desk(tmp_path)
    planned = other.json("contract", "import", path, "--dry-run")
    assert planned["revisions"] == ["invoice@1", "all-invoices@1", "invoice@2", "invoice@3", "reply@1"]
    assert other.json("contract", "list", "--owner", other.tenant)["contracts"] == []
    done = other.json("contract", "import", path)
    assert done["revisions"] == planned["revisions"]
    assert done["aliases"] == ["invoice@prod → 2"]
    assert state_of(other) == state_of(desk)
    # A signature says whose contract it is: another tenant's is another contract.
    assert "was not taken" in done["notes"][0]
    again = other.json("contract", "import", path)
    assert (again["revisions"], again["states"], again["aliases"], again["unchanged"]) == ([], [], [], 5)


def test_signatures_count_for_the_same_tenant_of_another_installation(
    site: Site, tmp_path: Path, furnished: Furnished
) -> None:
    desk, path, public = furnished
    database_url = f"sqlite+aiosqlite:///{tmp_path / 'other.db'}"
    with running_gateway(database_url, tmp_path) as gateway:
        other = Site(url=gateway.url, database_url=database_url).desk(tmp_path, tenant=desk.tenant)
        other.do("signing-key", "trust", public)
        assert other.json("contract", "import", path)["notes"] == []
        assert other.contract("verify", "invoice@prod").exit_code == 0
        assert state_of(other) == state_of(desk)
        said = other.json("contract", "export", "-o", str(tmp_path / "again.jsonl"))
        assert (said["revisions"], said["signatures"], said["aliases"]) == (5, 1, 1)


def test_an_import_into_the_same_registry_changes_nothing(site: Site, tmp_path: Path, furnished: Furnished) -> None:
    desk, path, _ = furnished
    before = state_of(desk)
    done = desk.json("contract", "import", path)
    assert (done["revisions"], done["signatures"], done["notes"]) == ([], [], [])
    assert state_of(desk) == before


def test_only_what_is_named_is_exported(site: Site, tmp_path: Path, furnished: Furnished) -> None:
    desk, _, _ = furnished
    path = tmp_path / "one.jsonl"
    said = desk.json("contract", "export", "reply", "--output", str(path))
    assert (said["contracts"], said["revisions"]) == (1, 1)
    assert b"invoice" not in path.read_bytes()
    assert desk.contract("export", "nothing", "--output", str(path)).exit_code == 4
    assert desk.contract("export", f"{desk.tenant}/reply", "--output", str(path)).exit_code == 2
    assert b"reply" in path.read_bytes()


def forged(path: str, change: Any) -> bytes:
    """The file with its lines changed and a last line that agrees with them."""
    lines = change([json.loads(line) for line in Path(path).read_text().splitlines()[:-1]])
    data = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    return data + json.dumps({"end": {"lines": len(lines), "digest": sha256(data).hexdigest()}}).encode() + b"\n"


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[: len(data) // 2],
        lambda data: data[:-1],
        lambda data: data.replace(b'"the first"', b'"The first"'),
        lambda data: data.split(b"\n", 3)[3],
        lambda data: b"",
        lambda data: b"\n",
        lambda data: b"\xff\xfe\n" + data,
        lambda data: data + b"{}\n",
        lambda data: b'{"end":{"lines":0,"digest":"' + sha256(b"").hexdigest().encode() + b'"}}\n',
    ],
)
def test_a_file_that_was_cut_or_changed_is_not_read(
    site: Site, tmp_path: Path, furnished: Furnished, damage: Any
) -> None:
    desk, path, _ = furnished
    broken = desk.file("broken.jsonl", damage(Path(path).read_bytes()))
    other = site.desk(tmp_path)
    result = other.contract("import", broken)
    assert result.exit_code == 1
    assert "no whole export" in result.stderr
    assert other.json("contract", "list", "--owner", other.tenant)["contracts"] == []


def _other_text(lines: Any) -> Any:
    return [line | {"source": ["yes", "maybe"]} if line.get("revision_of") == "reply" else line for line in lines]


def _without_second(lines: Any) -> Any:
    return [line for line in lines if line.get("revision", {}).get("number") != 2]


def _without_contract(lines: Any) -> Any:
    return [line for line in lines if "contract" not in line]


def _strange(lines: Any) -> Any:
    return [*lines, {"surprise": 1}]


def _wrong_member(lines: Any) -> Any:
    return [line | {"revision": line["revision"] | {"digest": 7}} if "revision" in line else line for line in lines]


@pytest.mark.parametrize("change", [_other_text, _without_second, _without_contract, _strange, _wrong_member])
def test_a_forged_file_is_caught_before_anything_is_written(
    site: Site, tmp_path: Path, furnished: Furnished, change: Any
) -> None:
    _, path, _ = furnished
    other = site.desk(tmp_path)
    result = other.contract("import", other.file("forged.jsonl", forged(path, change)))
    assert result.exit_code in {1, 6}
    assert other.json("contract", "list", "--owner", other.tenant)["contracts"] == []


def test_a_registry_that_says_otherwise_is_left_alone(site: Site, tmp_path: Path, furnished: Furnished) -> None:
    _, path, _ = furnished
    other = site.desk(tmp_path)
    other.register(NARROWER)
    result = other.contract("import", path)
    assert result.exit_code == 1
    assert "invoice@1 is sha256:" in result.stderr
    assert [each["name"] for each in other.json("contract", "list", "--owner", other.tenant)["contracts"]] == [
        "invoice"
    ]


def test_what_was_retired_keeps_its_number(site: Site, tmp_path: Path) -> None:
    desk = site.desk(tmp_path)
    desk.register(INVOICE)
    desk.register(WIDER)
    desk.do("contract", "retire", "invoice@1", "--reason", "wrong")
    desk.register(INVOICE)
    desk.register(NARROWER)
    desk.do("contract", "retire", "invoice@4")
    path = str(tmp_path / "export.jsonl")
    said = desk.json("contract", "export", "-o", path)
    assert (said["revisions"], said["retired"]) == (4, 2)
    other = site.desk(tmp_path)
    done = other.json("contract", "import", path)
    assert done["retired"] == ["invoice@1", "invoice@4"]
    for number in (1, 2, 3, 4):
        ours, theirs = (each.json("contract", "show", f"invoice@{number}", "--retired") for each in (desk, other))
        assert ours["source"] == theirs["source"]
        assert bool(ours["revision"]["retired_at"]) == bool(theirs["revision"]["retired_at"])
    assert other.contract("show", "invoice@1").exit_code == 4
    again = other.json("contract", "import", path)
    assert (again["revisions"], again["retired"], again["unchanged"]) == ([], [], 4)


def test_what_stops_in_the_middle_says_how_far_it_came(site: Site, tmp_path: Path, furnished: Furnished) -> None:
    _, path, _ = furnished
    other = site.desk(tmp_path)
    other.do("policy", "set", "--compatibility", "FULL")
    result = other.contract("import", path)
    assert result.exit_code == 1
    assert "registered before that: invoice@1, all-invoices@1" in result.stderr
    other.do("policy", "set", "--compatibility", "unset")
    assert other.contract("import", path).exit_code == 0
