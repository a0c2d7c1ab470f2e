"""Wire types of `/v1/admin`: tenants, teams and keys."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from gateway.auth.key_desk import MAX_OVERLAP
from gateway.auth.records import MAX_TENANT_CHARACTERS, MAX_TEXT_CHARACTERS
from gateway.protocol import Answered, Sent

MAX_MOMENT_CHARACTERS = 40
_PRINTABLE = r"^[^\x00-\x1f\x7f-\x9f\u2028\u2029]*$"
"""A tab or a line feed would forge a column or a line wherever keys are listed."""

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$", max_length=MAX_TENANT_CHARACTERS)]
Text = Annotated[str, Field(max_length=MAX_TEXT_CHARACTERS, pattern=_PRINTABLE)]
Principal = Annotated[str, Field(min_length=1, max_length=MAX_TEXT_CHARACTERS, pattern=_PRINTABLE)]
RoleName = Literal["caller", "author", "approver", "operator", "auditor"]
ScopeName = Literal["generate", "contracts:read", "contracts:write", "audit:read", "admin"]
Roles = Annotated[list[RoleName], Field(min_length=1, max_length=8)]
Scopes = Annotated[list[ScopeName], Field(min_length=1, max_length=8)]
Moment = Annotated[str, Field(max_length=MAX_MOMENT_CHARACTERS)]


class TenantSent(Sent):
    """`POST /v1/admin/tenants`."""

    id: Name
    name: Text = ""


class TenantPatch(Sent):
    """`PATCH /v1/admin/tenants/{tenant}`. Disabling takes an operator of the installation."""

    name: Text | None = None
    disabled: bool | None = None


class TeamSent(Sent):
    """`POST …/teams`."""

    name: Name


class KeySent(Sent):
    """`POST …/keys`. Without a principal the key stands for itself; without scopes it has those of its roles."""

    label: Text = ""
    principal: Principal | None = None
    team: Name | None = None
    roles: Annotated[Roles, Field(default_factory=lambda: ["caller"])]
    scopes: Scopes | None = None
    expires_at: Moment | None = None


class KeyPatch(Sent):
    """`PATCH …/keys/{key}`. Null says: no end, and the scopes of the roles."""

    label: Text | None = None
    roles: Roles | None = None
    scopes: Scopes | None = None
    expires_at: Moment | None = None


class RotationSent(Sent):
    """`POST …/keys/{key}/rotate`."""

    overlap_seconds: Annotated[int, Field(ge=0, le=int(MAX_OVERLAP.total_seconds()))]
    """How long the secret before is taken as well; 0: not any more. No default: either could be the wrong one."""


class NothingSent(Sent):
    """Of whatever is done without a word."""


class TenantMember(Answered):
    """An organisation."""

    id: str
    name: str
    created_at: datetime
    disabled_at: datetime | None


class TenantPage(Answered):
    """By id."""

    data: list[TenantMember]
    next_cursor: str | None


class TeamMember(Answered):
    """A part of a tenant."""

    tenant: str
    name: str
    created_at: datetime


class TeamList(Answered):
    """By name."""

    data: list[TeamMember]


class KeyMember(Answered):
    """A key without its secret. `scopes` is null where they are those of the roles; `allowed` are those that count."""

    id: str
    tenant: str
    label: str
    principal: str
    team: str | None
    roles: list[str]
    scopes: list[str] | None
    allowed_scopes: list[str]
    state: Literal["live", "expired", "revoked"]
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    rotated_at: datetime | None
    previous_secret_until: datetime | None
    last_used_at: datetime | None


class KeyShown(KeyMember):
    """With the key in clear: this once."""

    key: str


class KeyPage(Answered):
    """Oldest first."""

    data: list[KeyMember]
    next_cursor: str | None
