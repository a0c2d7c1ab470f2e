"""What one field of a request carries: a contract, or nothing, and notes on what it says without effect."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from gateway.errors import ContractRefusedError, InvalidRequestError, RequestFault
from gateway.intent import Contract, InlineContract
from policy.limits import TENANT
from registry.contract import ContractKind, JsonValue
from registry.errors import ContractRejectedError
from registry.parsing import parse_json


@dataclass(frozen=True, slots=True, kw_only=True)
class Carried:
    """`strict` is what the field says of its contract's strictness; None where it says nothing."""

    contract: Contract | None = None
    strict: bool | None = None
    notes: Mapping[str, str] = field(default_factory=dict)


NOTHING = Carried()


def enforced(kind: ContractKind, value: JsonValue, *, param: str, dialect: str) -> Carried:
    """A contract in another server's words.

    Those servers promise that it holds while text is decoded, so nothing of it is left to the validator.
    """
    contract = InlineContract(kind=kind, schema=value, strict=True, param=param, dialect=dialect)
    return Carried(contract=contract, strict=True)


def schema(value: JsonValue, *, param: str, dialect: str) -> Carried:
    """A JSON Schema as an object, or as JSON text."""
    return enforced(ContractKind.JSON_SCHEMA, json_object(value, param=param), param=param, dialect=dialect)


def any_object(*, param: str, dialect: str) -> Carried:
    """Any JSON object."""
    return enforced(ContractKind.JSON_SCHEMA, {"type": "object"}, param=param, dialect=dialect)


def regex(value: JsonValue, *, param: str, dialect: str) -> Carried:
    """A regular expression that the whole output matches."""
    return enforced(ContractKind.REGEX, text(value, param=param), param=param, dialect=dialect)


def choice(value: JsonValue, *, param: str, dialect: str) -> Carried:
    """One of several texts; that there is one, and that they are texts, is the kind's own to say."""
    if not isinstance(value, list):
        raise InvalidRequestError(RequestFault.INVALID_TYPE, f"`{param}` must be a list of strings", param=param)
    return enforced(ContractKind.CHOICE, value, param=param, dialect=dialect)


def structural_tag(value: JsonValue, *, param: str, dialect: str) -> Carried:
    """A structural tag as an object, or as JSON text."""
    return enforced(ContractKind.STRUCTURAL_TAG, json_object(value, param=param), param=param, dialect=dialect)


def text(value: JsonValue, *, param: str) -> str:
    """A text that says something.

    Raises:
        InvalidRequestError: it is no string; or it is empty, which asks for nothing on some servers and for empty
            output on others.
    """
    if not isinstance(value, str):
        raise InvalidRequestError(RequestFault.INVALID_TYPE, f"`{param}` must be a string", param=param)
    if not value.strip():
        message = f"`{param}` is empty, which servers read in different ways: send null to ask for nothing"
        raise InvalidRequestError(RequestFault.INVALID_VALUE, message, param=param)
    return value


def json_object(value: JsonValue, *, param: str) -> JsonValue:
    """An object, or the object that a JSON text spells; pointers of faults lead into that text.

    Raises:
        InvalidRequestError: it is neither.
        ContractRefusedError: the text is no JSON, or above a limit.
    """
    if isinstance(value, dict):
        return value
    limits = TENANT.contract
    try:
        read = parse_json(
            text(value, param=param),
            max_bytes=limits.max_contract_bytes,
            max_nesting=limits.max_nesting,
            bytes_limit_name="max_contract_bytes",
        )
    except ContractRejectedError as error:
        raise ContractRefusedError(error.rejections, param=param) from None
    if not isinstance(read, dict):
        message = f"`{param}` must be an object, or the JSON text of one"
        raise InvalidRequestError(RequestFault.INVALID_TYPE, message, param=param)
    return read


def present(members: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Members that ask for something: null asks for nothing."""
    return {name: value for name, value in members.items() if value is not None}


def only_one(params: list[str]) -> InvalidRequestError:
    """The refusal of two contracts at once."""
    first, second = params[:2]
    return InvalidRequestError(
        RequestFault.CONFLICTING_CONTRACTS,
        f"`{first}` and `{second}` both carry a contract: send one of them",
        param=first,
    )
