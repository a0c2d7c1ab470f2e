"""One line of input, read."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from cli.conform.lines import MAX_LINE_BYTES
from policy.rejection import Rejection, RejectionCode
from registry.contract import ContractKind, JsonValue
from registry.errors import ContractRejectedError
from registry.parsing import parse_json
from registry.text import canonical_json

MAX_LINE_NESTING = 1024
"""Of the line as JSON. The contract's own nesting is limited by its limit class."""

MALFORMED_LINE = "malformed_line"
"""The code for a line that is JSON but not a question."""

_SCHEMA_POINTER = "/contract/schema"
_DEFINITION = "definition"

_MEMBERS: Mapping[ContractKind, str] = {
    ContractKind.REGEX: "pattern",
    ContractKind.CHOICE: "choices",
    ContractKind.LARK: "grammar",
    ContractKind.GBNF: "grammar",
    ContractKind.STRUCTURAL_TAG: "structural_tag",
    ContractKind.TOOL_SET: "tools",
}
"""What `definition` may be called as well, by kind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonInstance:
    """A value, to be written as the contract generates it."""

    value: JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class TextInstance:
    """A text, taken as it stands."""

    text: str


Instance: TypeAlias = JsonInstance | TextInstance


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaContract:
    """A JSON Schema as a value of the line."""

    schema: JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaTextContract:
    """A JSON Schema as raw text, for what only a bounded parser should see."""

    schema_text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KindContract:
    """A contract of another kind: `value` is a string, a list or an object, as the kind has it."""

    kind: ContractKind
    value: JsonValue


ConformContract: TypeAlias = SchemaContract | SchemaTextContract | KindContract


@dataclass(frozen=True, slots=True, kw_only=True)
class ConformRequest:
    """A contract and the instances to try on it."""

    contract: ConformContract
    instances: tuple[Instance, ...]


class LineRefusedError(Exception):
    """The line asks nothing that can be answered otherwise. `pointer` is into the caller's contract where that is at
    fault, else into the line."""

    def __init__(self, *, code: str, message: str, pointer: str = "", num_instances: int = 0) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.pointer = pointer
        self.num_instances = num_instances


def read_request(data: bytes) -> ConformRequest:
    """The question in a line.

    Raises:
        LineRefusedError: it is not JSON, not a question, or of a kind that is not supported.
    """
    try:
        line = parse_json(data, max_bytes=MAX_LINE_BYTES, max_nesting=MAX_LINE_NESTING)
    except ContractRejectedError as error:
        raise _refused(error.rejections[0]) from error
    if not isinstance(line, dict):
        raise LineRefusedError(code=MALFORMED_LINE, message="A line is a JSON object.")
    if unknown := line.keys() - {"id", "contract", "instances"}:
        name = min(unknown)
        raise LineRefusedError(code=MALFORMED_LINE, message=f"Unknown member {name[:64]!r}.", pointer=f"/{name[:64]}")
    instances = _instances(line.get("instances", []))
    contract = _contract(line.get("contract"), len(instances))
    if isinstance(contract, KindContract):
        instances = tuple(map(_as_text, instances))
    return ConformRequest(contract=contract, instances=instances)


def _as_text(instance: Instance) -> TextInstance:
    """Every other kind is about texts; a value is one as it is written compactly, its members in their order."""
    return instance if isinstance(instance, TextInstance) else TextInstance(text=canonical_json(instance.value))


def _contract(value: JsonValue, num_instances: int) -> ConformContract:
    if not isinstance(value, dict) or not isinstance(kind := value.get("kind"), str):
        message = "`contract` is an object with a `kind`."
        raise LineRefusedError(code=MALFORMED_LINE, message=message, pointer="/contract")
    if kind not in {known.value for known in ContractKind}:
        raise LineRefusedError(
            code=RejectionCode.UNSUPPORTED_KIND,
            message=f"Contracts of kind {kind[:64]!r} are not supported.",
            num_instances=num_instances,
        )
    if kind != ContractKind.JSON_SCHEMA:
        return _kind_contract(ContractKind(kind), {name: member for name, member in value.items() if name != "kind"})
    match value:
        case {"schema": schema, **rest} if rest.keys() == {"kind"}:
            return SchemaContract(schema=schema)
        case {"schema_text": str(text), **rest} if rest.keys() == {"kind"}:
            return SchemaTextContract(schema_text=text)
    message = "A `json_schema` contract has either `schema` or `schema_text` (a string), and nothing else."
    raise LineRefusedError(code=MALFORMED_LINE, message=message, pointer="/contract")


def _kind_contract(kind: ContractKind, members: dict[str, JsonValue]) -> KindContract:
    (name, value), *more = members.items() or [("", None)]
    if more or name not in {_DEFINITION, _MEMBERS[kind]}:
        message = f"A `{kind}` contract has `{_DEFINITION}` (or `{_MEMBERS[kind]}`), and nothing else."
        raise LineRefusedError(code=MALFORMED_LINE, message=message, pointer="/contract")
    return KindContract(kind=kind, value=value)


def _instances(value: JsonValue) -> tuple[Instance, ...]:
    if not isinstance(value, list):
        raise LineRefusedError(code=MALFORMED_LINE, message="`instances` is an array.", pointer="/instances")
    return tuple(_instance(item, index) for index, item in enumerate(value))


def _instance(value: JsonValue, index: int) -> Instance:
    match value:
        case {"json": member, **rest} if not rest:
            return JsonInstance(value=member)
        case {"text": str(text), **rest} if not rest:
            return TextInstance(text=text)
    message = "An instance is an object with either `json` or `text` (a string)."
    raise LineRefusedError(code=MALFORMED_LINE, message=message, pointer=f"/instances/{index}")


def _refused(rejection: Rejection) -> LineRefusedError:
    pointer = rejection.pointer
    for place in (_SCHEMA_POINTER, *(f"/contract/{name}" for name in (_DEFINITION, *_MEMBERS.values()))):
        if pointer == place or pointer.startswith(place + "/"):
            pointer = pointer[len(place) :]
            break
    return LineRefusedError(code=rejection.code, message=rejection.message, pointer=pointer)
