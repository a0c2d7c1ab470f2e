"""Signing, verifying, promoting, retiring: who may, and that nothing unseen is signed."""

import json
import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from cli.contract.recomputing import recompute
from cli.remote.exits import CommandError
from cli.remote.gateway import Gateway
from cli.remote.members import Members
from tests.cli.contract.desk import INVOICE, NARROWER, WIDER, Desk, Site


def signer(desk: Desk, name: str = "key") -> tuple[str, str]:
    """A trusted key: its file and its id."""
    private, public = str(desk.directory / f"{name}.pem"), str(desk.directory / f"{name}.pub")
    made = desk.json("signing-key", "create", "--out", private, "--public-out", public)
    desk.do("signing-key", "trust", public, "--label", name)
    return private, made["id"]


def test_a_private_key_is_its_owners_alone_and_never_overwritten(site: Site, tmp_path: Path) -> None:
    desk = site.desk(tmp_path)
    path = tmp_path / "key.pem"
    made = desk.json("signing-key", "create", "--out", str(path))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    before = path.read_bytes()
    assert b"PRIVATE" in before
    assert made["id"].startswith("ed25519:")
    result = desk.run("signing-key", "create", "--out", str(path))
    assert result.exit_code == 2
    assert path.read_bytes() == before


def test_a_key_file_may_have_a_password(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = site.desk(tmp_path)
    desk.register(INVOICE)
    monkeypatch.setenv("SCHEMAGATE_SIGNING_KEY_PASSWORD", "correct horse")
    private, _ = signer(desk)
    assert b"ENCRYPTED" in Path(private).read_bytes()
    assert desk.contract("sign", "invoice@1", "--key", private).exit_code == 0
    monkeypatch.setenv("SCHEMAGATE_SIGNING_KEY_PASSWORD", "wrong horse")
    assert desk.contract("sign", "invoice@1", "--key", private).exit_code == 2


def test_a_private_key_is_not_handed_to_the_gateway(site: Site, tmp_path: Path) -> None:
    desk = site.desk(tmp_path)
    private, _ = signer(desk)
    for words in (["signing-key", "trust", private], ["contract", "verify", "invoice@1", "--public-key", private]):
        result = desk.run(*words)
        assert result.exit_code == 2
        assert "private key" in result.stderr


def test_a_signed_revision_verifies_until_its_key_is_revoked(site: Site, tmp_path: Path) -> None:
    desk = site.desk(tmp_path)
    desk.register(INVOICE)
    private, key_id = signer(desk)
    assert desk.contract("verify", "invoice@1").exit_code == 1
    shown = desk.do("contract", "sign", "invoice@1", "--key", private)
    assert '"maxLength":8' in shown
    assert f"signed invoice@1 with {key_id}" in shown
    assert desk.contract("verify", "invoice@1").exit_code == 0
    assert desk.contract("verify", "invoice@1", "--public-key", str(tmp_path / "key.pub")).exit_code == 0
    assert desk.contract("sign", "invoice@1", "--key", private).exit_code == 1
    desk.do("signing-key", "revoke", key_id, "--reason", "lost")
    result = desk.contract("verify", "invoice@1")
    assert result.exit_code == 1
    assert "by a revoked key" in result.stdout
    listed = desk.json("signing-key", "list")["signing_keys"]
    assert listed[0]["revocation_reason"] == "lost"


def test_verifying_by_another_key_does_not_count(site: Site, tmp_path: Path) -> None:
    desk = site.desk(tmp_path)
    desk.register(INVOICE)
    private, _ = signer(desk)
    desk.do("contract", "sign", "invoice@1", "--key", private)
    signer(desk, "other")
    result = desk.contract("verify", "invoice@1", "--public-key", str(tmp_path / "other.pub"))
    assert result.exit_code == 1
    assert "not trusted" in result.stdout


def test_only_the_reviewed_text_is_signed(site: Site, tmp_path: Path) -> None:
    desk = site.desk(tmp_path)
    desk.register(INVOICE)
    private, _ = signer(desk)
    result = desk.contract("sign", "invoice@1", "--key", private, "--file", desk.file("other.json", NARROWER))
    assert result.exit_code == 1
    assert "nothing was signed" in result.stderr
    respelled = desk.file("same.json", dict(reversed(INVOICE.items())))
    assert desk.contract("sign", "invoice@1", "--key", private, "--file", respelled).exit_code == 0


def test_a_revision_that_refers_to_another_is_recomputed_with_it(site: Site, tmp_path: Path) -> None:
    desk = site.desk(tmp_path)
    desk.register(INVOICE)
    desk.register({"type": "array", "items": {"$ref": "schemagate:invoice@1"}, "maxItems": 3}, "invoices")
    digest = desk.json("contract", "show", "invoice@1")["revision"]["digest"]
    desk.register({"type": "array", "items": {"$ref": f"schemagate:{digest}"}, "maxItems": 4}, "more")
    private, _ = signer(desk)
    for name in ("invoices@1", "more@1"):
        assert desk.contract("sign", name, "--key", private).exit_code == 0
        assert desk.contract("verify", name).exit_code == 0


def _answer(desk: Desk) -> dict[str, Any]:
    headers = {"Authorization": f"Bearer {desk.key}"}
    answer: dict[str, Any] = httpx.get(f"{desk.site.url}/v1/contracts/invoice@1", headers=headers).json()
    return answer


@pytest.mark.parametrize(
    "lie",
    [
        {"source": NARROWER},
        {"source": INVOICE | {"title": "paid"}},
        {"source": "nonsense"},
    ],
)
def test_a_gateway_that_shows_another_text_is_caught(site: Site, tmp_path: Path, lie: dict[str, Any]) -> None:
    desk = site.desk(tmp_path)
    desk.register(INVOICE)
    honest = _answer(desk)
    with Gateway(site.url, desk.key) as gateway:
        assert recompute(gateway, Members(honest)).contract.digest == honest["revision"]["digest"]
        with pytest.raises(CommandError) as caught:
            recompute(gateway, Members(honest | lie))
    assert caught.value.exit_code == 1


def test_a_promotion_takes_a_second_person_where_policy_says_so(site: Site, tmp_path: Path) -> None:
    author = site.desk(tmp_path, roles=["author"])
    operator = site.desk(tmp_path, tenant=author.tenant, principal="olga", roles=["operator"])
    approver = site.desk(tmp_path, tenant=author.tenant, principal="bea", roles=["approver"])
    operator.do("policy", "set", "--two-person", "--protect", "live")
    author.register(INVOICE)
    proposed = author.json("contract", "promote", "invoice@1", "--reason", "first")
    assert proposed["moved"] is False
    assert author.contract("approve", proposed["id"]).exit_code == 5
    assert "invoice@prod names revision 1" in approver.do("contract", "approve", proposed["id"])
    assert author.json("promotion", "show", proposed["id"])["decided_by"] == "bea"
    assert author.json("promotion", "list", "--state", "proposed")["promotions"] == []
    other = author.json("contract", "promote", "invoice@1", "--to", "live")
    assert "was rejected" in approver.do("contract", "reject", other["id"], "--reason", "not yet")
    mine = author.json("contract", "promote", "invoice@1", "--to", "live")
    assert "was withdrawn" in author.do("contract", "withdraw", mine["id"])
    assert author.json("contract", "promote", "invoice@1", "--to", "staging")["moved"] is True


def test_an_alias_is_moved_back_and_not_moved_over_others(site: Site, tmp_path: Path) -> None:
    desk = site.desk(tmp_path)
    desk.register(INVOICE)
    desk.register(WIDER)
    assert desk.contract("rollback", "invoice").exit_code == 4
    desk.do("contract", "promote", "invoice@1", "--new")
    assert desk.contract("promote", "invoice@2", "--new").exit_code == 1
    assert desk.contract("promote", "invoice@2", "--if-version", "7").exit_code == 1
    assert "names revision 2, before it 1" in desk.do("contract", "promote", "invoice@2", "--if-version", "1")
    assert "names revision 1" in desk.do("contract", "rollback", "invoice@prod", "--reason", "trouble")
    assert desk.contract("drop", "invoice").exit_code == 2
    assert "dropped invoice@prod" in desk.do("contract", "drop", "invoice@prod")
    assert desk.contract("drop", "invoice@prod").exit_code == 4


def test_safety_is_asked_where_policy_says_so(site: Site, tmp_path: Path) -> None:
    desk = site.desk(tmp_path)
    desk.do("policy", "set", "--promotion-safety", "consumer_safe")
    desk.register(INVOICE)
    desk.register(WIDER)
    desk.do("contract", "promote", "invoice@1")
    result = desk.contract("promote", "invoice@2")
    assert result.exit_code == 1
    assert "document: {" in result.stderr
    assert desk.contract("promote", "invoice@2", "--override", "--reason", "agreed").exit_code == 0


def test_states_go_forwards_and_what_is_used_is_not_retired(site: Site, tmp_path: Path) -> None:
    desk = site.desk(tmp_path)
    desk.register(INVOICE, "invoice", "--draft")
    assert "is active" in desk.do("contract", "activate", "invoice@1")
    assert desk.contract("activate", "invoice@1").exit_code in {0, 1}
    desk.do("contract", "promote", "invoice@1")
    assert "is deprecated" in desk.do("contract", "deprecate", "invoice@prod", "--reason", "see order")
    assert desk.contract("sunset", "invoice@1").exit_code == 1
    usage = desk.contract("usage", "invoice", "--require-safe")
    assert usage.exit_code == 1
    assert "prod" in usage.stdout
    assert desk.contract("retire", "invoice").exit_code == 1
    desk.register(WIDER)
    desk.do("contract", "promote", "invoice@2")
    assert "is sunset" in desk.do("contract", "sunset", "invoice@1")
    assert "retired invoice@1" in desk.do("contract", "retire", "invoice@1", "--reason", "done")
    assert desk.contract("show", "invoice@1").exit_code == 4


def test_a_whole_contract_is_retired_once_nothing_names_it(site: Site, tmp_path: Path) -> None:
    desk = site.desk(tmp_path)
    desk.register(INVOICE)
    assert "no request has named it" in desk.do("contract", "usage", "invoice", "--require-safe")
    assert "all its revisions" in desk.do("contract", "retire", "invoice")
    assert desk.contract("show", "invoice").exit_code == 4
    assert desk.contract("register", "invoice", desk.file("i.json", INVOICE)).exit_code in {1, 4}


def test_terms_of_a_name_are_changed_one_by_one(site: Site, tmp_path: Path) -> None:
    desk = site.desk(tmp_path)
    desk.register(INVOICE, "invoice", "--compatibility", "FULL")
    desk.do("contract", "change", "invoice", "--compatibility", "unset", "--description", "bills")
    contract = desk.json("contract", "show", "invoice")["contract"]
    assert contract["compatibility"] is None
    assert contract["description"] == "bills"
    assert desk.contract("change", "invoice").exit_code == 2
    assert desk.contract("change", "invoice", "--description", "x", "--if-version", "1").exit_code == 1


def test_a_policy_keeps_what_is_not_said(site: Site, tmp_path: Path) -> None:
    desk = site.desk(tmp_path)
    assert desk.json("policy", "show")["version"] == 0
    desk.do("policy", "set", "--require-signature", "--compatibility", "both-safe")
    policy = desk.json("policy", "set", "--protect", "live", "--unprotect", "prod")
    assert policy["require_signature"] is True
    assert policy["compatibility"] == "FULL"
    assert policy["protected_aliases"] == ["live"]
    assert desk.json("policy", "set", "--compatibility", "unset")["compatibility"] is None
    assert desk.run("policy", "set").exit_code == 2
    assert desk.run("policy", "set", "--two-person", "--if-version", "1").exit_code == 1
    reader = site.desk(tmp_path, tenant=desk.tenant, roles=["caller"])
    assert reader.run("policy", "set", "--two-person").exit_code == 5
    assert "live" in reader.do("policy", "show")


def test_what_is_not_yours_and_what_is_not_there_end_alike(site: Site, tmp_path: Path) -> None:
    desk, other = site.desk(tmp_path), site.desk(tmp_path)
    desk.register(INVOICE)
    texts = []
    for name in (f"{desk.tenant}/invoice@1", f"{desk.tenant}/nothing@1"):
        result = other.contract("show", name)
        assert result.exit_code == 4
        texts.append(result.stderr.replace("invoice", "nothing"))
    assert texts[0] == texts[1]


def test_errors_are_json_too_where_json_is_asked_for(site: Site, tmp_path: Path) -> None:
    desk = replace(site.desk(tmp_path), key="sg_0123456789abcdef_wrong")
    result = desk.contract("list", "--json")
    assert result.exit_code == 5
    assert json.loads(result.stdout)["error"]["code"] == "invalid_api_key"
