"""Wire types of rules: what `PUT …/rules` takes, and what is told of a level."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from gateway.protocol import Answered, Number, Sent
from gateway.rules.rule_set import (
    DEFAULT_TIMEOUT_SECONDS,
    MAX_CEL_CHARACTERS,
    MAX_MESSAGE_CHARACTERS,
    MAX_RULE_NAME_CHARACTERS,
    MAX_RULES,
    MAX_TIMEOUT_SECONDS,
    MAX_URL_CHARACTERS,
    MAX_WEBHOOKS,
    MIN_TIMEOUT_SECONDS,
)

RuleName = Annotated[str, Field(pattern=rf"^[A-Za-z0-9_.-]{{1,{MAX_RULE_NAME_CHARACTERS}}}$")]


class RuleSent(Sent):
    """A CEL expression that has to be true. `message` is what a caller reads where it is false."""

    name: RuleName
    cel: Annotated[str, Field(min_length=1, max_length=MAX_CEL_CHARACTERS)]
    message: Annotated[str, Field(min_length=1, max_length=MAX_MESSAGE_CHARACTERS)]
    on: Literal["object", "call"] = "object"


class WebhookSent(Sent):
    """A service that is asked."""

    name: RuleName
    url: Annotated[str, Field(min_length=1, max_length=MAX_URL_CHARACTERS)]
    kind: Literal["semantic", "authorisation"]
    timeout_seconds: Annotated[Number, Field(ge=MIN_TIMEOUT_SECONDS, le=MAX_TIMEOUT_SECONDS)] = DEFAULT_TIMEOUT_SECONDS
    fail_open: bool = False
    on: Literal["object", "call"] = "object"


class RuleSetSent(Sent):
    """One level's whole document."""

    semantic: Annotated[list[RuleSent], Field(default_factory=list, max_length=MAX_RULES)]
    authorisation: Annotated[list[RuleSent], Field(default_factory=list, max_length=MAX_RULES)]
    webhooks: Annotated[list[WebhookSent], Field(default_factory=list, max_length=MAX_WEBHOOKS)]


class RuleSetAnswer(Answered):
    """One level's document. `version` is its ETag; 0: there is none."""

    tenant: str
    family: str | None
    rules: RuleSetSent
    families: list[str] | None
    """Of a tenant: the families that have documents."""
    version: int
    changed_at: datetime | None
    changed_by: str | None
