"""Bodies that carry a contract: an API's own wire type, the fields of every server, and those without effect."""

from collections.abc import Mapping
from typing import Any, Final

from pydantic import BaseModel

from gateway.chat.fields import CHAT_FIELDS
from gateway.chat.protocol import ChatRequest
from gateway.dialects.protocol import OwnContract, ResponseFormat, StructuredOutputs, TextFormat, TypedGrammar
from gateway.dialects.spoken import SPOKEN
from gateway.explain_protocol import ExplainRequest
from gateway.explain_request import EXPLAIN_FIELDS
from gateway.fields import FieldTable, Unsupported
from gateway.responses.fields import RESPONSES_FIELDS
from gateway.responses.protocol import ResponsesRequest

BODIES: Final[Mapping[str, tuple[type[BaseModel], FieldTable]]] = {
    "ChatCompletionRequest": (ChatRequest, CHAT_FIELDS),
    "ResponseRequest": (ResponsesRequest, RESPONSES_FIELDS),
    "ExplainRequest": (ExplainRequest, EXPLAIN_FIELDS),
}
"""By the name under which the whole body is described."""

CARRIER_MODELS: Final = (OwnContract, ResponseFormat, StructuredOutputs, TextFormat, TypedGrammar)


def body_schema(own: Mapping[str, Any], table: FieldTable, refs: Mapping[type[BaseModel], dict[str, Any]]) -> Any:
    """The whole body. `own` is the wire type's schema, `refs` lead to the models of the fields that carry contracts."""
    properties = dict(own["properties"])
    for name in sorted(table.carriers - set(properties)):
        properties[name] = _carrier(name, refs)
    for name, rule in sorted(table.unsupported.items()):
        properties.setdefault(name, _neutral(rule))
    for name, why in sorted(table.accepted.items()):
        properties.setdefault(name, {"description": f"Without effect: {why}."})
    return {**own, "properties": properties}


def _carrier(name: str, refs: Mapping[type[BaseModel], dict[str, Any]]) -> dict[str, Any]:
    text, listed, obj = {"type": "string"}, {"type": "array", "items": {"type": "string"}}, {"type": "object"}
    shapes: Mapping[str, list[dict[str, Any]]] = {
        "contract": [text, refs[OwnContract]],
        "response_format": [refs[ResponseFormat]],
        "text": [{"type": "object", "properties": {"format": {"anyOf": [refs[TextFormat], {"type": "null"}]}}}],
        "structured_outputs": [refs[StructuredOutputs]],
        "guided_json": [text, obj],
        "guided_choice": [listed],
        "json_schema": [text, obj],
        "structural_tag": [text, obj],
        "grammar": [text, refs[TypedGrammar]],
        "parameters": [{"type": "object", "properties": {"grammar": {"anyOf": [text, refs[TypedGrammar]]}}}],
    }
    said = [each for each in SPOKEN if each.field.partition(".")[0] == name]
    servers = ", ".join(dict.fromkeys(each.server for each in said))
    return {
        "anyOf": [*shapes.get(name, [text]), {"type": "null"}],
        "description": f"A contract, in the words of: {servers}. At most one field of a body carries one.",
    }


def _neutral(rule: Unsupported) -> dict[str, Any]:
    return {"enum": [None, *rule.neutral], "description": f"Not served: {rule.instead}."}
