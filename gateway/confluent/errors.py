"""What the façade itself refuses; what the services refuse stays theirs and is translated in `problems`.

ConfluentError
"""

from enum import StrEnum


class Fault(StrEnum):
    """Every kind of refusal that a Confluent client can tell apart; codes and statuses are in `problems`."""

    NOT_JSON = "not_json"
    """The body is no JSON, or none that is read here."""
    UNAUTHENTICATED = "unauthenticated"
    FORBIDDEN = "forbidden"
    SUBJECT_NOT_FOUND = "subject_not_found"
    VERSION_NOT_FOUND = "version_not_found"
    SCHEMA_NOT_FOUND = "schema_not_found"
    SUBJECT_SOFT_DELETED = "subject_soft_deleted"
    SUBJECT_NOT_SOFT_DELETED = "subject_not_soft_deleted"
    VERSION_SOFT_DELETED = "version_soft_deleted"
    VERSION_NOT_SOFT_DELETED = "version_not_soft_deleted"
    COMPATIBILITY_NOT_CONFIGURED = "compatibility_not_configured"
    MODE_NOT_CONFIGURED = "mode_not_configured"
    NO_SUCH_PATH = "no_such_path"
    NO_SUCH_METHOD = "no_such_method"
    NOT_ACCEPTABLE = "not_acceptable"
    SLOW_BODY = "slow_body"
    INCOMPATIBLE = "incompatible"
    UNSUPPORTED_MEDIA_TYPE = "unsupported_media_type"
    MALFORMED = "malformed"
    """A body or a query of another shape than the endpoint's."""
    INVALID_SCHEMA = "invalid_schema"
    INVALID_VERSION = "invalid_version"
    INVALID_LEVEL = "invalid_level"
    INVALID_MODE = "invalid_mode"
    NOT_PERMITTED = "not_permitted"
    REFERENCE_EXISTS = "reference_exists"
    INVALID_SUBJECT = "invalid_subject"
    TOO_LARGE = "too_large"
    INVALID_RULES = "invalid_rules"
    TOO_MANY_REQUESTS = "too_many_requests"
    BUSY = "busy"
    """Nothing was decided; asking again may help."""
    STORE_FAILED = "store_failed"
    INTERNAL = "internal"


class ConfluentError(Exception):
    """One refusal. The message says what was wrong, where, and what to do.

    `allowed` are the methods of a path that was asked with another one.
    """

    def __init__(self, fault: Fault, message: str, *, allowed: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.fault = fault
        self.allowed = allowed


SHOWN_CHARACTERS = 128
"""Of what a caller sent, an answer repeats so much."""


def no_subject(subject: str) -> ConfluentError:
    """The same for what is not there, what is another tenant's, and what is not JSON Schema."""
    return ConfluentError(Fault.SUBJECT_NOT_FOUND, f"Subject '{subject[:SHOWN_CHARACTERS]}' not found.")


def no_version(version: int | str) -> ConfluentError:
    """The subject is there, and has no such version."""
    return ConfluentError(Fault.VERSION_NOT_FOUND, f"Version {version} not found.")


def no_schema(which: int | str | None = None) -> ConfluentError:
    """No schema has that id, or the subject does not hold that schema."""
    named = "" if which is None else f" {str(which)[:SHOWN_CHARACTERS]}"
    return ConfluentError(Fault.SCHEMA_NOT_FOUND, f"Schema{named} not found")
