"""What is refused, with Confluent's codes, and to whom: schemas, names, keys, roles, other tenants."""

import base64
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest
from confluent_kafka.schema_registry import Schema

from policy.roles import Role
from tests.gateway.confluent.clients import INTEGER, STRING, StockClient, closed, confluent_world, schema


async def test_other_types_of_schema_are_refused_by_name(tmp_path: Path) -> None:
    async with confluent_world(tmp_path) as it:
        for schema_type in ("AVRO", "PROTOBUF"):
            refused = await it.client.refused("register_schema", "s", Schema('"string"', schema_type))
            assert refused.numbers == (422, 42201)
            assert schema_type in refused.message
            assert "'schemaType': 'JSON'" in refused.message
        assert await it.client.ask("get_subjects", deleted=True) == []


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        ("{", 42201, "invalid_json"),
        ('{"type": "object", "type": "array"}', 42201, "duplicate_name at /type"),
        ('{"minLenght": 3}', 42201, "unknown_keyword at /minLenght"),
        ('{"properties": {"a": {"type": "strng"}}}', 42201, "at /properties/a/type"),
        ('{"pattern": "(?=a)"}', 42201, "unsupported_regex at /pattern"),
        ('{"$ref": "https://example.com/other.json"}', 42201, "remote_reference at /$ref"),
        ('{"allOf": [{"type": "string"}], "type": "object", "enum": []}', 42201, "/enum"),
        ('{"enum": [' + ", ".join(f'"{n:0>60}"' for n in range(12_000)) + "]}", 42209, "max_contract_bytes"),
        ("[" * 200 + "]" * 200, 42201, "limit_exceeded"),
    ],
)
async def test_a_schema_that_is_refused_is_refused_by_code_and_place(
    tmp_path: Path, text: str, code: int, words: str
) -> None:
    async with confluent_world(tmp_path) as it:
        for method in ("register_schema", "test_compatibility"):
            refused = await it.client.refused(method, "s", schema(text))
            assert refused.numbers == (422, code)
            assert words in refused.message
            assert len(refused.message) <= 4000
        assert await it.client.ask("get_subjects", deleted=True) == []


@pytest.mark.parametrize("subject", ["-x", "a b", "ü", "x" * 129, "explain", ":.other:s", "a%2Fb"])
async def test_a_subject_that_cannot_be_one_is_refused_on_writing_and_absent_on_reading(
    tmp_path: Path, subject: str
) -> None:
    async with confluent_world(tmp_path) as it:
        assert (await it.client.refused("register_schema", subject, schema(STRING))).numbers == (422, 42208)
        assert (await it.client.refused("get_versions", subject)).numbers == (404, 40401)
        assert (await it.client.refused("get_version", subject, 1)).numbers == (404, 40401)
        assert (await it.client.refused("delete_subject", subject)).numbers == (404, 40401)
        assert (await it.client.refused("get_config", subject)).numbers == (404, 40408)


async def test_the_default_context_may_be_spelled_out(tmp_path: Path) -> None:
    async with confluent_world(tmp_path) as it:
        await it.client.ask("register_schema", ":.:s", schema(STRING))
        assert await it.client.ask("get_subjects") == ["s"]
        assert (await it.client.ask("get_latest_version", ":.:s")).subject == "s"


async def test_who_is_not_known_gets_the_same_answer_everywhere(tmp_path: Path) -> None:
    async with confluent_world(tmp_path) as it:
        for user_info in ("user:wrong", f"{it.key}:", "sg_0123456789abcdef:secret"):
            stranger = StockClient(it.url, user_info)
            it.clients.callback(stranger.close)
            answers = {
                (await stranger.refused(method, *args))
                for method, args in (
                    ("get_subjects", ()),
                    ("get_latest_version", ("s",)),
                    ("register_schema", ("s", schema(STRING))),
                    ("get_config", ()),
                    ("delete_subject", ("s",)),
                )
            }
            assert {refused.numbers for refused in answers} == {(401, 40101)}
            assert len(answers) == 1


async def test_a_key_may_be_sent_as_bearer_or_split_over_basic(tmp_path: Path) -> None:
    async with confluent_world(tmp_path) as it, httpx.AsyncClient(base_url=it.url) as http:
        user, _, secret = it.key.removeprefix("sg_").partition("_")
        split = base64.b64encode(f"sg_{user}:{secret}".encode()).decode()
        for header in (f"Bearer {it.key}", f"Basic {split}"):
            assert (await http.get("/subjects", headers={"Authorization": header})).json() == []
        native = await http.get("/v1/contracts", headers={"Authorization": f"Basic {split}"})
        assert native.status_code == 401


async def test_roles_decide_who_may_do_what(tmp_path: Path) -> None:
    async with confluent_world(tmp_path) as it:
        await it.client.ask("register_schema", "s", schema(closed(a=STRING)))
        reader = await it.client_of("local", Role.CALLER)
        author = await it.client_of("local", Role.AUTHOR)
        assert await reader.ask("get_versions", "s") == [1]
        assert await reader.ask("test_compatibility", "s", schema(closed(a=STRING))) is True
        assert (await reader.ask("lookup_schema", "s", schema(closed(a=STRING)))).version == 1
        for method, args in (
            ("register_schema", ("s", schema(closed(a=INTEGER)))),
            ("delete_subject", ("s",)),
            ("delete_version", ("s", 1)),
            ("set_compatibility", ("s", "NONE")),
            ("set_compatibility", (None, "NONE")),
        ):
            assert (await reader.refused(method, *args)).numbers == (403, 40301)
        assert (await author.refused("set_compatibility", None, "NONE")).numbers == (403, 40301)
        await author.ask("set_compatibility", "s", "NONE")
        await author.ask("register_schema", "s", schema(closed(a=INTEGER)))
        await author.ask("delete_version", "s", 1)
        assert (await reader.refused("delete_version", "s", 1, permanent=True)).numbers == (403, 40301)
        assert await author.ask("delete_version", "s", 1, permanent=True) == 1


async def test_a_teams_subject_is_changed_by_its_team_and_by_operators(tmp_path: Path) -> None:
    async with confluent_world(tmp_path) as it, httpx.AsyncClient(base_url=it.url) as http:
        body = {"name": "s", "schema": closed(a=STRING), "team": "billing"}
        made = await http.post("/v1/contracts", json=body, headers={"Authorization": f"Bearer {it.key}"})
        assert made.status_code == 201, made.text
        billing = await it.client_of("local", Role.AUTHOR, team="billing")
        shipping = await it.client_of("local", Role.AUTHOR, team="shipping")
        wider = schema(closed(a={"type": ["string", "null"]}))
        for method, args in (("register_schema", ("s", wider)), ("delete_subject", ("s",))):
            assert (await shipping.refused(method, *args)).numbers == (403, 40301)
        assert await billing.ask("register_schema", "s", wider) == 2
        await it.client.ask("delete_subject", "s")
        assert (await shipping.refused("delete_subject", "s", permanent=True)).numbers == (403, 40301)
        assert await billing.ask("delete_subject", "s", permanent=True) == [1, 2]


async def test_a_tenant_sees_its_own_subjects_and_nothing_of_others(tmp_path: Path) -> None:
    async with confluent_world(tmp_path) as it, httpx.AsyncClient(base_url=it.url) as http:
        secret, shared = closed(secret=STRING), closed(shared=STRING)
        registered = await it.client.ask("register_schema_full_response", "secret", schema(secret))
        body = {"name": "shared", "schema": shared, "visibility": "shared"}
        made = await http.post("/v1/contracts", json=body, headers={"Authorization": f"Bearer {it.key}"})
        assert made.status_code == 201, made.text
        other = await it.client_of("other", Role.AUTHOR, Role.OPERATOR)
        assert await other.ask("get_subjects", deleted=True) == []
        for name in ("secret", "shared", "absent"):
            assert (await other.refused("get_latest_version", name)).numbers == (404, 40401)
            assert (await other.refused("delete_subject", name)).numbers == (404, 40401)
            assert (await other.refused("get_config", name)).numbers == (404, 40408)
            assert (await other.refused("lookup_schema", name, schema(secret))).numbers == (404, 40401)
            referring = schema(closed(x={"$ref": "x.json"}), ("x.json", name, 1))
            assert (await other.refused("register_schema", "mine", referring)).numbers == (422, 42201)
        for schema_id in (1, 2, 3):
            assert (await other.refused("get_schema", schema_id)).numbers == (404, 40403)
        assert (await other.refused("get_schema_by_guid", registered.guid)).numbers == (404, 40403)
        mine = await other.ask("register_schema_full_response", "secret", schema(secret))
        assert (mine.schema_id, mine.version) == (1, 1)
        assert mine.guid != registered.guid
        await other.ask("set_compatibility", None, "NONE")
        assert await it.client.ask("get_compatibility") == "BACKWARD"


async def test_drafts_and_contracts_of_other_kinds_are_no_versions(tmp_path: Path) -> None:
    async with confluent_world(tmp_path) as it, httpx.AsyncClient(base_url=it.url) as http:
        headers = {"Authorization": f"Bearer {it.key}"}
        draft = {"name": "draft", "schema": closed(a=STRING), "state": "draft"}
        choice = {"name": "words", "kind": "choice", "definition": ["yes", "no"]}
        for body in (draft, choice):
            made = await http.post("/v1/contracts", json=body, headers=headers)
            assert made.status_code == 201, made.text
        assert await it.client.ask("get_subjects", deleted=True) == []
        for name in ("draft", "words"):
            assert (await it.client.refused("get_latest_version", name)).numbers == (404, 40401)
        assert (await it.client.refused("get_schema", 1)).numbers == (404, 40403)
        assert (await it.client.refused("register_schema", "words", schema(STRING))).numbers == (422, 42205)
        refused = await it.client.refused("register_schema", "draft", schema(closed(a=STRING)))
        assert refused.numbers == (422, 42205)
        assert "draft" in refused.message


BODY = json.dumps({"schema": "{}", "schemaType": "JSON"})


@pytest.mark.parametrize(
    ("content", "headers", "status", "code"),
    [
        ("{", {}, 400, 400),
        ("", {}, 400, 400),
        ('{"schema": "{}", "schema": "{}"}', {}, 400, 400),
        ("[]", {}, 422, 422),
        ('{"schema": "{}", "schemaType": "JSON", "unknown": 1}', {}, 422, 422),
        (BODY, {"Content-Type": "text/plain"}, 415, 415),
        (BODY, {"Accept": "text/html"}, 406, 406),
        (json.dumps({"schema": " " * 2**21, "schemaType": "JSON"}), {}, 422, 42209),
    ],
)
async def test_bodies_that_are_not_read_are_told_why(
    tmp_path: Path, content: str, headers: dict[str, str], status: int, code: int
) -> None:
    sent = {"Content-Type": "application/vnd.schemaregistry.v1+json"} | headers
    async with confluent_world(tmp_path) as it, httpx.AsyncClient(base_url=it.url) as http:
        sent["Authorization"] = f"Bearer {it.key}"
        for path in ("/subjects/s/versions", "/subjects/s", "/compatibility/subjects/s/versions/latest"):
            answer = await http.post(path, content=content, headers=sent)
            assert (answer.status_code, answer.json()["error_code"]) == (status, code)
            assert set(answer.json()) == {"error_code", "message"}


async def test_a_path_that_the_facade_has_not_is_answered_in_its_shape(tmp_path: Path) -> None:
    async with confluent_world(tmp_path) as it, httpx.AsyncClient(base_url=it.url) as http:
        nowhere = (("GET", "/subjects/a/versions/1/tags"), ("PATCH", "/subjects/a/b/c"), ("POST", "/schemas/x"))
        for method, path in nowhere:
            answer = await http.request(method, path, headers={"Authorization": f"Bearer {it.key}"})
            assert (answer.status_code, answer.json()["error_code"]) == (404, 404)
        assert "error" in (await http.get("/nothing")).json()


async def test_who_asks_too_often_is_told_so(tmp_path: Path) -> None:
    async with confluent_world(tmp_path, requests_per_minute=2) as it:
        await it.client.ask("get_subjects")
        await it.client.ask("get_subjects")
        assert (await it.client.refused("get_subjects")).numbers == (429, 42901)


async def test_answers_have_the_media_type_that_was_asked_for(tmp_path: Path) -> None:
    async with confluent_world(tmp_path) as it:
        await it.client.ask("register_schema", "s", schema(closed(b=STRING, a=INTEGER)))
        headers = {"Authorization": f"Bearer {it.key}"}
        async with httpx.AsyncClient(base_url=it.url, headers=headers) as http:

            async def get(path: str, **more: str) -> httpx.Response:
                answer = await http.get(path, headers=more)
                assert answer.status_code == 200, answer.text
                return answer

            assert (await get("/")).json() == {}
            plain = await get("/subjects", accept="application/json")
            assert plain.headers["content-type"] == "application/json"
            assert (await get("/subjects")).headers["content-type"] == "application/vnd.schemaregistry.v1+json"
            text = '{"type":"object","properties":{"b":{"type":"string"},"a":{"type":"integer"}},'
            for path in (
                "/schemas/ids/1/schema",
                "/subjects/s/versions/latest/schema",
                "/subjects/s/versions/-1/schema",
            ):
                assert (await get(path)).text.startswith(text)
            listed: list[dict[str, Any]] = (await get("/schemas?latestOnly=true&subjectPrefix=s")).json()
            assert [(each["subject"], each["version"], each["id"]) for each in listed] == [("s", 1, 1)]
            assert (await get("/config/s?defaultToGlobal=true")).json() == {"compatibilityLevel": "BACKWARD"}
            assert (await get("/mode/s?defaultToGlobal=true")).json() == {"mode": "READWRITE"}
            assert (await get("/v1/metadata/id")).json()["scope"]["clusters"]["schema-registry-cluster"] == "schemagate"
            assert set((await get("/v1/metadata/version")).json()) == {"version", "commitId"}
            verbose = await http.post(
                "/compatibility/subjects/s/versions/latest?verbose=true",
                json={"schema": json.dumps(closed(a=INTEGER)), "schemaType": "JSON"},
            )
            assert verbose.json()["is_compatible"] is False
            assert any("A document that shows it: " in message for message in verbose.json()["messages"])


async def test_a_key_without_a_role_reads_nothing(tmp_path: Path) -> None:
    async with confluent_world(tmp_path) as it:
        nobody = await it.client_of("local")
        assert (await nobody.refused("get_subjects")).numbers == (403, 40301)


async def test_a_database_that_fails_is_said_to_fail(tmp_path: Path) -> None:
    async with confluent_world(tmp_path) as it:
        await it.client.ask("register_schema", "s", schema(STRING))
        with closing(sqlite3.connect(tmp_path / "gateway.db")) as connection:
            connection.execute("DROP TABLE hidden_revisions")
            connection.commit()
        for method, args in (
            ("get_subjects", {"deleted": True}),
            ("get_versions", {"subject_name": "s", "deleted": True}),
        ):
            assert (await it.client.refused(method, **args)).numbers == (500, 50001)


async def test_a_method_that_a_path_has_not_is_refused_in_the_clients_shape(tmp_path: Path) -> None:
    async with confluent_world(tmp_path) as it, httpx.AsyncClient(base_url=it.url) as http:
        for path in ("/subjects", "/subjects/s/versions/1", "/schemas/ids/1", "/config/s", "/mode", "/contexts"):
            for method in ("PATCH", "OPTIONS", "TRACE"):
                answer = await http.request(method, path, headers={"Authorization": f"Bearer {it.key}"})
                assert (answer.status_code, answer.json()["error_code"]) == (405, 405), (method, path)
                assert "GET" in answer.headers["allow"]
            assert (await http.head(path)).status_code == 405
