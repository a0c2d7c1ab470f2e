"""Contracts as they are sent to the contract API: which member holds the text, of which kind, under which policy."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from gateway.contract_protocol import DefinitionSent, PolicySent
from gateway.errors import ContractRefusedError, InvalidRequestError, RequestFault
from gateway.wire_faults import read_model
from policy.enforcement import EnforcementPolicy, Unknown
from registry.contract import ContractKind, JsonValue
from registry.errors import ContractRejectedError


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """A contract's text, and the path of the body at which it stands."""

    kind: ContractKind
    value: JsonValue
    dialect: str | None
    policy: EnforcementPolicy
    param: str


def read_definition(sent: DefinitionSent, *, param: str = "") -> Definition:
    """The one definition of a body, or of the object at `param` of it.

    Raises:
        InvalidRequestError: there is none, there are two, or the kind is not known.
    """
    prefix = f"{param}." if param else ""
    kind = _kind(sent.kind, f"{prefix}kind")
    has_schema, has_definition = ("schema_" in sent.model_fields_set), ("definition" in sent.model_fields_set)
    if has_schema and has_definition:
        message = f"`{prefix}schema` and `{prefix}definition` both carry a contract: send one of them"
        raise InvalidRequestError(RequestFault.CONFLICTING_CONTRACTS, message, param=f"{prefix}definition")
    if has_schema and kind is not ContractKind.JSON_SCHEMA:
        message = f"`{prefix}schema` is for kind `json_schema`; send `{prefix}definition`"
        raise InvalidRequestError(RequestFault.CONFLICTING_PARAMETERS, message, param=f"{prefix}schema")
    if not has_schema and not has_definition:
        member = "schema" if kind is ContractKind.JSON_SCHEMA else "definition"
        message = f"`{prefix}{member}` is required"
        raise InvalidRequestError(RequestFault.MISSING_PARAMETER, message, param=f"{prefix}{member}")
    return Definition(
        kind=kind,
        value=sent.schema_ if has_schema else sent.definition,
        dialect=sent.dialect,
        policy=_policy(sent.policy),
        param=f"{prefix}schema" if has_schema else f"{prefix}definition",
    )


def read_inline(value: Mapping[str, JsonValue], *, param: str) -> Definition:
    """The definition in the object at `param`."""
    return read_definition(read_model(DefinitionSent, value, param=param), param=param)


@contextmanager
def refused_at(param: str) -> Iterator[None]:
    """Rejections of a contract point into the text at `param`."""
    try:
        yield
    except ContractRejectedError as error:
        raise ContractRefusedError(error.rejections, param=param) from None


def _kind(text: str, param: str) -> ContractKind:
    try:
        return ContractKind(text)
    except ValueError:
        known = ", ".join(kind.value for kind in ContractKind)
        message = f"there is no kind `{text}`; kinds are {known}"
    raise InvalidRequestError(RequestFault.UNSUPPORTED_KIND, message, param=param)


def _policy(sent: PolicySent) -> EnforcementPolicy:
    return EnforcementPolicy(
        allow_checked_after=sent.allow_checked_after,
        unknown_keyword=Unknown(sent.unknown_keyword),
        unknown_format=Unknown(sent.unknown_format),
    )
