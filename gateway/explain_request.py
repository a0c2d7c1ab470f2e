"""From a parsed body to the contract that is to be explained."""

from dataclasses import dataclass

from gateway.definitions import read_inline
from gateway.errors import InvalidRequestError, RequestFault
from gateway.explain_protocol import ExplainRequest, InlineContractSent
from gateway.intent import Contract, InlineContract, NamedContract
from gateway.response_formats import one_contract, two_contracts
from gateway.wire_faults import body_object, read_model
from registry.contract import JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainIntent:
    """One contract to explain."""

    model: str | None
    contract: Contract


def read_explain_request(body: JsonValue) -> ExplainIntent:
    """What a body of `POST /v1/contracts/explain` asks about.

    Raises:
        InvalidRequestError: the first fault found, with its path.
    """
    request = read_model(ExplainRequest, body_object(body))
    sent = request.contract
    if isinstance(sent, dict):
        if request.response_format is not None:
            raise two_contracts()
        read_model(InlineContractSent, sent, param="contract")
        inline = read_inline(sent, param="contract")
        contract: Contract | None = InlineContract(
            kind=inline.kind, schema=inline.value, strict=bool(request.strict), param=inline.param
        )
    elif sent is None or isinstance(sent, str):
        contract = one_contract(sent, request.response_format, strict=request.strict)
        if isinstance(contract, NamedContract) and request.strict is not None:
            raise InvalidRequestError(
                RequestFault.CONFLICTING_PARAMETERS,
                "`strict` goes with a contract that is sent; a registered one has the policy it was registered with",
                param="strict",
            )
    else:
        raise InvalidRequestError(
            RequestFault.INVALID_TYPE, "`contract` must be an object or the name of a contract", param="contract"
        )
    if contract is None:
        raise InvalidRequestError(
            RequestFault.MISSING_PARAMETER,
            'send `contract: {"kind": "json_schema", "schema": …}` or a `response_format` that carries a contract',
            param="contract",
        )
    return ExplainIntent(model=request.model, contract=contract)
