"""`diff`, `list` and `show`: what one reads before one decides."""

import json
from pathlib import Path

import httpx
import pytest

from tests.cli.contract.desk import INVOICE, NARROWER, WIDER, Site


def test_two_files_are_compared_without_a_gateway(site: Site, tmp_path: Path) -> None:
    desk = site.desk(tmp_path)
    result = desk.run(
        "contract", "diff", desk.file("a.json", INVOICE), desk.file("b.json", NARROWER), "--url", "http://127.0.0.1:9"
    )
    assert result.exit_code == 0
    assert "1 change" in result.stdout
    assert 'the member "total" is now required' in result.stdout
    assert '- now forbidden: {"id":""}' in result.stdout
    assert "consumer-safe: yes" in result.stdout
    assert "producer-safe: no" in result.stdout


def test_files_and_revisions_are_compared_in_the_same_words(site: Site, tmp_path: Path) -> None:
    desk = site.desk(tmp_path)
    desk.register(INVOICE)
    desk.register(WIDER)
    old, new = desk.file("a.json", INVOICE), desk.file("b.json", WIDER)
    here = desk.json("contract", "diff", old, new)
    pairs = (("invoice@1", "invoice@2"), ("invoice@1", new), (old, "invoice@2"))
    there = [desk.json("contract", "diff", *pair) for pair in pairs]
    assert all(each == here for each in there)


@pytest.mark.parametrize(("require", "exit_code"), [("consumer-safe", 1), ("producer-safe", 0), ("both", 1)])
def test_a_pipeline_may_require_a_verdict(site: Site, tmp_path: Path, require: str, exit_code: int) -> None:
    desk = site.desk(tmp_path)
    old, new = desk.file("a.json", INVOICE), desk.file("b.json", WIDER)
    assert desk.contract("diff", old, new, "--require", require).exit_code == exit_code


def test_what_is_not_decided_ends_with_3(site: Site, tmp_path: Path) -> None:
    desk = site.desk(tmp_path)
    old, new = desk.file("a.lark", 'start: "a"\n'), desk.file("b.lark", 'start: "b"\n')
    result = desk.contract("diff", old, new, "--require", "both")
    assert result.exit_code == 3
    assert "consumer-safe: undecided" in result.stdout
    assert "counts as no" in result.stdout


def test_a_file_that_is_refused_says_where(site: Site, tmp_path: Path) -> None:
    desk = site.desk(tmp_path)
    result = desk.contract("diff", desk.file("a.json", INVOICE), desk.file("b.json", {"properties": {"a": {"typ": 1}}}))
    assert result.exit_code == 1
    assert "/properties/a/typ" in result.stderr


def test_a_file_that_refers_to_a_registered_contract_is_compared_by_the_gateway(site: Site, tmp_path: Path) -> None:
    desk = site.desk(tmp_path)
    desk.register(INVOICE)
    referring = desk.file("a.json", {"$ref": "schemagate:invoice@1"})
    said = desk.json("contract", "diff", referring, desk.file("b.json", INVOICE))
    assert said["consumer_safe"]["verdict"] == "safe"
    assert said["producer_safe"]["verdict"] == "safe"


def test_a_list_follows_cursors_to_its_end(site: Site, tmp_path: Path) -> None:
    desk = site.desk(tmp_path)
    for number in range(105):
        body = {"name": f"c{number:03}", "kind": "choice", "definition": ["a"]}
        answer = httpx.post(f"{site.url}/v1/contracts", json=body, headers={"Authorization": f"Bearer {desk.key}"})
        assert answer.status_code == 201
    names = [each["name"] for each in desk.json("contract", "list", "--owner", desk.tenant)["contracts"]]
    assert names == [f"c{number:03}" for number in range(105)]
    assert len(desk.json("contract", "list", "--owner", desk.tenant, "--limit", "101")["contracts"]) == 101
    assert len(desk.json("contract", "list", "c00", "--owner", desk.tenant)["contracts"]) == 10
    assert desk.do("contract", "list", "--owner", desk.tenant, "--kind", "lark").strip() == "no contracts"


def test_show_tells_of_a_contract_or_of_one_revision(site: Site, tmp_path: Path) -> None:
    desk = site.desk(tmp_path)
    desk.register(INVOICE, "invoice", "-m", "the first")
    desk.do("contract", "promote", "invoice@1", "--to", "staging")
    contract = desk.do("contract", "show", "invoice")
    assert "the first" in contract
    assert any(line.split()[:2] == ["staging", "1"] for line in contract.splitlines())
    shown = desk.json("contract", "show", "invoice@staging")
    assert shown["source"] == INVOICE
    assert shown["alias"] == "staging"
    text = desk.do("contract", "show", shown["revision"]["digest"])
    assert json.loads(text[text.index("\n{") :]) == INVOICE


def test_control_characters_of_a_message_do_not_reach_the_terminal(site: Site, tmp_path: Path) -> None:
    desk = site.desk(tmp_path)
    desk.register(INVOICE, "invoice", "-m", "calm\x1b[2Jdown")
    assert "\x1b" not in desk.do("contract", "show", "invoice")
    assert "calm\\u001b[2Jdown" in desk.do("contract", "show", "invoice@1")


def test_numbers_of_a_text_are_shown_as_exactly_as_they_were_written(site: Site, tmp_path: Path) -> None:
    desk = site.desk(tmp_path)
    desk.json("contract", "register", "n", desk.file("n.json", '{"examples": [0.1000000000000000000001]}'))
    assert "0.1000000000000000000001" in desk.do("contract", "show", "n@1")
    assert "0.1000000000000000000001" in desk.do("contract", "show", "n@1", "--json")
