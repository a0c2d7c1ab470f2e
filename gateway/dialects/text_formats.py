"""`text.format` of the Responses API: the same contracts as `response_format`, written flat."""

from collections.abc import Mapping
from typing import Final

from gateway.dialects import grammar_texts
from gateway.dialects.carried import NOTHING, Carried, structural_tag
from gateway.dialects.own import named_contract
from gateway.dialects.protocol import NamedSchema, TextFormat
from gateway.dialects.response_formats import any_json_object, checked_members, named_schema, object_at, required
from gateway.wire_faults import read_model
from registry.contract import JsonValue

PARAM: Final = "text.format"

_MEMBERS: Final[Mapping[str, tuple[str, ...]]] = {
    "text": (),
    "json_schema": ("name", "description", "schema", "strict"),
    "json_object": (),
    "contract": ("contract",),
    "structural_tag": ("format", "structures", "triggers", "at_least_one"),
    "grammar": ("grammar",),
}


def read_text_field(value: JsonValue, param: str) -> Carried:
    """The contract in `text`, whose other members are not looked at."""
    format_ = object_at(value, param).get("format")
    return NOTHING if format_ is None else _read_format(object_at(format_, PARAM))


def _read_format(value: Mapping[str, JsonValue]) -> Carried:
    sent = read_model(TextFormat, value, param=PARAM)
    members = checked_members(value, sent.type, _MEMBERS, param=PARAM)
    match sent.type:
        case "text":
            return NOTHING
        case "json_schema":
            flat = {name: member for name, member in value.items() if name != "type"}
            return named_schema(read_model(NamedSchema, flat, param=PARAM), f"{PARAM}.schema")
        case "json_object":
            return any_json_object(PARAM)
        case "contract":
            return named_contract(required(members, "contract", PARAM, sent.type), f"{PARAM}.contract")
        case "structural_tag":
            return structural_tag({"type": sent.type, **members}, param=PARAM, dialect=f"vllm.{PARAM}.structural_tag")
        case _:
            grammar = required(members, "grammar", PARAM, sent.type)
            return grammar_texts.told_by_text(grammar, param=f"{PARAM}.grammar", dialect=f"openai.{PARAM}.grammar")
