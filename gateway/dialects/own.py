"""`contract`, this API's own field: the name of a registered contract, or a contract of any kind."""

from gateway.definitions import read_inline
from gateway.dialects.carried import Carried
from gateway.dialects.protocol import OwnContract
from gateway.errors import InvalidRequestError, RequestFault
from gateway.intent import InlineContract, NamedContract
from gateway.wire_faults import read_model
from registry.contract import JsonValue
from registry.naming import MAX_REFERENCE_CHARACTERS


def read_contract_field(value: JsonValue, param: str) -> Carried:
    """A name, or an object with a kind and a text."""
    if isinstance(value, dict):
        sent = read_model(OwnContract, value, param=param)
        definition = {name: member for name, member in value.items() if name != "strict"}
        inline = read_inline(definition, param=param)
        contract = InlineContract(kind=inline.kind, schema=inline.value, strict=bool(sent.strict), param=inline.param)
        return Carried(contract=contract, strict=sent.strict)
    return named_contract(value, param)


def named_contract(value: JsonValue, param: str) -> Carried:
    """A registered contract."""
    if not isinstance(value, str):
        message = f"`{param}` must be an object or the name of a contract"
        raise InvalidRequestError(RequestFault.INVALID_TYPE, message, param=param)
    if not 0 < len(value) <= MAX_REFERENCE_CHARACTERS:
        message = f"`{param}` is refused: a name of a contract has 1 to {MAX_REFERENCE_CHARACTERS} characters"
        raise InvalidRequestError(RequestFault.INVALID_VALUE, message, param=param)
    return Carried(contract=NamedContract(name=value, param=param))
