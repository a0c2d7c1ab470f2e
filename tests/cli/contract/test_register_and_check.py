"""Registering and checking: one contract or a folder, all or nothing."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.contract.desk import INVOICE, NARROWER, WIDER, Site


def test_a_contract_is_registered_once_however_often_it_is_sent(site: Site, tmp_path: Path) -> None:
    desk = site.desk(tmp_path)
    first = desk.register(INVOICE)["contracts"][0]
    again = desk.register(dict(reversed(INVOICE.items())))["contracts"][0]
    assert (first["result"], first["revision"], first["state"]) == ("new", 1, "active")
    assert (again["result"], again["revision"]) == ("unchanged", 1)
    assert first["digest"] == again["digest"]


def test_the_table_says_what_became_of_it_against_what_was_there(site: Site, tmp_path: Path) -> None:
    desk = site.desk(tmp_path)
    desk.register(INVOICE)
    lines = desk.do("contract", "register", "invoice", desk.file("i.json", NARROWER), "--draft").splitlines()
    assert lines[0].split() == [
        "CONTRACT",
        "RESULT",
        "REVISION",
        "STATE",
        "AGAINST",
        "CONSUMER-SAFE",
        "PRODUCER-SAFE",
        "ALIAS",
    ]
    assert lines[1].split() == ["invoice", "new", "2", "draft", "1", "yes", "no", "-"]


def test_a_dry_run_keeps_nothing(site: Site, tmp_path: Path) -> None:
    desk = site.desk(tmp_path)
    result = desk.contract("register", "invoice", desk.file("i.json", INVOICE), "--dry-run")
    assert result.exit_code == 0
    assert "nothing was registered" in result.stdout
    assert desk.contract("show", "invoice").exit_code == 4


def test_terms_are_said_with_the_first_revision(site: Site, tmp_path: Path) -> None:
    desk = site.desk(tmp_path, team="billing")
    desk.register(
        INVOICE, "invoice", "--visibility", "shared", "--compatibility", "both-safe", "--description", "bills"
    )
    contract = desk.json("contract", "show", "invoice")["contract"]
    assert contract["visibility"] == "shared"
    assert contract["compatibility"] == "FULL"
    assert contract["description"] == "bills"
    assert contract["team"] == "billing"


def test_incompatible_ends_with_1_and_shows_a_document(site: Site, tmp_path: Path) -> None:
    desk = site.desk(tmp_path)
    desk.register(INVOICE, "invoice", "--compatibility", "FULL")
    path = desk.file("i.json", NARROWER)
    for command in ("register", "check"):
        result = desk.contract(command, "invoice", path)
        assert result.exit_code == 1
        assert "incompatible" in result.stdout
        assert '{"id":""}' in result.stdout
        said = json.loads(desk.contract(command, "invoice", path, "--json").stdout)
        assert said["contracts"][0]["result"] == "incompatible"
    assert desk.json("contract", "show", "invoice")["contract"]["latest"] == 1


def test_a_check_may_ask_for_another_level(site: Site, tmp_path: Path) -> None:
    desk = site.desk(tmp_path)
    desk.register(INVOICE)
    path = desk.file("i.json", WIDER)
    assert desk.contract("check", "invoice", path).exit_code == 0
    assert desk.contract("check", "invoice", path, "--mode", "producer-safe").exit_code == 0
    assert desk.contract("check", "invoice", path, "--mode", "consumer-safe").exit_code == 1
    assert desk.contract("check", "invoice", path, "--mode", "sideways").exit_code == 2


def test_undecided_is_not_a_yes_and_not_a_no(site: Site, tmp_path: Path) -> None:
    desk = site.desk(tmp_path)
    desk.json("contract", "register", "g", desk.file("g.lark", 'start: "a"\n'))
    path = desk.file("g.lark", 'start: "a" | "b"\n')
    result = desk.contract("check", "g", path, "--mode", "FULL")
    assert result.exit_code == 3
    assert "undecided" in result.stdout


def test_what_is_refused_is_refused_by_name_and_place(site: Site, tmp_path: Path) -> None:
    desk = site.desk(tmp_path)
    path = desk.file("bad.json", {"type": "strin", "minLenght": 3})
    result = desk.contract("register", "bad", path)
    assert result.exit_code == 1
    assert "at /type" in result.stdout
    assert "minLength" in result.stdout
    said = json.loads(desk.contract("check", "bad", path, "--json").stdout)
    assert said["contracts"][0]["error"]["code"] == "invalid_schema"
    assert desk.contract("register", "bad", path, "--unknown-keyword", "annotation").exit_code == 1


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.lark", 'start: "a"\n'),
        ("a.gbnf", 'root ::= "a"\n'),
        ("a.regex", "[0-9]{4}\n"),
        ("a.choice.json", ["yes", "no"]),
        ("a.tools.json", [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]),
        (
            "a.tags.json",
            {
                "type": "structural_tag",
                "format": {"type": "tag", "begin": "<a>", "content": {"type": "any_text"}, "end": "</a>"},
            },
        ),
    ],
)
def test_every_kind_is_known_by_its_file(site: Site, tmp_path: Path, name: str, content: Any) -> None:
    desk = site.desk(tmp_path)
    made = desk.json("contract", "register", "a", desk.file(name, content))["contracts"][0]
    assert made["result"] == "new"
    source = desk.json("contract", "show", "a@1")["source"]
    assert source == (content.rstrip("\n") if name.endswith(".regex") else content)


def test_a_folder_is_registered_with_the_terms_beside_it(site: Site, tmp_path: Path) -> None:
    desk = site.desk(tmp_path / "contracts")
    desk.file("invoice.json", INVOICE)
    desk.file("reply.choice.json", ["yes", "no"])
    desk.file("README.md", "not a contract")
    desk.file(
        "contracts.toml",
        '[defaults]\ndescription = "ours"\n[contracts.invoice]\ncompatibility = "consumer-safe"\nalias = "staging"\n',
    )
    result = desk.contract("register", str(desk.directory), "-m", "from the repository")
    assert result.exit_code == 0
    assert "README.md" in result.stderr
    assert "staging names 1" in result.stdout
    shown = desk.json("contract", "show", "invoice")
    assert shown["contract"]["compatibility"] == "FORWARD"
    assert shown["aliases"][0]["alias"] == "staging"
    assert shown["latest"]["message"] == "from the repository"
    assert desk.json("contract", "show", "reply")["contract"]["description"] == "ours"
    again = desk.json("contract", "register", str(desk.directory))
    assert [each["result"] for each in again["contracts"]] == ["unchanged", "unchanged"]


def test_a_folder_of_drafts_moves_no_alias(site: Site, tmp_path: Path) -> None:
    desk = site.desk(tmp_path / "contracts")
    desk.file("invoice.json", INVOICE)
    desk.file("contracts.toml", '[contracts.invoice]\nalias = "staging"\n')
    assert "staging stays" in desk.do("contract", "register", str(desk.directory), "--draft")
    shown = desk.json("contract", "show", "invoice")
    assert (shown["aliases"], shown["latest"]["state"]) == ([], "draft")
    assert "staging names 1" not in desk.do("contract", "register", str(desk.directory))


def test_of_a_folder_with_one_bad_contract_none_is_registered(site: Site, tmp_path: Path) -> None:
    desk = site.desk(tmp_path / "contracts")
    desk.file("a.json", INVOICE)
    desk.file("b.json", {"type": "nonsense"})
    result = desk.contract("register", str(desk.directory))
    assert result.exit_code == 1
    assert [line.split()[:2] for line in result.stdout.splitlines()[1:3]] == [["a", "new"], ["b", "refused"]]
    assert desk.json("contract", "list", "--owner", desk.tenant)["contracts"] == []


@pytest.mark.parametrize(
    ("terms", "says"),
    [
        ("[contracts.invoice]\ncompatability = 'FULL'\n", "compatability"),
        ("[contracts.invoice]\ncompatibility = 'sideways'\n", "sideways"),
        ("[contracts.invoice]\nvisibility = 'public'\n", "private"),
        ("[contracts.invoice]\nteam = 7\n", "text"),
        ("[contracts.invoice]\nallow_checked_after = 'yes'\n", "true or false"),
        ("[contracts.other]\nteam = 'x'\n", "no file"),
        ("[contract.invoice]\n", "contract"),
        ("contracts = 3\n", "table"),
        ("nonsense", "TOML"),
        ("a = " + "[" * 100_000, "TOML"),
    ],
)
def test_terms_that_cannot_be_used_are_named(site: Site, tmp_path: Path, terms: str, says: str) -> None:
    desk = site.desk(tmp_path / "contracts")
    desk.file("invoice.json", INVOICE)
    desk.file("contracts.toml", terms)
    result = desk.contract("check", str(desk.directory))
    assert result.exit_code == 2
    assert says in result.stderr
    assert len(result.stderr) < 1_000


def test_two_files_of_one_name_are_refused(site: Site, tmp_path: Path) -> None:
    desk = site.desk(tmp_path / "contracts")
    desk.file("a.json", INVOICE)
    desk.file("a.lark", 'start: "a"\n')
    result = desk.contract("register", str(desk.directory))
    assert result.exit_code == 2
    assert "defines a too" in result.stderr


def test_an_author_registers_and_a_caller_only_checks(site: Site, tmp_path: Path) -> None:
    caller = site.desk(tmp_path, roles=["caller"])
    path = caller.file("i.json", INVOICE)
    assert caller.contract("check", "invoice", path).exit_code == 0
    result = caller.contract("register", "invoice", path, "--json")
    assert result.exit_code == 5
    assert json.loads(result.stdout)["error"]["code"] == "forbidden"


def test_a_text_comes_from_standard_input(site: Site, tmp_path: Path) -> None:
    desk = site.desk(tmp_path)
    result = desk.run("contract", "register", "invoice", "-", "--kind", "json_schema", stdin=json.dumps(INVOICE))
    assert result.exit_code == 0
