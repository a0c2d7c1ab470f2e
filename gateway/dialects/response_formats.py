"""`response_format`: OpenAI's types, ours, and what vLLM, SGLang, llama.cpp, TGI and TensorRT-LLM add to them."""

from collections.abc import Mapping
from typing import Any, Final

from gateway.dialects import grammar_texts
from gateway.dialects.carried import (
    NOTHING,
    Carried,
    any_object,
    only_one,
    present,
    regex,
    schema,
    structural_tag,
)
from gateway.dialects.own import named_contract
from gateway.dialects.protocol import NamedSchema, ResponseFormat, TypedGrammarSchema
from gateway.errors import InvalidRequestError, RequestFault
from gateway.intent import InlineContract
from gateway.wire_faults import read_model
from registry.contract import ContractKind, JsonValue

_TAG_MEMBERS: Final = ("format", "structures", "triggers", "at_least_one")

_MEMBERS: Final[Mapping[str, tuple[str, ...]]] = {
    "text": (),
    "json_schema": ("json_schema", "schema", "value"),
    "json_object": ("schema", "value"),
    "contract": ("contract",),
    "structural_tag": _TAG_MEMBERS,
    "grammar": ("grammar",),
    "regex": ("regex", "value"),
    "ebnf": ("ebnf",),
    "json": ("schema", "value"),
}
"""The members that go with each type."""

_SERVED: Final = ", ".join(f"`{name}`" for name in _MEMBERS)


def read_response_format(value: JsonValue, param: str) -> Carried:
    """The contract that a `response_format` is."""
    sent = read_model(ResponseFormat, object_at(value, param), param=param)
    members = checked_members(object_at(value, param), sent.type, _MEMBERS, param=param)
    match sent.type:
        case "text":
            return NOTHING
        case "json_schema":
            return _json_schema(sent.json_schema, members, param)
        case "contract":
            return named_contract(required(members, "contract", param, sent.type), f"{param}.contract")
        case "structural_tag":
            tag: dict[str, JsonValue] = {"type": sent.type, **members}
            return structural_tag(tag, param=param, dialect=f"vllm.{param}.structural_tag")
        case "grammar":
            grammar = required(members, "grammar", param, sent.type)
            return grammar_texts.told_by_text(grammar, param=f"{param}.grammar", dialect=f"openai.{param}.grammar")
        case "regex":
            name = _one_of(members, ("regex", "value"), param, sent.type)
            server = "tgi" if name == "value" else "tensorrt_llm"
            return regex(members[name], param=f"{param}.{name}", dialect=f"{server}.{param}.regex")
        case "ebnf":
            ebnf = required(members, "ebnf", param, sent.type)
            return grammar_texts.gbnf(ebnf, param=f"{param}.ebnf", dialect=f"tensorrt_llm.{param}.ebnf")
        case "json_object" | "json" if members:
            return _schema_beside_type(members, param, sent.type)
        case "json_object":
            return any_json_object(param)
        case _:
            return any_object(param=param, dialect=f"tensorrt_llm.{param}.json")


def named_schema(sent: NamedSchema, param: str) -> Carried:
    """OpenAI's JSON Schema, in the words of this API."""
    contract = InlineContract(kind=ContractKind.JSON_SCHEMA, schema=sent.schema_, strict=bool(sent.strict), param=param)
    return Carried(contract=contract, strict=sent.strict)


def checked_members(
    value: Mapping[str, JsonValue], kind: str, known: Mapping[str, tuple[str, ...]], *, param: str
) -> dict[str, JsonValue]:
    """The members that say something beside the type, all of which go with it.

    Raises:
        InvalidRequestError: there is no such type, or it is not served; or a member belongs to another type.
    """
    if kind not in known:
        raise _unknown_type(kind, param)
    members = present({name: member for name, member in value.items() if name != "type"})
    for name in members:
        if name not in known[kind]:
            owners = " or ".join(f"`{each}`" for each, names in known.items() if name in names)
            message = f"`{param}.{name}` needs type {owners}, not `{kind}`"
            raise InvalidRequestError(RequestFault.CONFLICTING_PARAMETERS, message, param=f"{param}.{name}")
    return members


def _json_schema(sent: NamedSchema | None, members: Mapping[str, JsonValue], param: str) -> Carried:
    if len(members) > 1:
        raise only_one([f"{param}.{name}" for name in members])
    if sent is not None:
        return named_schema(sent, f"{param}.json_schema.schema")
    if "value" in members:
        place = f"{param}.value"
        named = read_model(TypedGrammarSchema, object_at(members["value"], place), param=place)
        return schema(named.schema_, param=f"{place}.schema", dialect=f"tgi.{param}.json_schema")
    if "schema" in members:
        return schema(members["schema"], param=f"{param}.schema", dialect=f"llama_cpp.{param}.schema")
    raise _missing("json_schema", param, "json_schema")


def _schema_beside_type(members: Mapping[str, JsonValue], param: str, kind: str) -> Carried:
    name = _one_of(members, ("schema", "value"), param, kind)
    server = "tgi" if name == "value" else "llama_cpp" if kind == "json_object" else "tensorrt_llm"
    return schema(members[name], param=f"{param}.{name}", dialect=f"{server}.{param}.{name}")


def any_json_object(param: str) -> Carried:
    # OpenAI's own type: it says nothing of strictness, and there is nothing in it that could be left for later.
    contract = InlineContract(kind=ContractKind.JSON_SCHEMA, schema={"type": "object"}, strict=False, param=param)
    return Carried(contract=contract)


def _unknown_type(kind: str, param: str) -> InvalidRequestError:
    place = f"{param}.type"
    if kind == "python":
        message = f"contracts of type `{kind}` are not served; types are {_SERVED}"
        return InvalidRequestError(RequestFault.UNSUPPORTED_KIND, message, param=place)
    if kind in {each.value for each in ContractKind}:
        message = (
            f'`{kind}` is no type of `{param}`; send `contract: {{"kind": "{kind}", "definition": …}}` in its place'
        )
        return InvalidRequestError(RequestFault.UNSUPPORTED_KIND, message, param=place)
    message = f"`{place}` is refused: types are {_SERVED}"
    return InvalidRequestError(RequestFault.INVALID_VALUE, message, param=place)


def object_at(value: Any, param: str) -> Mapping[str, JsonValue]:
    if not isinstance(value, dict):
        message = f"`{param}` is refused: it should be an object"
        raise InvalidRequestError(RequestFault.INVALID_TYPE, message, param=param)
    return value


def required(members: Mapping[str, JsonValue], name: str, param: str, kind: str) -> JsonValue:
    if name not in members:
        raise _missing(name, param, kind)
    return members[name]


def _one_of(members: Mapping[str, JsonValue], names: tuple[str, ...], param: str, kind: str) -> str:
    sent = [name for name in names if name in members]
    if not sent:
        message = (
            f"type `{kind}` needs a text: send `{param}.{names[0]}`, or "
            f'`contract: {{"kind": "{kind}", "definition": …}}` in its place'
        )
        raise InvalidRequestError(RequestFault.MISSING_PARAMETER, message, param=f"{param}.{names[0]}")
    if len(sent) > 1:
        raise only_one([f"{param}.{name}" for name in sent])
    return sent[0]


def _missing(name: str, param: str, kind: str) -> InvalidRequestError:
    message = f"`{param}.{name}` is required with type `{kind}`"
    return InvalidRequestError(RequestFault.MISSING_PARAMETER, message, param=f"{param}.{name}")
