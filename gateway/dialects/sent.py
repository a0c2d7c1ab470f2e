"""The one contract of a request, whichever field carries it, and what is left of the body once it is taken."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from gateway.dialects.carried import Carried, only_one
from gateway.dialects.local_servers import (
    read_ebnf,
    read_grammar,
    read_json_schema,
    read_parameters,
    read_regex,
    read_structural_tag,
)
from gateway.dialects.own import read_contract_field
from gateway.dialects.response_formats import read_response_format
from gateway.dialects.text_formats import read_text_field
from gateway.dialects.vllm import read_guided, read_guided_backend, read_structured_outputs, read_white_space
from gateway.errors import InvalidRequestError, RequestFault
from gateway.fields import FieldTable, screen_fields
from gateway.intent import Contract, NamedContract
from registry.contract import JsonValue

Reader: TypeAlias = Callable[[JsonValue, str], Carried]

READERS: Final[Mapping[str, Reader]] = {
    "contract": read_contract_field,
    "response_format": read_response_format,
    "text": read_text_field,
    "structured_outputs": read_structured_outputs,
    "guided_json": read_guided,
    "guided_regex": read_guided,
    "guided_choice": read_guided,
    "guided_grammar": read_guided,
    "guided_decoding_backend": read_guided_backend,
    "guided_whitespace_pattern": read_white_space,
    "json_schema": read_json_schema,
    "regex": read_regex,
    "ebnf": read_ebnf,
    "structural_tag": read_structural_tag,
    "grammar": read_grammar,
    "parameters": read_parameters,
}
"""Every field that may carry a contract, or say how one is enforced; null in any of them asks for nothing."""

SHARED_CARRIERS: Final = frozenset(READERS) - {"response_format", "text"}
"""The fields that are no API's own: what other servers call them, and `contract`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SentContract:
    """A body, sorted."""

    contract: Contract | None
    fields: Mapping[str, JsonValue]
    """The used fields, for the API's wire type to read; what only carried the contract is left out."""
    ignored: Mapping[str, str]
    """What has no effect here, and why; for `GenerationIntent.ignored`."""


def sent_contract(body: Mapping[str, JsonValue], table: FieldTable, *, strict: bool | None = None) -> SentContract:
    """Sort a body: at most one contract, used fields, fields without effect. `strict` is said outside of the contract.

    Raises:
        InvalidRequestError: a field is unknown, unsupported or looks like a constraint; or there are two contracts.
        ContractRefusedError: a contract that was sent as JSON text is not JSON.
    """
    screened = screen_fields(body, table)
    found = {name: READERS[name](value, name) for name, value in screened.carriers.items() if value is not None}
    notes = {place: note for carried in found.values() for place, note in carried.notes.items()}
    carrying = {name: carried for name, carried in found.items() if carried.contract is not None}
    if len(carrying) > 1:
        raise only_one(sorted(carrying))
    contract = None
    for carried in carrying.values():
        contract = _with_strictness(carried, strict=strict)
    return SentContract(contract=contract, fields=screened.used, ignored={**screened.ignored, **notes})


def _with_strictness(carried: Carried, *, strict: bool | None) -> Contract:
    contract = carried.contract
    assert contract is not None
    if strict is None:
        return contract
    if isinstance(contract, NamedContract):
        message = "`strict` goes with a contract that is sent; a registered one has the policy it was registered with"
        raise InvalidRequestError(RequestFault.CONFLICTING_PARAMETERS, message, param="strict")
    if carried.strict not in {None, strict}:
        message = f"`strict` and the contract in `{contract.param}` say different things: send one of them"
        raise InvalidRequestError(RequestFault.CONFLICTING_PARAMETERS, message, param="strict")
    return replace(contract, strict=strict)
