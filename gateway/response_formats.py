"""The contract that a request carries in `response_format`, or names in `contract`."""

from gateway.errors import InvalidRequestError, RequestFault
from gateway.intent import Contract, InlineContract, NamedContract
from gateway.protocol import ResponseFormat
from registry.contract import ContractKind


def _one_strictness(*, inner: bool | None, outer: bool | None) -> bool:
    if inner is not None and outer is not None and inner != outer:
        raise InvalidRequestError(
            RequestFault.CONFLICTING_PARAMETERS,
            "`strict` and `response_format.json_schema.strict` say different things: send one of them",
            param="strict",
        )
    return bool(inner if outer is None else outer)


def two_contracts() -> InvalidRequestError:
    return InvalidRequestError(
        RequestFault.CONFLICTING_CONTRACTS,
        "`contract` and `response_format` both carry a contract: send one of them",
        param="contract",
    )


def one_contract(name: str | None, response_format: ResponseFormat | None, *, strict: bool | None) -> Contract | None:
    formatted = None if response_format is None else _format_contract(response_format, strict=strict)
    if name is None:
        return formatted
    if formatted is not None:
        raise two_contracts()
    return NamedContract(name=name, param="contract")


def _format_contract(response_format: ResponseFormat, *, strict: bool | None) -> Contract | None:
    sent = response_format.json_schema
    if response_format.type != "contract" and response_format.contract is not None:
        raise InvalidRequestError(
            RequestFault.CONFLICTING_PARAMETERS,
            f"`response_format.contract` needs type `contract`, not `{response_format.type}`",
            param="response_format.contract",
        )
    if response_format.type == "json_schema":
        if sent is None:
            raise InvalidRequestError(
                RequestFault.MISSING_PARAMETER,
                "`response_format.json_schema` is required with type `json_schema`",
                param="response_format.json_schema",
            )
        return InlineContract(
            kind=ContractKind.JSON_SCHEMA,
            schema=sent.schema_,
            strict=_one_strictness(inner=sent.strict, outer=strict),
            param="response_format.json_schema.schema",
        )
    if sent is not None:
        raise InvalidRequestError(
            RequestFault.CONFLICTING_PARAMETERS,
            f"`response_format.json_schema` needs type `json_schema`, not `{response_format.type}`",
            param="response_format.json_schema",
        )
    if response_format.type == "contract":
        if response_format.contract is None:
            raise InvalidRequestError(
                RequestFault.MISSING_PARAMETER,
                "`response_format.contract` is required with type `contract`",
                param="response_format.contract",
            )
        return NamedContract(name=response_format.contract, param="response_format.contract")
    if response_format.type == "json_object":
        return InlineContract(
            kind=ContractKind.JSON_SCHEMA, schema={"type": "object"}, strict=bool(strict), param="response_format"
        )
    return None
