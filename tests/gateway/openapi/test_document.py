"""The description has no hole, says nothing of what is not there, and is made of valid schemas."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from jsonschema import Draft202012Validator

from gateway.app import create_app
from gateway.chat.fields import CHAT_FIELDS
from gateway.fields import FieldTable
from gateway.openapi.document import OPERATIONS, described_routes, openapi_document
from gateway.responses.fields import RESPONSES_FIELDS
from tests.gateway.twins import chat, gateway_with, strict, twin_settings


def application() -> FastAPI:
    return create_app(twin_settings(Path()))


def document() -> dict[str, Any]:
    return openapi_document(application().routes)


def test_every_route_is_described_and_nothing_else_is() -> None:
    routes = described_routes(application().routes)
    assert set(routes) == set(OPERATIONS)
    described = {(method.upper(), path) for path, methods in document()["paths"].items() for method in methods}
    assert described == set(OPERATIONS)


def test_every_operation_has_an_id_of_its_own_and_a_summary() -> None:
    operations = [each for methods in document()["paths"].values() for each in methods.values()]
    assert len({each["operationId"] for each in operations}) == len(operations)
    assert all(each["summary"].endswith((".", ":")) or "." in each["summary"] for each in operations)


def test_a_body_of_which_nothing_is_required_may_be_left_out() -> None:
    paths = document()["paths"]
    assert paths["/v1/admin/tenants/{tenant}/keys"]["post"]["requestBody"]["required"] is False
    assert paths["/v1/contracts"]["post"]["requestBody"]["required"] is True
    assert paths["/v1/chat/completions"]["post"]["requestBody"]["required"] is True


def test_every_reference_leads_somewhere() -> None:
    whole = document()
    schemas = whole["components"]["schemas"]
    references = {each.removeprefix("#/components/schemas/") for each in _references(whole)}
    assert references <= set(schemas)


def test_every_schema_is_one() -> None:
    for schema in document()["components"]["schemas"].values():
        Draft202012Validator.check_schema(schema)


@pytest.mark.parametrize(
    ("name", "table"), [("ChatCompletionRequest", CHAT_FIELDS), ("ResponseRequest", RESPONSES_FIELDS)]
)
def test_a_body_names_every_field_that_is_known_and_no_other(name: str, table: FieldTable) -> None:
    body = document()["components"]["schemas"][name]
    assert set(body["properties"]) == set(table.known)
    assert body["additionalProperties"] is False


@pytest.mark.parametrize(
    "body",
    [
        chat(),
        chat(temperature=0.5, stop=["a"], max_tokens=5, stream=False, n=1),
        chat(stop="a", messages=[{"role": "user", "content": [{"type": "text", "text": "hi"}]}]),
        chat(messages=[{"role": "user", "content": "hi"}, {"role": "assistant", "content": None}]),
        chat(top_k=-1, logit_bias={}, repetition_penalty=1, user="u"),
        chat(contract="invoice@prod"),
        chat(contract={"kind": "regex", "definition": "a+"}),
        chat(guided_choice=["a"]),
        chat(structured_outputs={"json": {"type": "object"}}),
        chat(grammar={"type": "regex", "value": "a"}),
        strict({"type": "object"}),
    ],
)
def test_a_body_that_is_taken_is_described_so(body: dict[str, Any]) -> None:
    whole = document()
    schema = {"$ref": "#/components/schemas/ChatCompletionRequest", "components": whole["components"]}
    Draft202012Validator(schema).validate(body)


@pytest.mark.parametrize("body", [chat(top_k=5), chat(tempature=1), chat(contract=5), {"model": "m"}])
def test_a_body_that_is_refused_for_its_shape_is_described_so(body: dict[str, Any]) -> None:
    whole = document()
    schema = {"$ref": "#/components/schemas/ChatCompletionRequest", "components": whole["components"]}
    assert not Draft202012Validator(schema).is_valid(body)


async def test_the_description_needs_no_key(tmp_path: Path) -> None:
    async with gateway_with(tmp_path) as world:
        response = await world.client.get("/openapi.json", headers={"Authorization": ""})
    assert (response.status_code, response.headers["content-type"]) == (200, "application/json")
    assert response.json() == document()


async def test_a_method_that_a_path_has_not_is_answered_with_those_that_it_has(tmp_path: Path) -> None:
    async with gateway_with(tmp_path) as world:
        response = await world.client.delete("/v1/contracts")
        generating = await world.client.get("/v1/chat/completions")
    assert (response.status_code, response.headers["allow"]) == (405, "GET, POST")
    assert (generating.status_code, generating.headers["allow"]) == (405, "POST")


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for member in value.values():
            yield from _references(member)
    elif isinstance(value, list):
        for member in value:
            yield from _references(member)
