"""Reading a contract of any kind: one entry, one kind of result, one kind of refusal."""

from collections.abc import Mapping
from typing import Final

from policy.enforcement import EnforcementPolicy
from policy.limits import ContractLimits
from policy.rejection import Rejection, RejectionCode
from registry.contract import CanonicalContract, ContractKind, JsonValue
from registry.dialects import Dialect
from registry.errors import ContractRejectedError
from registry.kinds.choice import read_choice
from registry.kinds.gbnf import read_gbnf
from registry.kinds.lark import read_lark
from registry.kinds.regex import read_regex
from registry.kinds.structural_tag import read_structural_tag
from registry.kinds.terms import NO_DIALECTS, NO_DOCUMENTS, Terms
from registry.kinds.tool_set import read_tool_set

_WITHOUT_SCHEMAS: Final = frozenset({ContractKind.REGEX, ContractKind.GBNF, ContractKind.CHOICE})


def read_contract(
    kind: ContractKind,
    value: JsonValue,
    *,
    limits: ContractLimits,
    policy: EnforcementPolicy,
    documents: Mapping[str, JsonValue] = NO_DOCUMENTS,
    dialect: str | None = None,
    document_dialects: Mapping[str, Dialect] = NO_DIALECTS,
) -> CanonicalContract:
    """The contract that `value` is: a string for regex, Lark and GBNF, a list for choices and tools, else an object.

    `documents` are approved for references of schemas, by absolute URI, wherever the schemas stand; `dialect`, and
    `document_dialects` by URI, say what schemas without `$schema` are written in.
    Raises `ContractRejectedError`.
    """
    terms = Terms(
        limits=limits,
        policy=policy,
        documents=documents,
        dialect=_dialect(kind, dialect),
        document_dialects=document_dialects,
    )
    match kind:
        case ContractKind.JSON_SCHEMA:
            return terms.schema(value)
        case ContractKind.REGEX:
            return read_regex(value, terms)
        case ContractKind.LARK:
            return read_lark(value, terms)
        case ContractKind.GBNF:
            return read_gbnf(value, terms)
        case ContractKind.CHOICE:
            return read_choice(value, terms)
        case ContractKind.STRUCTURAL_TAG:
            return read_structural_tag(value, terms)
        case ContractKind.TOOL_SET:
            return read_tool_set(value, terms)


def _dialect(kind: ContractKind, name: str | None) -> Dialect | None:
    """The dialect of that name. What is not known is never read as another one."""
    if name is None:
        return None
    if kind in _WITHOUT_SCHEMAS:
        raise _unsupported(f"A contract of kind {kind.value} holds no schemas, and has no dialect.")
    try:
        return Dialect(name)
    except ValueError:
        known = ", ".join(dialect.value for dialect in Dialect)
    raise _unsupported(f"There is no dialect {name[:64]!r} here; dialects are {known}.")


def _unsupported(message: str) -> ContractRejectedError:
    return ContractRejectedError((Rejection(code=RejectionCode.UNSUPPORTED_DIALECT, message=message),))
