"""Wire types of the public API: what callers send and what they get.

Requests are read strictly (no coercion) from values that `registry.parsing` produced, after `gateway.fields` has
disposed of every field that is not used. Unions are avoided on the way in, so that a fault's path is the caller's.
"""

import math
from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, FailFast, Field
from pydantic_core import PydanticCustomError

from registry.naming import MAX_REFERENCE_CHARACTERS

MAX_STOP_STRINGS = 4
MAX_STOP_CHARACTERS = 256
MAX_MODEL_CHARACTERS = 256
MAX_SEED = 2**63 - 1


class Sent(BaseModel):
    """What a caller sends: closed, strict."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Answered(BaseModel):
    """What a caller gets."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def _number(value: Any) -> Any:
    # The parser's numbers are exact; a float is enough for a sampling parameter. Booleans stay, to be refused.
    if not isinstance(value, int | Decimal) or isinstance(value, bool):
        return value
    try:
        return float(value)
    except OverflowError:  # beyond any float, and so beyond any bound of ours
        return math.inf if value > 0 else -math.inf


def _text_parts(value: Any) -> Any:
    if isinstance(value, str):
        return [{"type": "text", "text": value}]
    if isinstance(value, list):
        return value
    raise PydanticCustomError("content_type", "must be a string or a list of text parts")


def _stop_strings(value: Any) -> Any:
    if value is None:
        return []
    return [value] if isinstance(value, str) else value


Number = Annotated[float, BeforeValidator(_number)]


class TextPart(Sent):
    """The one kind of content part that is served."""

    type: Literal["text"]
    text: str


class Message(Sent):
    """One turn. The members that only tools, audio and refusals use are known, and may only be empty."""

    role: Literal["system", "developer", "user", "assistant"]
    content: Annotated[list[TextPart], FailFast(), BeforeValidator(_text_parts)]
    name: str | None = None
    refusal: None = None
    audio: None = None
    function_call: None = None
    tool_calls: Annotated[list[Any] | None, Field(max_length=0)] = None
    annotations: Annotated[list[Any] | None, Field(max_length=0)] = None


class JsonSchemaFormat(Sent):
    """`response_format.json_schema`. `strict` decides what may be left to the validator, never what is enforced."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
    description: str | None = None
    schema_: Annotated[Any, Field(alias="schema")]
    strict: bool | None = None


class ResponseFormat(Sent):
    """`response_format`."""

    type: Literal["text", "json_schema", "json_object", "contract"]
    json_schema: JsonSchemaFormat | None = None
    contract: Annotated[str | None, Field(min_length=1, max_length=MAX_REFERENCE_CHARACTERS)] = None


class StreamOptions(Sent):
    """`stream_options`; obfuscation is off whatever is asked, as nothing here depends on packet sizes."""

    include_usage: bool | None = None
    include_obfuscation: bool | None = None


class ChatRequest(Sent):
    """The used fields of `POST /v1/chat/completions`."""

    model: Annotated[str, Field(min_length=1, max_length=MAX_MODEL_CHARACTERS)]
    messages: Annotated[list[Message], FailFast(), Field(min_length=1)]
    response_format: ResponseFormat | None = None
    contract: Annotated[str | None, Field(min_length=1, max_length=MAX_REFERENCE_CHARACTERS)] = None
    temperature: Annotated[Number | None, Field(ge=0, le=2)] = None
    top_p: Annotated[Number | None, Field(gt=0, le=1)] = None
    seed: Annotated[int | None, Field(ge=0, le=MAX_SEED)] = None
    stop: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=MAX_STOP_CHARACTERS)]],
        Field(max_length=MAX_STOP_STRINGS),
        BeforeValidator(_stop_strings),
    ] = []
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    max_tokens: Annotated[int | None, Field(ge=1, le=2**31)] = None
    max_completion_tokens: Annotated[int | None, Field(ge=1, le=2**31)] = None


class EnforcementCounts(Answered):
    """How many keywords met which fate."""

    enforced: int
    checked_after: int
    annotation: int


class SignatureMember(Answered):
    """What a revision's signatures amounted to when it was resolved."""

    status: Literal["signed", "unsigned", "revoked"]
    key_id: str | None


class ContractMember(Answered):
    """Which contract was enforced, and how. What only a registered contract has is null for one that was sent."""

    kind: str
    digest: str
    annotation_digest: str
    enforcement: EnforcementCounts
    owner: str | None = None
    name: str | None = None
    team: str | None = None
    contract_class: Annotated[str | None, Field(serialization_alias="class")] = None
    visibility: str | None = None
    alias: str | None = None
    revision: int | None = None
    revision_id: str | None = None
    state: str | None = None
    signature: SignatureMember | None = None
    deprecated: str | None = None
    """Why, or an empty text, where the revision is deprecated."""


class NodeMember(Answered):
    """Where decoding took place."""

    model: str
    engine: str
    engine_version: str


class ValidationMember(Answered):
    """What the independent validator said; `not_applicable` where there is no contract or nothing finished."""

    verdict: Literal["valid", "invalid", "unjudged", "not_applicable"]
    pointer: str | None = None
    keyword: str | None = None
    message: str | None = None


class SchemagateMember(Answered):
    """The extension member `schemagate`: what this product says beyond OpenAI's own fields."""

    completion: str
    contract: ContractMember | None
    artifact_key: str | None
    tokenizer_digest: str
    cache: Literal["l1", "pool", "compiled"] | None
    validation: ValidationMember
    node: NodeMember | None
    seed: int
    stop_cause: str
    forced_tokens: int
    compile_cpu_ms: float | None
    timings: dict[str, float]


class Usage(Answered):
    """OpenAI's usage."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class AnsweredMessage(Answered):
    """The assistant's turn."""

    role: Literal["assistant"] = "assistant"
    content: str
    refusal: None = None


FinishReason = Literal["stop", "length"]


class Choice(Answered):
    """The one choice."""

    index: int = 0
    message: AnsweredMessage
    finish_reason: FinishReason
    logprobs: None = None


class ChatCompletion(Answered):
    """200 of an unstreamed request."""

    id: str
    object: Literal["chat.completion"] = "chat.completion"
    created: int
    model: str
    choices: list[Choice]
    usage: Usage
    system_fingerprint: None = None
    schemagate: SchemagateMember


class ModelCard(Answered):
    """An entry of `GET /v1/models`."""

    id: str
    object: Literal["model"] = "model"
    created: int
    owned_by: Literal["schemagate"] = "schemagate"
    schemagate: dict[str, Any]


class ModelList(Answered):
    """200 of `GET /v1/models`."""

    object: Literal["list"] = "list"
    data: list[ModelCard]


class PolicyMember(Answered):
    """The policy under which a contract is read."""

    allow_checked_after: bool
    unknown_keyword: Literal["annotation", "reject"]
    unknown_format: Literal["annotation", "reject"]
