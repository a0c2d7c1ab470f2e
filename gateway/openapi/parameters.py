"""Every parameter of a path, a query or a header, by its name."""

from collections.abc import Mapping
from typing import Any, Final

from gateway.idempotency_keys import MAX_KEY_CHARACTERS
from registry.contract import ContractKind
from registry.revision import PromotionState, RevisionState
from registry.store.bounds import DEFAULT_PAGE, MAX_PAGE

_TEXT: Final = {"type": "string"}
_FLAG: Final = {"type": "string", "enum": ["true", "false"]}
_MAX_SEQUENCE: Final = 2**31 - 1

QUERY: Final[Mapping[str, dict[str, Any]]] = {
    "after": {"type": "integer", "minimum": 0, "maximum": _MAX_SEQUENCE},
    "cursor": {**_TEXT, "description": "`next_cursor` of the page before."},
    "include_retired": _FLAG,
    "kind": {"type": "string", "enum": [kind.value for kind in ContractKind]},
    "limit": {"type": "integer", "minimum": 1, "maximum": MAX_PAGE, "default": DEFAULT_PAGE},
    "owner": {**_TEXT, "description": "The tenant that owns the contract, where it is another's."},
    "q": {**_TEXT, "description": "A part of the name."},
    "team": _TEXT,
}
STATES: Final[Mapping[str, dict[str, Any]]] = {
    "contracts": {"type": "string", "enum": [state.value for state in RevisionState]},
    "promotions": {"type": "string", "enum": [state.value for state in PromotionState]},
}
"""`state`, which is another's in each list."""

CONFLUENT_QUERY: Final[Mapping[str, dict[str, Any]]] = {
    "defaultToGlobal": _FLAG,
    "deleted": _FLAG,
    "deletedOnly": _FLAG,
    "format": {"type": "string", "enum": ["", "default"]},
    "latestOnly": _FLAG,
    "limit": {"type": "integer", "minimum": -_MAX_SEQUENCE, "maximum": _MAX_SEQUENCE},
    "normalize": _FLAG,
    "offset": {"type": "integer", "minimum": 0, "maximum": _MAX_SEQUENCE},
    "permanent": _FLAG,
    "subject": _TEXT,
    "subjectPrefix": _TEXT,
    "verbose": _FLAG,
}

HEADERS: Final[Mapping[str, dict[str, Any]]] = {
    "Idempotency-Key": {
        "type": "string",
        "minLength": 1,
        "maxLength": MAX_KEY_CHARACTERS,
        "pattern": "^[!-~]+$",
        "description": "The same request with the same key is done once.",
    },
    "If-Match": {
        "type": "string",
        "pattern": '^"(0|[1-9][0-9]{0,17})"$',
        "description": "The version that is expected, as its ETag was given.",
    },
    "If-None-Match": {"type": "string", "enum": ["*"], "description": "There must be nothing yet."},
}

PATH: Final[Mapping[str, dict[str, Any]]] = {
    "name": {
        "type": "string",
        "minLength": 1,
        "description": "A contract's name; where one is read also a reference, such as `invoice@prod`, or a digest.",
    },
    "level": {"type": "string", "enum": ["team", "key"]},
    "number": {"type": "string", "pattern": "^[1-9][0-9]{0,8}$"},
    "promotion_id": {"type": "string", "pattern": "^prm_[0-9a-f]{32}$"},
    "schema_id": {"type": "string", "pattern": "^[1-9][0-9]{0,8}$"},
    "version": {"type": "string", "description": "A number, `latest` or `-1`."},
}
"""Those that have a grammar; every other is a text."""

ANSWER_HEADERS: Final[Mapping[str, dict[str, Any]]] = {
    "ETag": {"type": "string"},
    "Location": {"type": "string"},
    "x-request-id": {"type": "string"},
}
