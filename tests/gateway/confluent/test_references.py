"""References between subjects: named in the text, pinned at registration, resolved by the stock serializers."""

import json
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.serialization import MessageField, SerializationContext, SerializationError

from tests.gateway.confluent.clients import INTEGER, STRING, closed, confluent_world, schema


async def test_references_are_pinned_and_given_back(tmp_path: Path) -> None:
    async with confluent_world(tmp_path) as it:
        await it.client.ask("register_schema", "street", schema(STRING))
        order = closed(street={"$ref": "street.json"}, number=INTEGER)
        await it.client.ask("register_schema", "order", schema(order, ("street.json", "street", 1)))
        await it.client.ask("set_compatibility", "street", "NONE")
        await it.client.ask("register_schema", "street", schema(INTEGER))
        registered = await it.client.ask("get_latest_version", "order")
        (reference,) = registered.schema.references
        assert (reference.name, reference.subject, reference.version) == ("street.json", "street", 1)
        words = schema(closed(street=STRING, number=INTEGER))
        assert await it.client.ask("test_compatibility", "order", words) is True
        moved = schema(order, ("street.json", "street", 2))
        assert await it.client.ask("test_compatibility", "order", moved) is False
        assert (await it.client.refused("register_schema", "order", moved)).numbers == (409, 40901)


async def test_one_text_with_other_references_is_another_schema(tmp_path: Path) -> None:
    async with confluent_world(tmp_path) as it:
        await it.client.ask("set_compatibility", None, "NONE")
        for definition in (STRING, INTEGER):
            await it.client.ask("register_schema", "base", schema(definition))
        text = closed(base={"$ref": "base.json"})
        ids = [
            await it.client.ask("register_schema", "user", schema(text, ("base.json", "base", version)))
            for version in (1, 2, 1)
        ]
        assert ids[0] == ids[2] != ids[1]
        assert await it.client.ask("get_versions", "user") == [1, 2]
        found = await it.client.ask("lookup_schema", "user", schema(text, ("base.json", "base", 2)))
        assert (found.version, found.schema_id) == (2, ids[1])


async def test_references_of_references_come_along(tmp_path: Path) -> None:
    async with confluent_world(tmp_path) as it:
        await it.client.ask("register_schema", "leaf", schema({"type": "string", "maxLength": 2}))
        twig = schema(closed(leaf={"$ref": "leaf.json"}), ("leaf.json", "leaf", 1))
        await it.client.ask("register_schema", "twig", twig)
        tree = schema(closed(twig={"$ref": "twig.json"}), ("twig.json", "twig", -1))
        schema_id = await it.client.ask("register_schema", "tree", tree)
        found = await it.client.ask("get_schema", schema_id)
        assert {(each.name, each.subject, each.version) for each in found.references} == {
            ("leaf.json", "leaf", 1),
            ("twig.json", "twig", 1),
        }
        loose = closed(twig=closed(leaf=STRING))
        assert await it.client.ask("test_compatibility", "tree", schema(loose)) is True
        tight = closed(twig=closed(leaf={"type": "string", "maxLength": 1}))
        assert await it.client.ask("test_compatibility", "tree", schema(tight)) is False


async def test_names_are_resolved_against_the_schemas_own_identifier(tmp_path: Path) -> None:
    async with confluent_world(tmp_path) as it:
        await it.client.ask("register_schema", "street", schema(STRING))
        order = {"$id": "https://example.com/orders/order.json"} | closed(street={"$ref": "../street.json"})
        await it.client.ask("register_schema", "order", schema(order, ("../street.json", "street", 1)))
        (reference,) = (await it.client.ask("get_latest_version", "order")).schema.references
        assert reference.name == "https://example.com/street.json"


@pytest.mark.parametrize(
    ("reference", "status"),
    [
        (("street.json", "nothing", 1), (422, 42201)),
        (("street.json", "street", 7), (422, 42201)),
        (("street.json", "not/a/subject", 1), (422, 42201)),
        (("street.json#/x", "street", 1), (422, 42201)),
        (("schemagate:street@1", "street", 1), (422, 42201)),
        (("other.json", "street", 1), (422, 42201)),
        (("street.json", "street", 0), (422, 42202)),
    ],
)
async def test_references_that_lead_nowhere_are_refused(
    tmp_path: Path, reference: tuple[str, str, int], status: tuple[int, int]
) -> None:
    async with confluent_world(tmp_path) as it:
        await it.client.ask("register_schema", "street", schema(STRING))
        referring = schema(closed(street={"$ref": "street.json"}), reference)
        assert (await it.client.refused("register_schema", "order", referring)).numbers == status
        assert await it.client.ask("get_subjects") == ["street"]


async def test_the_stock_serializers_write_and_read(tmp_path: Path) -> None:
    async with confluent_world(tmp_path) as it:
        text = json.dumps({"$schema": "https://json-schema.org/draft/2020-12/schema"} | closed(a=STRING, n=INTEGER))
        context = SerializationContext("orders", MessageField.VALUE)
        serializer: Any = await it.client.call(JSONSerializer, text, it.client.sync)
        message = await it.client.call(serializer, {"a": "x", "n": 3}, context)
        assert await it.client.ask("get_subjects") == ["orders-value"]
        deserializer: Any = JSONDeserializer(None, schema_registry_client=it.client.sync)
        assert await it.client.call(deserializer, message, context) == {"a": "x", "n": 3}
        with pytest.raises(SerializationError):
            await it.client.call(serializer, {"a": "x", "n": "three"}, context)


async def test_the_stock_serializers_follow_references(tmp_path: Path) -> None:
    async with confluent_world(tmp_path) as it:
        dialect = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
        await it.client.ask("register_schema", "street", schema(dialect | {"type": "string", "maxLength": 3}))
        order = schema(dialect | closed(street={"$ref": "street.json"}), ("street.json", "street", 1))
        serializer: Any = await it.client.call(JSONSerializer, order, it.client.sync)
        context = SerializationContext("orders", MessageField.VALUE)
        message = await it.client.call(serializer, {"street": "abc"}, context)
        deserializer: Any = JSONDeserializer(None, schema_registry_client=it.client.sync)
        assert await it.client.call(deserializer, message, context) == {"street": "abc"}
        with pytest.raises(SerializationError):
            await it.client.call(serializer, {"street": "abcd"}, context)
