"""Wire types of `GET /v1/models` and `GET /v1/capabilities`. What is not known is left out, not guessed."""

from typing import Annotated, Literal

from pydantic import Field

from gateway.protocol import Answered


class ModelLimits(Answered):
    """The most that one request may ask of a model; prompt and answer share `context_tokens`."""

    context_tokens: int
    max_completion_tokens: int
    max_choices: int
    max_top_logprobs: int | None
    """Null: log probabilities are not served."""
    max_tools: int | None
    """Null: tools are not served."""
    max_stop_strings: int


class ModelMember(Answered):
    """What this product says of a model beyond OpenAI's fields."""

    capability: Literal["grammar", "json_schema", "json_object", "none"]
    """Who keeps a contract: our grammar; else what the backend claims to do, which is a downgrade, and needs leave."""
    tokenizer_digest: str | None
    """Null where nothing is compiled for the model."""
    engine: str
    engine_version: str
    context_tokens: int
    limits: ModelLimits
    contract_kinds: list[str]
    """Kinds that are enforced while this model decodes; none where it decodes under no grammar of ours."""
    apis: list[str]
    streaming: bool


class ModelCard(Answered):
    """An entry of `GET /v1/models`. `created` is 0: nobody says when a model was made."""

    id: str
    object: Literal["model"] = "model"
    created: int
    owned_by: Literal["schemagate"] = "schemagate"
    max_model_len: int
    """vLLM's name for the context."""
    schemagate: ModelMember


class ModelList(Answered):
    """200 of `GET /v1/models`."""

    object: Literal["list"] = "list"
    data: list[ModelCard]


class EngineMember(Answered):
    """Whose capabilities the statuses are."""

    name: str
    version: str


class KeywordMember(Answered):
    """A keyword of JSON Schema 2020-12. `decided_by_lowering`: explain says for each use whether it is enforced."""

    keyword: str
    status: Literal["enforced", "decided_by_lowering", "checkable", "annotation", "resolved"]


class FormatMember(Answered):
    """A format. `enforced` includes those of which some texts are never generated (`narrower`)."""

    format: str
    status: Literal["enforced", "checked_after"]
    narrower: bool = False


class SchemaDialectMember(Answered):
    """A dialect of JSON Schema: `read` as it is, or `translated` to 2020-12 exactly, or refused by keyword."""

    name: str
    handling: Literal["read", "translated"]


class JsonSchemaMember(Answered):
    """What is known of JSON Schema."""

    default_dialect: str
    dialects: list[SchemaDialectMember]
    keywords: list[KeywordMember]
    formats: list[FormatMember]


class KindMember(Answered):
    """A kind of contract, and what holds its text in a `contract` object."""

    kind: str
    definition: Literal["schema", "text", "list", "object"]


class FieldMember(Answered):
    """A field of a server's API that carries a contract here too."""

    field: str
    value: str
    becomes: str


class WireDialectMember(Answered):
    """A server whose words are understood."""

    server: str
    fields: list[FieldMember]


class ApiMember(Answered):
    """An API that generates."""

    name: str
    path: str
    streaming: bool


class ToolsMember(Answered):
    """Kinds of tools, by API word."""

    function: bool
    custom: bool
    custom_formats: list[str]
    parallel: bool
    choices: list[str]
    hosted: Literal["refuse", "ignore"]


class FeaturesMember(Answered):
    """What may be asked for beside a contract, under the caller's own policy."""

    tools: ToolsMember | None
    choices: bool
    logprobs: bool
    reasoning: bool
    refusal: bool
    streaming: bool
    stream_mode: Literal["provisional", "hold_back"]
    inline_contracts: bool
    named_contracts: bool
    idempotency_key: bool


class LimitClassMember(Answered):
    """Limits of one class of contracts, by name."""

    contract: dict[str, int]
    references: dict[str, int]


class TextBoundsMember(Answered):
    """How far generated text runs where a contract sets no end; null: to the last token."""

    max_digits: int | None
    max_string_length: int | None
    max_items: int | None
    max_depth: int | None
    max_undeclared: int | None
    """0: members that a schema leaves unnamed are not generated; null: they are."""


class RequestLimitsMember(Answered):
    """Limits of any request."""

    max_body_bytes: int
    max_body_nesting: int
    request_seconds: float


class Capabilities(Answered):
    """200 of `GET /v1/capabilities`."""

    object: Literal["capabilities"] = "capabilities"
    version: str
    engine: EngineMember
    contract_kinds: list[KindMember]
    json_schema: JsonSchemaMember
    wire_dialects: list[WireDialectMember]
    apis: list[ApiMember]
    features: FeaturesMember
    limits: Annotated[dict[str, LimitClassMember], Field(description="By class of contracts.")]
    text: TextBoundsMember
    request: RequestLimitsMember
    models: list[ModelCard]
