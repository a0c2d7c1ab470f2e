"""Wire types of serving policies: what `PUT …/serving-policy` takes, and the setting of the installation's own."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from gateway.protocol import MAX_MODEL_CHARACTERS, Answered, Sent

MAX_REPAIRS = 5
"""Each is a whole generation, which the tenant pays and the caller waits for."""
MAX_NAMES = 1_000
_MAX_WEBHOOK_CHARACTERS = 64

ModelName = Annotated[str, Field(min_length=1, max_length=MAX_MODEL_CHARACTERS)]
WebhookName = Annotated[str, Field(min_length=1, max_length=_MAX_WEBHOOK_CHARACTERS)]


class ServingPolicySent(Sent):
    """One level's whole document. What is left out or null is not said: the levels beside it decide."""

    floor: Literal["strict", "checked"] | None = None
    models: Annotated[list[ModelName] | None, Field(max_length=MAX_NAMES)] = None
    allow_tools: bool | None = None
    allow_streaming: bool | None = None
    allow_reasoning: bool | None = None
    max_thinking_tokens: Annotated[int | None, Field(ge=0, le=10**9)] = None
    allow_refusal: bool | None = None
    allow_inline: bool | None = None
    downgrade: Literal["none", "validate", "repair"] | None = None
    max_repairs: Annotated[int | None, Field(ge=0, le=MAX_REPAIRS)] = None
    stream_mode: Literal["provisional", "hold_back"] | None = None
    hosted_tools: Literal["refuse", "ignore"] | None = None
    running_twin: Literal["conflict", "join"] | None = None
    fail_open_webhooks: Annotated[list[WebhookName] | None, Field(max_length=MAX_NAMES)] = None


class EffectivePolicy(Answered):
    """What all levels come to. `models` null: all that there are; `max_thinking_tokens` null: no limit."""

    floor: str
    models: list[str] | None
    allow_tools: bool
    allow_streaming: bool
    allow_reasoning: bool
    max_thinking_tokens: int | None
    allow_refusal: bool
    allow_inline: bool
    downgrade: str
    max_repairs: int
    stream_mode: str
    hosted_tools: str
    running_twin: str
    fail_open_webhooks: list[str]


class ServingPolicyAnswer(Answered):
    """One level: its own document, and what holds there. `version` is its ETag; 0: nothing is said there."""

    tenant: str
    family: str | None
    policy: ServingPolicySent
    effective: EffectivePolicy
    families: list[str] | None
    """Of a tenant: the families that have documents."""
    version: int
    changed_at: datetime | None
    changed_by: str | None
