"""Shapes that only the description speaks of: errors, and answers that are put together from text."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from gateway.confluent.requests import MAX_REFERENCE_NAME
from gateway.contract_answers import RevisionDetail
from gateway.contract_protocol import Level
from gateway.protocol import Sent


class Open(BaseModel):
    """A shape that may grow: a client passes over what it does not know."""

    model_config = ConfigDict(extra="allow")


class ErrorMember(Open):
    """What went wrong. `param` is the request's path, `pointer` leads into the contract or the document there."""

    message: str
    type: str
    param: str | None
    code: str | None
    request_id: str
    pointer: str | None = None
    keyword: str | None = None
    limit_name: str | None = None
    limit: int | float | None = None
    observed: int | float | None = None
    suggestion: str | None = None


class Error(Open):
    """Every refusal and failure. `schemagate` is there where decoding took place."""

    error: ErrorMember
    schemagate: dict[str, Any] | None = None


class RevisionWithSource(RevisionDetail):
    """The end of a reference, with the registered text itself."""

    source: Any


class Health(BaseModel):
    """The process is alive."""

    status: Literal["ok"]


class Ready(BaseModel):
    """Whether requests can be served."""

    status: Literal["ready", "degraded", "unavailable"]
    reasons: list[str]


class AuditHead(BaseModel):
    """Where a chain ends now."""

    sequence: int
    digest: str


class AuditEvents(BaseModel):
    """Events exactly as they are chained."""

    data: list[dict[str, Any]]
    next_after: int | None
    head: AuditHead | None


class ConfluentReferenceSent(Open):
    """A version of a subject that a schema refers to by `name`."""

    name: Annotated[str, Field(min_length=1, max_length=MAX_REFERENCE_NAME)]
    subject: str
    version: Annotated[int, Field(ge=-1, le=2**31 - 1)]


class ConfluentSchemaSent(Sent):
    """A schema as Confluent's clients send it."""

    schema_: Annotated[str, Field(alias="schema")]
    schemaType: Literal["JSON"]  # noqa: N815 - Confluent's spelling
    references: list[ConfluentReferenceSent] | None = None
    subject: str | None = None
    guid: str | None = None


class ConfluentLevelSent(Sent):
    """A level to set."""

    compatibility: Level


class ConfluentModeSent(Open):
    """A mode to set; there is one."""

    mode: Literal["READWRITE"]


class ConfluentClusters(BaseModel):
    """Which registry this is."""

    id: str
    scope: dict[str, Any]


class ConfluentVersion(BaseModel):
    """The product's version."""

    version: str
    commitId: str  # noqa: N815 - Confluent's spelling
