"""Wire types of the contract API: what is sent to `/v1/contracts` and its neighbours.

Read as strictly as every other request. A member that was left out and one that is null are told apart where they
mean different things (`model_fields_set`).
"""

from typing import Annotated, Any, Literal

from pydantic import Field

from gateway.protocol import Sent
from registry.contract import ContractKind
from registry.naming import DEFAULT_ALIAS, MAX_REFERENCE_CHARACTERS
from registry.store.bounds import MAX_NOTE_CHARACTERS

MAX_NAME_CHARACTERS = 128
MAX_DIALECT_CHARACTERS = 256
MAX_KEY_CHARACTERS = 1_000
"""Of a public key's text; a PEM has about 120."""
MAX_SIGNATURE_CHARACTERS = 200
"""Base64 of 64 bytes has 88."""
MAX_PROTECTED_ALIASES = 100

Name = Annotated[str, Field(min_length=1, max_length=MAX_NAME_CHARACTERS)]
Note = Annotated[str, Field(max_length=MAX_NOTE_CHARACTERS)]
Number = Annotated[int, Field(ge=1, le=999_999_999)]
Level = Literal["NONE", "BACKWARD", "BACKWARD_TRANSITIVE", "FORWARD", "FORWARD_TRANSITIVE", "FULL", "FULL_TRANSITIVE"]


class PolicySent(Sent):
    """The enforcement policy of a revision; the default is the strictest."""

    allow_checked_after: bool = False
    unknown_keyword: Literal["reject", "annotation"] = "reject"
    unknown_format: Literal["reject", "annotation"] = "reject"


class DefinitionSent(Sent):
    """A contract as text of its kind: `schema` for JSON Schema, `definition` for any kind."""

    kind: Annotated[str, Field(max_length=64, json_schema_extra={"enum": [kind.value for kind in ContractKind]})] = (
        "json_schema"
    )
    schema_: Annotated[Any, Field(alias="schema")] = None
    definition: Any = None
    dialect: Annotated[str | None, Field(min_length=1, max_length=MAX_DIALECT_CHARACTERS)] = None
    policy: PolicySent = PolicySent()


class RegisterRequest(DefinitionSent):
    """`POST /v1/contracts`. What stands from `team` on belongs to the name and is said with its first revision."""

    name: Name
    state: Literal["draft", "active"] = "active"
    dry_run: bool = False
    message: Note = ""
    team: Name | None = None
    visibility: Literal["private", "shared"] | None = None
    class_: Annotated[Literal["tenant", "governed"] | None, Field(alias="class")] = None
    compatibility: Level | None = None
    description: Note | None = None


class CheckRequest(DefinitionSent):
    """`POST /v1/contracts/check`: would this be taken as the next revision of that name?"""

    name: Name
    mode: Level | None = None


class DiffRequest(Sent):
    """`POST /v1/contracts/diff`. A side is a reference, or an object as `DefinitionSent`."""

    old: Any
    new: Any


Reference = Annotated[str, Field(min_length=1, max_length=MAX_REFERENCE_CHARACTERS)]


class ContractPatch(Sent):
    """`PATCH /v1/contracts/{name}`; a team and a level may be null, which says that there is none."""

    team: Name | None = None
    visibility: Literal["private", "shared"] | None = None
    compatibility: Level | None = None
    description: Note | None = None


class StateSent(Sent):
    """`POST …/state`."""

    state: Literal["active", "deprecated", "sunset"]
    reason: Note = ""


class ReasonSent(Sent):
    """Of whatever is done with nothing but a reason."""

    reason: Note = ""


class ApprovalSent(ReasonSent):
    """`POST /v1/promotions/{id}/approve`."""

    override: bool = False
    """Apply although it is not proved safe; takes an operator."""


class AliasSent(Sent):
    """`PUT …/aliases/{alias}`."""

    revision: Number
    reason: Note = ""
    override: bool = False
    """Promote although it is not proved safe; takes an operator."""


class SignatureSent(Sent):
    """`POST …/signatures`: Ed25519 over the signing payload."""

    key_id: Annotated[str, Field(pattern=r"^ed25519:[0-9a-f]{32}$")]
    signature: Annotated[str, Field(min_length=1, max_length=MAX_SIGNATURE_CHARACTERS)]


class SigningKeySent(Sent):
    """`POST /v1/signing-keys`: a public key, PEM or base64 of 32 bytes. A private key is refused, and not kept."""

    public_key: Annotated[str, Field(min_length=1, max_length=MAX_KEY_CHARACTERS)]
    label: Annotated[str, Field(max_length=MAX_NAME_CHARACTERS)] = ""
    principal: Annotated[str | None, Field(min_length=1, max_length=MAX_NAME_CHARACTERS)] = None
    """Whose key it is; without it, the caller's own."""
    expires_at: Annotated[str | None, Field(max_length=40)] = None
    """RFC 3339, with an offset."""


class RegistryPolicySent(Sent):
    """`PUT /v1/policy`: the whole policy; what is left out is as by default."""

    require_signature: bool = False
    two_person_promotion: bool = False
    promotion_safety: Literal["any", "consumer_safe", "producer_safe", "both"] = "any"
    compatibility: Level | None = None
    allow_governed: bool = False
    protected_aliases: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=64)]],
        Field(max_length=MAX_PROTECTED_ALIASES, default_factory=lambda: [str(DEFAULT_ALIAS)]),
    ]
