"""A refusal by name: which keyword, where, why. Every layer that can refuse a contract speaks this type."""

from dataclasses import dataclass, replace
from enum import StrEnum


class RejectionCode(StrEnum):
    """Closed list of reasons; each is deterministic, so a refusal may be remembered."""

    # The text
    INVALID_JSON = "invalid_json"
    DUPLICATE_NAME = "duplicate_name"
    LONE_SURROGATE = "lone_surrogate"
    NON_FINITE_NUMBER = "non_finite_number"
    INVALID_ENCODING = "invalid_encoding"
    LIMIT_EXCEEDED = "limit_exceeded"
    # The contract
    INVALID_SCHEMA = "invalid_schema"
    INVALID_GRAMMAR = "invalid_grammar"
    """A text that is no Lark or no GBNF; the message has line and column."""
    UNKNOWN_KEYWORD = "unknown_keyword"
    UNKNOWN_FORMAT = "unknown_format"
    RESERVED_KEYWORD = "reserved_keyword"
    FOREIGN_DIALECT_KEYWORD = "foreign_dialect_keyword"
    UNSUPPORTED_DIALECT = "unsupported_dialect"
    UNSUPPORTED_KIND = "unsupported_kind"
    UNSUPPORTED_KEYWORD = "unsupported_keyword"
    UNSUPPORTED_REGEX = "unsupported_regex"
    UNSUPPORTED_VALUE = "unsupported_value"
    REMOTE_REFERENCE = "remote_reference"
    UNRESOLVED_REFERENCE = "unresolved_reference"
    MOVABLE_REFERENCE = "movable_reference"
    UNGUARDED_REF_CYCLE = "unguarded_ref_cycle"
    UNSATISFIABLE = "unsatisfiable"
    # The compiler
    COMPILE_REFUSED = "compile_refused"
    TRIAL_FAILED = "trial_failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejection:
    """Why a contract is refused.

    `pointer` is RFC 6901 into the caller's own contract, at the offending keyword. `limit` and `observed` are set
    for `limit_exceeded`: the name of the limit with its value, and the value that broke it.
    """

    code: RejectionCode
    message: str
    pointer: str = ""
    keyword: str | None = None
    limit_name: str | None = None
    limit: int | float | None = None
    observed: int | float | None = None
    suggestion: str | None = None
    conflicts: tuple[str, ...] = ()
    """For `unsatisfiable`: pointers of keywords that allow no value together, as far as they could be told."""

    def with_pointer(self, pointer: str) -> "Rejection":
        """The same refusal, placed elsewhere (canonical pointer to caller's pointer)."""
        return replace(self, pointer=pointer)
