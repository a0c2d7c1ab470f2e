"""Deleting: soft, then for good, with nothing ever destroyed and no number given out twice."""

import uuid
from pathlib import Path

import httpx

from tests.gateway.confluent.clients import INTEGER, STRING, closed, confluent_world, schema


async def test_a_deleted_version_is_gone_from_the_lists_and_stays_readable_by_id(tmp_path: Path) -> None:
    async with confluent_world(tmp_path) as it:
        await it.client.ask("set_compatibility", None, "NONE")
        for member in "abc":
            await it.client.ask("register_schema", "s", schema(closed(**{member: STRING})))
        assert (await it.client.refused("delete_version", "s", 2, permanent=True)).numbers == (404, 40407)
        assert await it.client.ask("delete_version", "s", 2) == 2
        assert (await it.client.refused("delete_version", "s", 2)).numbers == (404, 40406)
        assert (await it.client.refused("get_version", "s", 2)).numbers == (404, 40402)
        assert (await it.client.ask("get_version", "s", 2, deleted=True)).version == 2
        assert (await it.client.ask("get_schema", 2)).schema_type == "JSON"
        assert await it.client.ask("get_versions", "s") == [1, 3]
        assert await it.client.ask("get_versions", "s", deleted=True) == [1, 2, 3]
        assert await it.client.ask("get_versions", "s", deleted_only=True) == [2]
        assert await it.client.ask("get_subjects_by_schema_id", 2) == []
        assert await it.client.ask("get_subjects_by_schema_id", 2, deleted=True) == ["s"]
        assert (await it.client.refused("lookup_schema", "s", schema(closed(b=STRING)))).numbers == (404, 40403)
        found = await it.client.ask("lookup_schema", "s", schema(closed(b=STRING)), deleted=True)
        assert (found.version, found.schema_id) == (2, 2)

        assert await it.client.ask("delete_version", "s", 2, permanent=True) == 2
        assert await it.client.ask("get_versions", "s", deleted=True) == [1, 3]
        assert (await it.client.refused("get_version", "s", 2, deleted=True)).numbers == (404, 40402)
        assert (await it.client.refused("get_schema", 2)).numbers == (404, 40403)
        assert (await it.client.refused("delete_version", "s", 2, permanent=True)).numbers == (404, 40402)
        assert (await it.client.refused("delete_version", "s", 9)).numbers == (404, 40402)
        assert (await it.client.refused("delete_version", "nothing", 1)).numbers == (404, 40401)
        assert (await it.client.refused("delete_version", "s", "first")).numbers == (422, 42202)
        assert await it.client.ask("delete_version", "s", "latest") == 3
        assert (await it.client.ask("get_latest_version", "s")).version == 1


async def test_a_guid_finds_what_an_id_finds(tmp_path: Path) -> None:
    async with confluent_world(tmp_path) as it, httpx.AsyncClient(base_url=it.url) as http:
        made = await it.client.ask("register_schema_full_response", "s", schema(closed(a=STRING)))
        await it.client.ask("delete_version", "s", 1)
        assert (await it.client.ask("get_schema_by_guid", made.guid)).schema_type == "JSON"
        await it.client.ask("delete_version", "s", 1, permanent=True)
        assert (await it.client.refused("get_schema", 1)).numbers == (404, 40403)
        assert (await it.client.refused("get_schema_by_guid", made.guid)).numbers == (404, 40403)
        body = {"name": "d", "schema": STRING, "state": "draft"}
        draft = await http.post("/v1/contracts", json=body, headers={"Authorization": f"Bearer {it.key}"})
        guid = str(uuid.UUID(draft.json()["revision"]["id"].removeprefix("rev_")))
        assert (await it.client.refused("get_schema_by_guid", guid)).numbers == (404, 40403)


async def test_a_deleted_subject_comes_back_under_the_next_number(tmp_path: Path) -> None:
    async with confluent_world(tmp_path) as it:
        first = await it.client.ask("register_schema", "s", schema(closed(a=STRING)))
        await it.client.ask("register_schema", "s", schema(closed(a={"type": ["string", "null"]})))
        assert (await it.client.refused("delete_subject", "s", permanent=True)).numbers == (404, 40405)
        assert await it.client.ask("delete_subject", "s") == [1, 2]
        assert (await it.client.refused("delete_subject", "s")).numbers == (404, 40404)
        assert await it.client.ask("get_subjects") == []
        assert await it.client.ask("get_subjects", deleted=True) == ["s"]
        assert await it.client.ask("get_subjects", deleted_only=True) == ["s"]
        for method, args in (("get_versions", ()), ("get_latest_version", ()), ("get_version", (1,))):
            assert (await it.client.refused(method, "s", *args)).numbers == (404, 40401)
        assert (await it.client.refused("lookup_schema", "s", schema(closed(a=STRING)))).numbers == (404, 40401)

        # Nothing is left to be compatible with, and the same text still is the same id.
        again = await it.client.ask("register_schema_full_response", "s", schema(closed(b=INTEGER)))
        assert again.version == 3
        back = await it.client.ask("register_schema_full_response", "t", schema(closed(a=STRING)))
        assert (back.schema_id, back.version) == (first, 1)
        assert await it.client.ask("get_versions", "s") == [3]
        assert await it.client.ask("get_versions", "s", deleted=True) == [1, 2, 3]

        await it.client.ask("delete_subject", "s")
        assert await it.client.ask("delete_subject", "s", permanent=True) == [1, 2, 3]
        assert await it.client.ask("get_subjects", deleted=True) == ["t"]
        assert (await it.client.refused("delete_subject", "s", permanent=True)).numbers == (404, 40401)
        assert (await it.client.ask("register_schema_full_response", "s", schema(closed(a=STRING)))).version == 4


async def test_a_subject_whose_versions_were_deleted_one_by_one_is_a_deleted_subject(tmp_path: Path) -> None:
    async with confluent_world(tmp_path) as it:
        await it.client.ask("register_schema", "s", schema(closed(a=STRING)))
        await it.client.ask("delete_version", "s", 1)
        assert await it.client.ask("get_subjects") == []
        assert await it.client.ask("get_subjects", deleted_only=True) == ["s"]
        assert (await it.client.refused("delete_subject", "s")).numbers == (404, 40404)
        again = await it.client.ask("register_schema_full_response", "s", schema(closed(a=STRING)))
        assert (again.schema_id, again.version) == (1, 2)


async def test_what_others_refer_to_is_not_deleted(tmp_path: Path) -> None:
    async with confluent_world(tmp_path) as it:
        await it.client.ask("register_schema", "street", schema(STRING))
        referring = schema(closed(street={"$ref": "street.json"}), ("street.json", "street", 1))
        schema_id = await it.client.ask("register_schema", "address", referring)
        assert await it.client.ask("get_referenced_by", "street", 1) == [schema_id]
        assert (await it.client.refused("delete_version", "street", 1)).numbers == (422, 42206)
        assert (await it.client.refused("delete_subject", "street")).numbers == (422, 42206)
        await it.client.ask("delete_subject", "address")
        assert await it.client.ask("get_referenced_by", "street", 1) == []
        assert await it.client.ask("delete_subject", "street") == [1]
