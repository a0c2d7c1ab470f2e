"""Bodies that carry a contract: an API's own wire type, the fields of every server, and those without effect."""

from collections.abc import Mapping
from typing import Any, Final

from pydantic import BaseModel

from gateway.chat.fields import CHAT_FIELDS
from gateway.chat.protocol import ChatRequest, ToolChoiceSent
from gateway.dialects.protocol import OwnContract, ResponseFormat, StructuredOutputs, TextFormat, TypedGrammar
from gateway.dialects.spoken import SPOKEN
from gateway.explain_protocol import ExplainRequest
from gateway.explain_request import EXPLAIN_FIELDS
from gateway.fields import FieldTable, Unsupported
from gateway.responses.fields import RESPONSES_FIELDS
from gateway.responses.input_protocol import (
    CustomToolCallItem,
    CustomToolCallOutputItem,
    FunctionCallItem,
    FunctionCallOutputItem,
    MessageItem,
    ReasoningItem,
)
from gateway.responses.protocol import AllowedTools, CustomToolSent, FunctionToolSent, NamedToolChoice, ResponsesRequest

BODIES: Final[Mapping[str, tuple[type[BaseModel], FieldTable]]] = {
    "ChatCompletionRequest": (ChatRequest, CHAT_FIELDS),
    "ResponseRequest": (ResponsesRequest, RESPONSES_FIELDS),
    "ExplainRequest": (ExplainRequest, EXPLAIN_FIELDS),
}
"""By the name under which the whole body is described."""

_CARRIERS: Final = (OwnContract, ResponseFormat, StructuredOutputs, TextFormat, TypedGrammar)
_ITEMS: Final = (
    *(MessageItem, FunctionCallItem, FunctionCallOutputItem, CustomToolCallItem, CustomToolCallOutputItem),
    ReasoningItem,
)
_TOOLS: Final = (FunctionToolSent, CustomToolSent)
_CHOICES: Final = (NamedToolChoice, AllowedTools)
MEMBER_MODELS: Final[tuple[type[BaseModel], ...]] = (*_CARRIERS, ToolChoiceSent, *_ITEMS, *_TOOLS, *_CHOICES)
"""What stands in fields that the wire types read in a second step."""

_Refs = Mapping[type[BaseModel], dict[str, Any]]
_MODES: Final[dict[str, Any]] = {"enum": ["none", "auto", "required"]}


def body_schema(name: str, own: Mapping[str, Any], table: FieldTable, refs: _Refs) -> Any:
    """The whole body. `own` is the wire type's schema, `refs` lead to the models of what stands in its fields."""
    properties = {**own["properties"], **_second_step(name, refs)}
    for field in sorted(table.carriers - set(properties)):
        properties[field] = _carrier(field, refs)
    for field, rule in sorted(table.unsupported.items()):
        properties.setdefault(field, _neutral(rule))
    for field, why in sorted(table.accepted.items()):
        properties.setdefault(field, {"description": f"Without effect: {why}."})
    return {**own, "properties": properties}


def _second_step(name: str, refs: _Refs) -> dict[str, Any]:
    if name == "ChatCompletionRequest":
        return {"tool_choice": {"anyOf": [_MODES, refs[ToolChoiceSent], {"type": "null"}]}}
    if name == "ResponseRequest":
        return {
            "input": {"anyOf": [{"type": "string"}, _list_of(_ITEMS, refs)]},
            "tools": {"anyOf": [_list_of(_TOOLS, refs), {"type": "null"}]},
            "tool_choice": {"anyOf": [_MODES, *(refs[each] for each in _CHOICES), {"type": "null"}]},
        }
    return {}


def _list_of(models: tuple[type[BaseModel], ...], refs: _Refs) -> dict[str, Any]:
    return {"type": "array", "items": {"anyOf": [refs[each] for each in models]}}


def _carrier(name: str, refs: _Refs) -> dict[str, Any]:
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
