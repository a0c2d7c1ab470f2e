"""How these tests read contracts: from JSON text, as a caller's contract is read."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from policy.enforcement import EnforcementPolicy, Unknown
from policy.limits import TENANT, LimitClass
from policy.rejection import Rejection, RejectionCode
from registry.contract import CanonicalContract, JsonValue
from registry.dialects import Dialect
from registry.errors import ContractRejectedError
from registry.json_schema import read_json_schema
from registry.parsing import parse_json

STRICT = EnforcementPolicy()
LENIENT = EnforcementPolicy(unknown_keyword=Unknown.ANNOTATION, unknown_format=Unknown.ANNOTATION)


def parsed(value: Any) -> JsonValue:
    """Any JSON-like value, or the text of one in bytes, as the registry's parser gives it."""
    text = value if isinstance(value, bytes) else json.dumps(value)
    return parse_json(text, max_bytes=32 * 1024 * 1024, max_nesting=300)


def read(
    schema: Any,
    *,
    limits: LimitClass = TENANT,
    policy: EnforcementPolicy = STRICT,
    documents: Mapping[str, Any] | None = None,
    dialect: Dialect | None = None,
) -> CanonicalContract:
    """The contract that a schema is."""
    approved = {uri: parsed(document) for uri, document in (documents or {}).items()}
    return read_json_schema(parsed(schema), limits=limits.contract, policy=policy, documents=approved, dialect=dialect)


def refusals(
    schema: Any,
    *,
    limits: LimitClass = TENANT,
    policy: EnforcementPolicy = STRICT,
    documents: Mapping[str, Any] | None = None,
    dialect: Dialect | None = None,
) -> tuple[Rejection, ...]:
    """Why a schema is refused."""
    with pytest.raises(ContractRejectedError) as caught:
        read(schema, limits=limits, policy=policy, documents=documents, dialect=dialect)
    return caught.value.rejections


def refusal(
    schema: Any,
    *,
    limits: LimitClass = TENANT,
    policy: EnforcementPolicy = STRICT,
    documents: Mapping[str, Any] | None = None,
    dialect: Dialect | None = None,
) -> tuple[RejectionCode, str]:
    """Code and pointer of the only reason."""
    found = refusals(schema, limits=limits, policy=policy, documents=documents, dialect=dialect)
    assert len(found) == 1, found
    return found[0].code, found[0].pointer
