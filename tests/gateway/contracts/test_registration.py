"""Registering: what is kept, what is found again, what is only tried, and what is refused by name and place."""

from pathlib import Path
from typing import Any

import pytest

from tests.gateway.contracts.world import INVOICE, NARROWER, WIDER, error_of, registry

REGISTER, CHECK = "/v1/contracts", "/v1/contracts/check"


async def test_a_new_revision_is_created_and_can_be_found_at_its_place(tmp_path: Path) -> None:
    async with registry(tmp_path) as here:
        response = await here.ask(
            "POST", REGISTER,
            {"name": "invoice", "schema": INVOICE, "message": "first", "description": "bills", "team": "billing"},
        )  # fmt: skip
        found = await here.ask("GET", response.headers["location"])
    answer = response.json()
    assert response.status_code == 201
    revision = answer["revision"]
    assert answer["is_new"]
    assert (revision["number"], revision["schema_id"], revision["state"]) == (1, 1, "active")
    assert (revision["author"], revision["message"]) == ("bootstrap", "first")
    assert revision["id"].startswith("rev_")
    assert revision["signature"] == {"status": "unsigned", "key_id": None}
    assert revision["policy"]["allow_checked_after"] is False
    assert answer["contract"]["team"] == "billing"
    assert (answer["contract"]["class"], answer["contract"]["visibility"]) == ("tenant", "private")
    assert answer["compatibility"] == {"level": None, "enforced": False, "accepted": None, "comparisons": []}
    assert found.json()["revision"] == revision
    assert found.json()["source"] == INVOICE


async def test_the_same_content_again_is_the_same_revision(tmp_path: Path) -> None:
    reordered = {name: INVOICE[name] for name in reversed(INVOICE)}
    async with registry(tmp_path) as here:
        first = await here.register()
        second = await here.ask("POST", REGISTER, {"name": "invoice", "schema": reordered})
        otherwise = await here.ask("POST", REGISTER, {"name": "bill", "schema": INVOICE})
    assert (second.status_code, second.json()["is_new"]) == (200, False)
    assert second.json()["revision"]["id"] == first["revision"]["id"]
    assert otherwise.status_code == 201
    assert otherwise.json()["revision"]["digest"] == first["digest"]
    assert otherwise.json()["revision"]["id"] != first["revision"]["id"]


async def test_a_dry_run_says_everything_and_keeps_nothing(tmp_path: Path) -> None:
    async with registry(tmp_path) as here:
        await here.register()
        tried = await here.ask("POST", REGISTER, {"name": "invoice", "schema": WIDER, "dry_run": True})
        fresh = await here.ask("POST", REGISTER, {"name": "new", "schema": WIDER, "dry_run": True})
        names = [each["name"] for each in (await here.ask("GET", "/v1/contracts")).json()["data"]]
        contract = (await here.ask("GET", "/v1/contracts/invoice")).json()
    assert tried.status_code == fresh.status_code == 200
    assert (tried.json()["revision"], tried.json()["dry_run"], tried.json()["is_new"]) == (None, True, False)
    assert tried.json()["compatibility"]["comparisons"][0]["against"] == 1
    assert names == ["invoice"]
    assert contract["contract"]["latest"] == 1


async def test_what_a_revision_does_to_readers_is_told_with_a_witness(tmp_path: Path) -> None:
    async with registry(tmp_path) as here:
        await here.register()
        wider = (await here.register(schema=WIDER))["compatibility"]
        narrower = (await here.register("bill"), await here.register("bill", NARROWER))[1]["compatibility"]
    (comparison,) = wider["comparisons"]
    assert comparison["producer_safe"]["verdict"] == "safe"
    assert comparison["producer_safe"]["proof"]
    assert comparison["consumer_safe"]["verdict"] == "unsafe"
    assert "note" in comparison["consumer_safe"]["witness"]
    assert (wider["level"], wider["enforced"], wider["accepted"]) == (None, False, None)
    assert narrower["comparisons"][0]["consumer_safe"]["verdict"] == "safe"
    assert narrower["comparisons"][0]["producer_safe"]["verdict"] == "unsafe"


async def test_a_level_refuses_with_the_document_that_breaks(tmp_path: Path) -> None:
    async with registry(tmp_path) as here:
        await here.register(compatibility="BACKWARD")
        refused = await here.ask("POST", REGISTER, {"name": "invoice", "schema": NARROWER})
        checked = await here.ask("POST", CHECK, {"name": "invoice", "schema": NARROWER})
        other_way = await here.ask("POST", CHECK, {"name": "invoice", "schema": NARROWER, "mode": "FORWARD"})
        taken = await here.ask("POST", REGISTER, {"name": "invoice", "schema": WIDER})
    error = refused.json()["error"]
    assert error_of(refused) == (409, "incompatible")
    assert (error["level"], error["against"], error["question"]) == ("BACKWARD", 1, "producer_safe")
    assert "id" in error["witness"]
    assert refused.headers["x-should-retry"] == "false"
    assert checked.status_code == other_way.status_code == 200, checked.text
    assert checked.json()["compatibility"]["accepted"] is False
    assert other_way.json()["compatibility"]["accepted"] is True
    assert taken.status_code == 201
    assert taken.json()["compatibility"]["level"] == "BACKWARD"
    assert taken.json()["compatibility"]["accepted"] is True


async def test_a_refusal_points_into_what_was_sent(tmp_path: Path) -> None:
    async with registry(tmp_path) as here:
        schema = {"type": "object", "properties": {"a": {"maxLenght": 1}}}
        as_schema = await here.ask("POST", REGISTER, {"name": "x", "schema": schema})
        as_definition = await here.ask("POST", CHECK, {"name": "x", "definition": schema})
        as_side = await here.ask("POST", "/v1/contracts/diff", {"old": "x@1", "new": {"schema": schema}})
        await here.register("x", {"type": "string"})
        as_side = await here.ask("POST", "/v1/contracts/diff", {"old": "x@1", "new": {"schema": schema}})
    assert [error_of(each) for each in (as_schema, as_definition, as_side)] == [(400, "unknown_keyword")] * 3
    assert {each.json()["error"]["pointer"] for each in (as_schema, as_definition, as_side)} == {
        "/properties/a/maxLenght"
    }
    assert [each.json()["error"]["param"] for each in (as_schema, as_definition, as_side)] == [
        "schema.properties.a.maxLenght",
        "definition.properties.a.maxLenght",
        "new.schema.properties.a.maxLenght",
    ]


@pytest.mark.parametrize(
    ("fields", "code", "param"),
    [
        ({"schema": None, "name": None}, "invalid_type", "name"),
        ({"name": "a/b"}, "invalid_name", None),
        ({"name": "explain"}, "invalid_name", None),
        ({"name": "x" * 129}, "invalid_value", "name"),
        ({"shema": {}}, "unknown_parameter", "shema"),
        ({"definition": {}}, "conflicting_contracts", "definition"),
        ({"kind": "regex"}, "conflicting_parameters", "schema"),
        ({"kind": "xml"}, "unsupported_kind", "kind"),
        ({"state": "deprecated"}, "invalid_value", "state"),
        ({"dry_run": "yes"}, "invalid_type", "dry_run"),
        ({"visibility": "public"}, "invalid_value", "visibility"),
        ({"class": "gold"}, "invalid_value", "class"),
        ({"compatibility": "SOME"}, "invalid_value", "compatibility"),
        ({"message": "x" * 1001}, "invalid_value", "message"),
        ({"policy": {"allow_chekced_after": True}}, "unknown_parameter", "policy.allow_chekced_after"),
        ({"dialect": "draft-99"}, "unsupported_dialect", None),
        ({"team": "not a team"}, "invalid_name", None),
        ({"message": "\u0000"}, "invalid_name", None),
    ],
)
async def test_a_body_is_read_strictly(tmp_path: Path, fields: dict[str, Any], code: str, param: str | None) -> None:
    async with registry(tmp_path) as here:
        response = await here.ask("POST", REGISTER, {"name": "x", "schema": {"type": "string"}} | fields)
        listed = (await here.ask("GET", "/v1/contracts")).json()["data"]
    assert error_of(response) == (400, code), response.text
    if param is not None:
        assert response.json()["error"]["param"] == param
    assert listed == []


@pytest.mark.parametrize(
    ("body", "param"),
    [({"name": "x"}, "schema"), ({"name": "x", "kind": "lark"}, "definition"), ({"schema": {}}, "name")],
)
async def test_what_is_missing_is_named(tmp_path: Path, body: dict[str, Any], param: str) -> None:
    async with registry(tmp_path) as here:
        response = await here.ask("POST", REGISTER, body)
    assert error_of(response) == (400, "missing_parameter")
    assert response.json()["error"]["param"] == param


async def test_every_kind_is_kept_under_its_own_reading(tmp_path: Path) -> None:
    definitions: dict[str, Any] = {
        "regex": "[a-z]{3}",
        "choice": ["yes", "no"],
        "lark": 'start: "a" | "b"',
        "gbnf": 'root ::= "a" | "b"',
    }
    async with registry(tmp_path) as here:
        for kind, definition in definitions.items():
            body = {"name": kind, "kind": kind, "definition": definition}
            response = await here.ask("POST", REGISTER, body)
            assert response.status_code == 201, response.text
            found = (await here.ask("GET", f"/v1/contracts/{kind}@1")).json()
            assert (found["contract"]["kind"], found["source"]) == (kind, definition)
        other = await here.ask("POST", REGISTER, {"name": "regex", "schema": {}})
    assert error_of(other) == (409, "contract_kind")


async def test_numbers_of_the_registered_text_come_back_exactly(tmp_path: Path) -> None:
    text = '{"name":"exact","schema":{"const":12345678901234567890.5}}'
    async with registry(tmp_path) as here:
        headers = {"content-type": "application/json"}
        response = await here.client.post(REGISTER, content=text, headers=headers)
        found = await here.ask("GET", "/v1/contracts/exact@1")
    if response.status_code == 201:
        assert '"const":12345678901234567890.5' in found.text
    else:
        assert error_of(response)[0] == 400  # over the limit of digits, and refused as such


async def test_an_older_dialect_is_translated_and_the_report_says_how(tmp_path: Path) -> None:
    schema = {"$schema": "http://json-schema.org/draft-07/schema#", "definitions": {"a": {"type": "string"}},
              "items": [{"$ref": "#/definitions/a"}]}  # fmt: skip
    async with registry(tmp_path) as here:
        answer = await here.register("old", schema)
    assert answer["transformations"]
    assert answer["revision"]["transformations"] == answer["transformations"]


async def test_a_dialect_that_no_schema_says_can_be_named(tmp_path: Path) -> None:
    schema = {"type": "string", "nullable": True}
    async with registry(tmp_path) as here:
        unnamed = await here.ask("POST", REGISTER, {"name": "x", "schema": schema})
        named = await here.ask("POST", REGISTER, {"name": "x", "schema": schema, "dialect": "openapi-3.0"})
        found = (await here.ask("GET", "/v1/contracts/x@1")).json()
        contradicted = await here.ask(
            "POST", REGISTER,
            {"name": "y", "schema": {"$schema": "http://json-schema.org/draft-07/schema#"}, "dialect": "2020-12"},
        )  # fmt: skip
        textual = await here.ask(
            "POST", REGISTER, {"name": "z", "kind": "regex", "definition": "a", "dialect": "2020-12"}
        )
    assert unnamed.status_code == 400
    assert named.status_code == 201, named.text
    assert (found["revision"]["dialect"], found["source"]) == ("openapi-3.0", schema)
    assert contradicted.status_code == 400
    assert error_of(textual) == (400, "unsupported_dialect")


async def test_a_contract_may_lean_on_another_that_is_pinned(tmp_path: Path) -> None:
    async with registry(tmp_path) as here:
        base = (await here.register("line", {"type": "string", "maxLength": 3}))["revision"]
        order = {"type": "array", "items": {"$ref": "schemagate:line@1"}, "maxItems": 2}
        answer = await here.register("order", order)
        movable = await here.ask("POST", REGISTER, {"name": "loose", "schema": {"$ref": "schemagate:line@prod"}})
    (dependency,) = answer["revision"]["dependencies"]
    assert dependency == {"uri": "schemagate:line@1", "digest": base["digest"], "revision_id": base["id"]}
    assert error_of(movable) == (400, "movable_reference")


async def test_a_diff_reads_like_a_review(tmp_path: Path) -> None:
    async with registry(tmp_path) as here:
        await here.register()
        await here.register(schema=WIDER)
        stored = await here.ask("POST", "/v1/contracts/diff", {"old": "invoice@1", "new": "invoice@2"})
        inline = await here.ask("POST", "/v1/contracts/diff", {"old": {"schema": INVOICE}, "new": {"schema": WIDER}})
        same = await here.ask("POST", "/v1/contracts/diff", {"old": "invoice@1", "new": {"schema": INVOICE}})
        wrong = await here.ask("POST", "/v1/contracts/diff", {"old": 5, "new": "invoice@2"})
        kind = await here.ask("POST", "/v1/contracts/diff", {"old": {"kind": "xml"}, "new": "invoice@2"})
    assert stored.status_code == 200, stored.text
    assert stored.json() == inline.json()
    assert stored.json()["consumer_safe"]["verdict"] == "unsafe"
    assert stored.json()["producer_safe"]["verdict"] == "safe"
    assert any("note" in change["message"] or "note" in change["new_pointer"] for change in stored.json()["changes"])
    assert same.json()["changes"] == []
    assert {same.json()[question]["verdict"] for question in ("consumer_safe", "producer_safe")} == {"safe"}
    assert (error_of(wrong), wrong.json()["error"]["param"]) == ((400, "invalid_type"), "old")
    assert (error_of(kind), kind.json()["error"]["param"]) == ((400, "unsupported_kind"), "old.kind")
