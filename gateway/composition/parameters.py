"""A function's schema taken apart into its parameters, for dialects in which arguments stand one by one."""

from collections.abc import Mapping
from dataclasses import dataclass

from gateway.errors import ContractRefusedError
from policy.rejection import Rejection, RejectionCode
from registry.contract import CanonicalContract, JsonValue
from registry.pointers import join

_TAKEN = frozenset({"$schema", "$defs", "type", "properties", "required", "additionalProperties"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """`schema` stands at `pointer` of the function's, and can stand alone: it has the definitions that it needs.

    `texts` are the only texts of a string that is one of a few; None: any text. Where `is_text` is false the value is
    JSON under the schema, and `texts` says nothing.
    """

    name: str
    schema: JsonValue
    pointer: str
    is_required: bool
    is_text: bool
    texts: tuple[str, ...] | None = None


def parameters_of(contract: CanonicalContract, *, end: str, dialect: str, param: str) -> tuple[Parameter, ...]:
    """In the order in which they are declared; `end` is the marker after a value, which no text as it stands may hold.

    Undeclared parameters are never written, whatever the schema says of them.

    Raises:
        ContractRefusedError: the schema says more of the object than which members it has.
    """
    root = contract.schema
    definitions = _members(root).get("$defs", {})
    pointer = ""
    while set(_members(root)) - {"$defs", "$schema"} == {"$ref"}:
        pointer = str(_members(root)["$ref"]).removeprefix("#")
        root = _members(definitions).get(pointer.removeprefix("/$defs/"))
    members = _members(root)
    beyond = sorted(set(members) - _TAKEN)
    if beyond:
        raise _refused(contract, f"{pointer}/{beyond[0]}", beyond[0], dialect, param)
    declared, required = _members(members.get("properties", {})), members.get("required", [])
    assert isinstance(required, list)
    others = members.get("additionalProperties", True)
    schemas = {**declared, **{str(name): others for name in required if name not in declared}}
    found: list[Parameter] = []
    for name, schema in schemas.items():
        at = join(f"{pointer}/properties", name) if name in declared else f"{pointer}/additionalProperties"
        if schema is False and name not in required:
            continue
        if any(character in name for character in '"<>\n'):
            raise _refused(contract, at, "properties", dialect, param)
        is_text, texts = _as_text(schema, end)
        found.append(
            Parameter(
                name=name,
                schema=_alone(schema, definitions),
                pointer=at,
                is_required=name in required,
                is_text=is_text,
                texts=texts,
            )
        )
    return tuple(found)


def _as_text(schema: JsonValue, end: str) -> tuple[bool, tuple[str, ...] | None]:
    """Whether a value can be written without quotes, and which texts it may be."""
    if schema == {"type": "string"}:
        return True, None
    members = _members(schema)
    listed = [members["const"]] if "const" in members else members.get("enum")
    if set(members) - {"type"} not in ({"const"}, {"enum"}) or not isinstance(listed, list):
        return False, None
    texts = tuple(text for text in listed if isinstance(text, str) and end not in f"{text}{end[:-1]}")
    return (True, texts) if texts and len(texts) == len(listed) else (False, None)


def _alone(schema: JsonValue, definitions: JsonValue) -> JsonValue:
    if not isinstance(schema, dict) or not definitions or not _refers(schema):
        return schema
    return {**schema, "$defs": definitions}


def _refers(value: JsonValue) -> bool:
    if isinstance(value, dict):
        return "$ref" in value or any(_refers(member) for member in value.values())
    return isinstance(value, list) and any(_refers(item) for item in value)


def _members(value: JsonValue) -> Mapping[str, JsonValue]:
    return value if isinstance(value, dict) else {}


def _refused(contract: CanonicalContract, pointer: str, keyword: str, dialect: str, param: str) -> ContractRefusedError:
    message = (
        f"`{keyword}` cannot be enforced in calls as this model spells them (`{dialect}`): arguments stand one by one "
        "there, each under its own schema; say the same of single members, or ask another model"
    )
    rejection = Rejection(
        code=RejectionCode.UNSUPPORTED_KEYWORD,
        message=message,
        pointer=contract.source_pointer(pointer),
        keyword=keyword,
    )
    return ContractRefusedError((rejection,), param=param)
