"""The document, assembled: operations from tables, summaries from the routes, shapes from the wire types."""

import re
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from importlib.metadata import version
from typing import Any, Final, Literal

from fastapi.routing import APIRoute
from pydantic import BaseModel, TypeAdapter
from pydantic.json_schema import JsonSchemaValue

from gateway.confluent.metadata import refuse_path
from gateway.confluent.protocol import ErrorAnswer
from gateway.openapi.administration import ADMINISTRATION, SERVICE
from gateway.openapi.bodies import BODIES, MEMBER_MODELS, body_schema
from gateway.openapi.confluent import CONFLUENT_PART
from gateway.openapi.contracts import CONTRACTS, GOVERNANCE
from gateway.openapi.generation import GENERATION
from gateway.openapi.operation import CONFLUENT, EVENT_STREAM, JSON, Answer, Operation, Part
from gateway.openapi.parameters import ANSWER_HEADERS, CONFLUENT_QUERY, HEADERS, PATH, QUERY, STATES
from gateway.openapi.protocol import Error
from gateway.route_table import flat_routes

PARTS: Final[tuple[Part, ...]] = (GENERATION, CONTRACTS, GOVERNANCE, ADMINISTRATION, SERVICE, CONFLUENT_PART)
OPERATIONS: Final[Mapping[tuple[str, str], Operation]] = {
    place: operation for part in PARTS for place, operation in part.operations.items()
}
"""Every operation, by method and path."""

_REF: Final = "#/components/schemas/{model}"
_CONVERTER: Final = re.compile(r"\{(\w+):\w+\}")
_NOT_WORD: Final = re.compile(r"[^A-Za-z0-9]+")
_PLACE: Final = re.compile(r"\{(\w+)\}")
_EVENT: Final[dict[str, Any]] = {
    "type": "object",
    "description": "One event, with `stream: true`. `data` is JSON, and in the end `[DONE]`; exactly one is terminal.",
    "properties": {"event": {"type": "string"}, "data": {"type": "string"}},
    "required": ["data"],
}
_Mode = Literal["validation", "serialization"]


def described_routes(routes: Iterable[object]) -> dict[tuple[str, str], APIRoute]:
    """The routes of an application that answer something, by method and path as the description writes it."""
    return {
        (method, _written(route.path)): route
        for route in flat_routes(routes)
        if route.endpoint is not refuse_path
        for method in sorted(route.methods or ())
    }


def _written(path: str) -> str:
    # A reference stands where a name does, and OpenAPI has one name for one place.
    return _CONVERTER.sub(r"{\1}", path).replace("{reference}", "{name}")


def openapi_document(routes: Iterable[object]) -> dict[str, Any]:
    """The description of those routes that have an operation; a test finds one that has none."""
    shapes = _Shapes()
    paths: dict[str, dict[str, Any]] = {}
    for (method, path), route in described_routes(routes).items():
        operation = OPERATIONS.get((method, path))
        if operation is not None:
            paths.setdefault(path, {})[method.lower()] = _operation(method, path, route, operation, shapes)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Schemagate",
            "version": version("schemagate"),
            "description": "A schema gateway for LLM inference: a contract is enforced, or refused by name.",
        },
        "servers": [{"url": "/"}],
        "tags": [{"name": part.tag, "description": part.description} for part in PARTS],
        "security": [{"key": []}],
        "paths": paths,
        "components": {
            "schemas": shapes.components,
            "securitySchemes": {
                "key": {"type": "http", "scheme": "bearer", "description": "`Authorization: Bearer sg_…`"},
                "basic": {"type": "http", "scheme": "basic", "description": "A key's id and secret, as user and word."},
            },
        },
    }


class _Shapes:
    """Schemas of all types that any operation names, with one definition of each."""

    def __init__(self) -> None:
        wanted: list[tuple[str, _Mode, TypeAdapter[Any]]] = [
            ("Error", "serialization", TypeAdapter(Error)),
            ("ConfluentError", "serialization", TypeAdapter(ErrorAnswer)),
        ]
        for operation in OPERATIONS.values():
            wanted += [
                (_key(answer.shape), "serialization", _adapter(answer.shape))
                for answer in operation.answers.values()
                if answer.shape is not None
            ]
            if isinstance(operation.body, type):
                wanted.append((_key(operation.body), "validation", _adapter(operation.body)))
        models = (*MEMBER_MODELS, *(model for model, _ in BODIES.values()))
        wanted += [(_key(model), "validation", _adapter(model)) for model in models]
        unique = {(key, mode): adapter for key, mode, adapter in wanted}
        self._schemas, definitions = TypeAdapter.json_schemas(
            [(key, mode, adapter) for (key, mode), adapter in unique.items()], ref_template=_REF
        )
        self.components: dict[str, Any] = dict(definitions.get("$defs", {}))
        for name, (model, table) in BODIES.items():
            own = self._resolved(self.of(model, "validation"))
            refs: dict[type[BaseModel], dict[str, Any]] = {each: self.of(each, "validation") for each in MEMBER_MODELS}
            self.components[name] = body_schema(name, own, table, refs)

    def of(self, shape: Any, mode: _Mode) -> JsonSchemaValue:
        """The schema of a type, or the reference to a body that is put together."""
        if isinstance(shape, str) and shape in BODIES:
            return {"$ref": _REF.format(model=shape)}
        return self._schemas[(shape if isinstance(shape, str) else _key(shape), mode)]

    def _resolved(self, schema: JsonSchemaValue) -> Mapping[str, Any]:
        name = str(schema.get("$ref", "")).rpartition("/")[2]
        found: Mapping[str, Any] = self.components[name] if name else schema
        return found


def _adapter(shape: Any) -> TypeAdapter[Any]:
    return TypeAdapter(shape)


def _key(shape: Any) -> str:
    return f"{shape.__module__}.{shape.__qualname__}" if isinstance(shape, type) else str(shape)


def _operation(method: str, path: str, route: APIRoute, operation: Operation, shapes: _Shapes) -> dict[str, Any]:
    summary = (route.endpoint.__doc__ or "").strip().partition("\n")[0]
    described: dict[str, Any] = {
        "operationId": f"{method.lower()}{_NOT_WORD.sub('_', path)}".rstrip("_"),
        "summary": summary,
        "tags": [operation.tag],
        "parameters": [*_path_parameters(path), *_query_parameters(operation, path), *_header_parameters(operation)],
        "responses": {
            **{str(status): _answer(status, answer, shapes) for status, answer in operation.answers.items()},
            **{
                str(status): _fault(status, operation.fault_shape, shapes)
                for status in sorted(operation.faults - set(operation.answers))
            },
        },
    }
    if operation.body is not None:
        schema = shapes.of(operation.body, "validation")
        described["requestBody"] = {"required": _is_body_required(operation), "content": {JSON: {"schema": schema}}}
    if operation.is_open:
        described["security"] = []
    elif operation.fault_shape == "ConfluentError":
        described["security"] = [{"key": []}, {"basic": []}]
    return described


def _is_body_required(operation: Operation) -> bool:
    """An empty body of the contract API is an empty object, which some bodies may be."""
    body = operation.body
    if isinstance(body, type) and issubclass(body, BaseModel):
        return operation.is_body_required and any(field.is_required() for field in body.model_fields.values())
    return operation.is_body_required


def _answer(status: int, answer: Answer, shapes: _Shapes) -> dict[str, Any]:
    told: dict[str, Any] = {"description": HTTPStatus(status).phrase, "headers": _headers(answer.headers)}
    if answer.media_types:
        told["content"] = {
            media_type: {"schema": _content(media_type, answer, shapes)} for media_type in answer.media_types
        }
    return told


def _content(media_type: str, answer: Answer, shapes: _Shapes) -> dict[str, Any]:
    if media_type == EVENT_STREAM:
        return _EVENT
    if answer.shape is None or not media_type.endswith("json"):
        return {"type": "string"}
    return shapes.of(answer.shape, "serialization")


def _fault(status: int, shape: str, shapes: _Shapes) -> dict[str, Any]:
    schema = shapes.of(shape, "serialization")
    media_types = (CONFLUENT, JSON) if shape == "ConfluentError" else (JSON,)
    return {
        "description": HTTPStatus(status).phrase,
        "headers": _headers(()),
        "content": {media_type: {"schema": schema} for media_type in media_types},
    }


def _headers(names: tuple[str, ...]) -> dict[str, Any]:
    return {name: {"schema": ANSWER_HEADERS[name]} for name in (*names, "x-request-id")}


def _path_parameters(path: str) -> list[dict[str, Any]]:
    return [
        {"name": name, "in": "path", "required": True, "schema": PATH.get(name, {"type": "string", "minLength": 1})}
        for name in _PLACE.findall(path)
    ]


def _query_parameters(operation: Operation, path: str) -> list[dict[str, Any]]:
    own = {**QUERY, "state": STATES.get(path.rpartition("/")[2], {})}
    known = CONFLUENT_QUERY if operation.fault_shape == "ConfluentError" else own
    return [{"name": name, "in": "query", "schema": known[name]} for name in operation.query]


def _header_parameters(operation: Operation) -> list[dict[str, Any]]:
    return [{"name": name, "in": "header", "schema": HEADERS[name]} for name in operation.headers]
