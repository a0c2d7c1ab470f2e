"""From a parsed body to what is asked: messages, sampling, limits, and at most one contract."""

import secrets
from dataclasses import dataclass

from gateway.definitions import read_inline
from gateway.errors import InvalidRequestError, RequestFault
from gateway.explain_protocol import ExplainRequest, InlineContractSent
from gateway.fields import screen_fields
from gateway.intent import Contract, GenerationIntent, InlineContract, NamedContract
from gateway.protocol import ChatRequest, Message, ResponseFormat, StreamOptions
from gateway.wire_faults import read_model
from inference_node.protocol import ChatMessage, Sampling
from registry.contract import ContractKind, JsonValue

_SEED_BITS = 53
"""Of a seed that we choose: it is reported in JSON, and many clients read numbers as doubles."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainIntent:
    """One contract to explain."""

    model: str | None
    contract: Contract


def read_chat_request(body: JsonValue) -> GenerationIntent:
    """What a body of `POST /v1/chat/completions` asks for.

    Raises:
        InvalidRequestError: the first fault found, with its path.
    """
    request = read_model(ChatRequest, screen_fields(_object(body)))
    if request.stream_options is not None and not request.stream:
        raise InvalidRequestError(
            RequestFault.CONFLICTING_PARAMETERS, "`stream_options` needs `stream: true`", param="stream_options"
        )
    options = request.stream_options or StreamOptions()
    return GenerationIntent(
        model=request.model,
        messages=tuple(_message(message) for message in request.messages),
        sampling=Sampling(
            temperature=1.0 if request.temperature is None else request.temperature,
            top_p=1.0 if request.top_p is None else request.top_p,
            seed=secrets.randbits(_SEED_BITS) if request.seed is None else request.seed,
        ),
        max_tokens=_max_tokens(request),
        stop=tuple(request.stop),
        stream=bool(request.stream),
        include_usage=bool(options.include_usage),
        contract=_one_contract(request.contract, request.response_format, strict=None),
    )


def read_explain_request(body: JsonValue) -> ExplainIntent:
    """What a body of `POST /v1/contracts/explain` asks about.

    Raises:
        InvalidRequestError: the first fault found, with its path.
    """
    request = read_model(ExplainRequest, _object(body))
    sent = request.contract
    if isinstance(sent, dict):
        if request.response_format is not None:
            raise _two_contracts()
        read_model(InlineContractSent, sent, param="contract")
        inline = read_inline(sent, param="contract")
        contract: Contract | None = InlineContract(
            kind=inline.kind, schema=inline.value, strict=bool(request.strict), param=inline.param
        )
    elif sent is None or isinstance(sent, str):
        contract = _one_contract(sent, request.response_format, strict=request.strict)
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


def _object(body: JsonValue) -> dict[str, JsonValue]:
    if not isinstance(body, dict):
        raise InvalidRequestError(RequestFault.INVALID_TYPE, "the body must be a JSON object")
    return body


def _message(message: Message) -> ChatMessage:
    role = message.role if message.role != "developer" else "system"
    return ChatMessage(role=role, content="".join(part.text for part in message.content))


def _max_tokens(request: ChatRequest) -> int | None:
    old, new = request.max_tokens, request.max_completion_tokens
    if old is not None and new is not None and old != new:
        raise InvalidRequestError(
            RequestFault.CONFLICTING_PARAMETERS,
            f"`max_tokens` is {old} and `max_completion_tokens` is {new}: send one of them",
            param="max_tokens",
        )
    return new if old is None else old


def _one_strictness(*, inner: bool | None, outer: bool | None) -> bool:
    if inner is not None and outer is not None and inner != outer:
        raise InvalidRequestError(
            RequestFault.CONFLICTING_PARAMETERS,
            "`strict` and `response_format.json_schema.strict` say different things: send one of them",
            param="strict",
        )
    return bool(inner if outer is None else outer)


def _two_contracts() -> InvalidRequestError:
    return InvalidRequestError(
        RequestFault.CONFLICTING_CONTRACTS,
        "`contract` and `response_format` both carry a contract: send one of them",
        param="contract",
    )


def _one_contract(name: str | None, response_format: ResponseFormat | None, *, strict: bool | None) -> Contract | None:
    formatted = None if response_format is None else _format_contract(response_format, strict=strict)
    if name is None:
        return formatted
    if formatted is not None:
        raise _two_contracts()
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
