"""From a parsed body to the contract that is to be explained."""

from dataclasses import dataclass
from typing import Final

from gateway.dialects.sent import READERS, sent_contract
from gateway.errors import InvalidRequestError, RequestFault
from gateway.explain_protocol import ExplainRequest
from gateway.fields import FieldTable
from gateway.intent import Contract
from gateway.wire_faults import body_object, read_model
from registry.contract import JsonValue

EXPLAIN_FIELDS: Final = FieldTable(
    used=frozenset(ExplainRequest.model_fields), carriers=frozenset(READERS), accepted={}, unsupported={}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainIntent:
    """One contract to explain."""

    model: str | None
    contract: Contract


def read_explain_request(body: JsonValue) -> ExplainIntent:
    """What a body of `POST /v1/contracts/explain` asks about.

    Raises:
        InvalidRequestError: the first fault found, with its path.
        ContractRefusedError: a contract that was sent as JSON text is not JSON.
    """
    members = body_object(body)
    strict = members.get("strict")
    sent = sent_contract(members, EXPLAIN_FIELDS, strict=strict if isinstance(strict, bool) else None)
    request = read_model(ExplainRequest, sent.fields)
    if sent.contract is None:
        raise InvalidRequestError(
            RequestFault.MISSING_PARAMETER,
            'send `contract: {"kind": "json_schema", "schema": …}` or a `response_format` that carries a contract',
            param="contract",
        )
    return ExplainIntent(model=request.model, contract=sent.contract)
