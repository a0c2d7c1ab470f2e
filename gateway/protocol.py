"""Wire types that the public APIs share: what callers send and what they get.

Requests are read strictly (no coercion) from values that `registry.parsing` produced, after `gateway.fields` has
disposed of every field that is not used. Unions are avoided on the way in, so that a fault's path is the caller's.
"""

import math
from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

MAX_MODEL_CHARACTERS = 256


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


Number = Annotated[float, BeforeValidator(_number)]


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


FinishReason = Literal["stop", "length"]


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
