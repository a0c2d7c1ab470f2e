"""Confluent's own client registers, finds, reads, lists, compares, configures and deletes."""

import asyncio
import json
from pathlib import Path

from policy.roles import Role
from registry.compatibility.comparison import Comparison
from registry.compatibility.verdicts import Unknown, UnknownReason
from registry.contract import ContractKind
from tests.gateway.confluent.clients import INTEGER, STRING, closed, confluent_world, schema


async def test_a_schema_is_registered_and_read_back_in_every_way(tmp_path: Path) -> None:
    async with confluent_world(tmp_path) as it:
        definition = closed(zebra=STRING, apple=INTEGER)
        registered = await it.client.ask("register_schema_full_response", "orders-value", schema(definition))
        assert (registered.schema_id, registered.version, registered.subject) == (1, 1, "orders-value")

        by_id = await it.client.ask("get_schema", registered.schema_id)
        assert by_id.schema_type == "JSON"
        assert json.loads(by_id.schema_str) == definition
        assert list(json.loads(by_id.schema_str)["properties"]) == ["zebra", "apple"]
        by_hint = await it.client.ask("get_schema", registered.schema_id, subject_name="orders-value")
        by_stray_hint = await it.client.ask("get_schema", registered.schema_id, subject_name="elsewhere")
        by_guid = await it.client.ask("get_schema_by_guid", registered.guid)
        assert by_hint.schema_str == by_stray_hint.schema_str == by_guid.schema_str == by_id.schema_str

        latest = await it.client.ask("get_latest_version", "orders-value")
        first = await it.client.ask("get_version", "orders-value", 1)
        named = await it.client.ask("get_version", "orders-value", "latest")
        assert latest == first == named
        assert (first.schema_id, first.version, first.subject, first.guid) == (1, 1, "orders-value", registered.guid)
        assert first.schema.schema_str == by_id.schema_str

        found = await it.client.ask("lookup_schema", "orders-value", schema(definition))
        assert (found.schema_id, found.version, found.guid) == (1, 1, registered.guid)
        assert await it.client.ask("get_subjects_by_schema_id", 1) == ["orders-value"]
        uses = await it.client.ask("get_schema_versions", 1)
        assert [(use.subject, use.version) for use in uses] == [("orders-value", 1)]


async def test_the_same_schema_has_one_id_and_one_version(tmp_path: Path) -> None:
    async with confluent_world(tmp_path) as it:
        definition = closed(a=STRING)
        first = await it.client.ask("register_schema_full_response", "one", schema(definition))
        again = await it.client.ask("register_schema_full_response", "one", schema(json.dumps(definition, indent=3)))
        other = await it.client.ask("register_schema_full_response", "two", schema(definition))
        assert (again.schema_id, again.version) == (first.schema_id, first.version)
        assert (other.schema_id, other.version, other.subject) == (first.schema_id, 1, "two")
        reordered = schema({name: definition[name] for name in reversed(definition)})
        assert (await it.client.ask("register_schema_full_response", "one", reordered)).version == 2
        meant = await it.client.ask("register_schema_full_response", "two", reordered, normalize_schemas=True)
        assert (meant.schema_id, meant.version) == (first.schema_id, 1)
        assert (await it.client.refused("lookup_schema", "two", reordered)).numbers == (404, 40403)
        found = await it.client.ask("lookup_schema", "two", reordered, normalize_schemas=True)
        assert (found.schema_id, found.version) == (first.schema_id, 1)
        assert await it.client.ask("get_subjects_by_schema_id", first.schema_id) == ["one", "two"]


async def test_lists_are_sorted_filtered_and_windowed(tmp_path: Path) -> None:
    async with confluent_world(tmp_path) as it:
        assert await it.client.ask("get_subjects") == []
        for subject in ("b", "a-value", "a-key"):
            await it.client.ask("register_schema", subject, schema(closed(a=STRING)))
        await it.client.ask("set_compatibility", "b", "NONE")
        for member in "cde":
            await it.client.ask("register_schema", "b", schema(closed(**{member: STRING})))
        assert await it.client.ask("get_subjects") == ["a-key", "a-value", "b"]
        assert await it.client.ask("get_subjects", subject_prefix="a-") == ["a-key", "a-value"]
        assert await it.client.ask("get_subjects", subject_prefix=":*:a-") == ["a-key", "a-value"]
        assert await it.client.ask("get_subjects", offset=1, limit=1) == ["a-value"]
        assert await it.client.ask("get_versions", "b") == [1, 2, 3, 4]
        assert await it.client.ask("get_versions", "b", offset=1, limit=2) == [2, 3]
        assert await it.client.ask("get_schema_types") == ["JSON"]
        assert await it.client.ask("get_contexts") == ["."]


async def test_compatibility_is_tested_by_proof(tmp_path: Path) -> None:
    async with confluent_world(tmp_path) as it:
        old = closed(a=STRING)
        wider = old | {"properties": {"a": STRING, "b": INTEGER}}
        narrower = closed(a={"type": "string", "maxLength": 3})
        await it.client.ask("register_schema", "s", schema(old))
        assert await it.client.ask("test_compatibility", "s", schema(wider)) is True
        assert await it.client.ask("test_compatibility", "s", schema(wider), version=1) is True
        assert await it.client.ask("test_compatibility", "s", schema(narrower)) is False
        assert await it.client.ask("test_compatibility", "s", schema(narrower), verbose=True) is False
        assert await it.client.ask("test_compatibility_all_versions", "s", schema(narrower)) is False
        assert await it.client.ask("test_compatibility_all_versions", "s", schema(wider), verbose=True) is True
        await it.client.ask("set_compatibility", "s", "FORWARD")
        assert await it.client.ask("test_compatibility", "s", schema(wider)) is False
        assert await it.client.ask("test_compatibility", "s", schema(narrower)) is True
        await it.client.ask("set_compatibility", "s", "NONE")
        assert await it.client.ask("test_compatibility", "s", schema({"type": "null"})) is True
        assert await it.client.ask("test_compatibility", "unknown", schema(old)) is True
        assert await it.client.ask("test_compatibility_all_versions", "unknown", schema(old)) is True
        refused = await it.client.refused("test_compatibility", "s", schema(old), version=9)
        assert refused.numbers == (404, 40402)
        unreadable = await it.client.refused("test_compatibility", "unknown", schema({"type": "strng"}))
        assert unreadable.numbers == (422, 42201)


async def test_backward_is_kept_unless_another_level_is_set(tmp_path: Path) -> None:
    async with confluent_world(tmp_path) as it:
        await it.client.ask("register_schema", "s", schema(closed(a=STRING)))
        refused = await it.client.refused("register_schema", "s", schema(closed(a=STRING, b=INTEGER)))
        assert refused.numbers == (409, 40901)
        assert "incompatible with an earlier schema" in refused.message
        assert '{"a":' in refused.message
        assert await it.client.ask("get_versions", "s") == [1]
        await it.client.ask("set_compatibility", "s", "FORWARD")
        assert await it.client.ask("register_schema", "s", schema(closed(a={"type": "string", "maxLength": 3}))) == 2


class BusyComparer:
    """Finds no process free, as a comparer that is busy does."""

    async def compare(self, old: tuple[ContractKind, str], new: tuple[ContractKind, str]) -> Comparison:
        if old == new:
            raise AssertionError("the same contract is not compared with itself")
        unknown = Unknown(reason=UnknownReason.BUSY, message="no comparing process came free")
        return Comparison(consumer_safe=unknown, producer_safe=unknown, changes=())


async def test_what_cannot_be_decided_is_not_compatible(tmp_path: Path) -> None:
    async with confluent_world(tmp_path, comparer=BusyComparer()) as it:
        await it.client.ask("register_schema", "s", schema(closed(a=STRING)))
        wider = schema(closed(a={"type": ["string", "null"]}))
        assert await it.client.ask("test_compatibility", "s", wider) is False
        assert await it.client.ask("test_compatibility_all_versions", "s", wider) is False
        refused = await it.client.refused("register_schema", "s", wider)
        assert refused.numbers == (409, 40901)
        assert "could not be decided" in refused.message
        await it.client.ask("set_compatibility", "s", "NONE")
        assert await it.client.ask("test_compatibility", "s", wider) is True


async def test_levels_are_set_read_and_cleared(tmp_path: Path) -> None:
    async with confluent_world(tmp_path) as it:
        assert await it.client.ask("get_compatibility") == "BACKWARD"
        await it.client.ask("register_schema", "s", schema(closed(a=STRING)))
        assert (await it.client.refused("get_compatibility", "s")).numbers == (404, 40408)
        assert await it.client.ask("set_compatibility", "s", "FULL_TRANSITIVE") == {"compatibility": "FULL_TRANSITIVE"}
        assert await it.client.ask("get_compatibility", "s") == "FULL_TRANSITIVE"
        assert await it.client.ask("set_compatibility", None, "FULL") == {"compatibility": "FULL"}
        assert await it.client.ask("get_compatibility") == "FULL"
        assert (await it.client.ask("get_config", "s")).compatibility_level == "FULL_TRANSITIVE"
        assert (await it.client.ask("delete_config", "s")).compatibility_level == "FULL_TRANSITIVE"
        assert (await it.client.refused("get_config", "s")).numbers == (404, 40408)
        assert (await it.client.refused("delete_config", "s")).numbers == (404, 40408)
        assert (await it.client.ask("delete_config")).compatibility_level == "FULL"
        assert await it.client.ask("get_compatibility") == "BACKWARD"
        assert (await it.client.refused("set_compatibility", "s", "SOMEWHAT")).numbers == (422, 42203)
        assert (await it.client.refused("set_compatibility", "unknown", "FULL")).numbers == (404, 40401)


async def test_there_is_one_mode(tmp_path: Path) -> None:
    async with confluent_world(tmp_path) as it:
        assert await it.client.ask("get_global_mode") == "READWRITE"
        assert await it.client.ask("update_global_mode", "READWRITE") == "READWRITE"
        assert (await it.client.refused("get_mode", "s")).numbers == (404, 40409)
        assert (await it.client.refused("delete_mode", "s")).numbers == (404, 40409)
        assert (await it.client.refused("update_mode", "s", "READONLY")).numbers == (422, 42205)
        assert (await it.client.refused("update_global_mode", "SOMETIMES")).numbers == (422, 42204)


async def test_clients_that_register_at_once_agree(tmp_path: Path) -> None:
    async with confluent_world(tmp_path) as it:
        clients = [await it.client_of("local", Role.AUTHOR) for _ in range(6)]
        same = schema(closed(a=STRING))
        answers = await asyncio.gather(
            *(client.ask("register_schema_full_response", "s", same) for client in clients),
            *(client.ask("register_schema_full_response", f"s{n}", same) for n, client in enumerate(clients)),
        )
        assert {(answer.schema_id, answer.version) for answer in answers} == {(1, 1)}
        assert await it.client.ask("get_versions", "s") == [1]


async def test_older_drafts_are_read_as_what_they_say_they_are(tmp_path: Path) -> None:
    async with confluent_world(tmp_path) as it:
        draft = {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "definitions": {"name": {"type": "string"}},
            "type": "object",
            "properties": {"pair": {"items": [{"$ref": "#/definitions/name"}], "additionalItems": False}},
        }
        schema_id = await it.client.ask("register_schema", "s", schema(draft))
        assert json.loads((await it.client.ask("get_schema", schema_id)).schema_str) == draft
        undated = {name: value for name, value in draft.items() if name != "$schema"}
        refused = await it.client.refused("register_schema", "t", schema(undated))
        assert refused.numbers == (422, 42201)
        assert "foreign_dialect_keyword" in refused.message
