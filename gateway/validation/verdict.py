"""What the judge says of a document."""

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias


class UnjudgedReason(StrEnum):
    """Why there is no verdict; a closed list. None of them is ever taken for `Valid`."""

    TIME = "time"
    """The judge ran over its time and was killed."""
    CRASHED = "crashed"
    """The judge died (memory, stack, a fault) and was replaced."""
    BUSY = "busy"
    """No judge was free within the deadline."""
    DOCUMENT_LIMIT = "document_limit"
    """The document is larger, deeper or wider in digits than the judge reads."""
    DEPTH = "depth"
    """Document and contract together recurse deeper than the judge follows."""
    PATTERN = "pattern"
    """A pattern of the contract cannot run on RE2."""
    REFERENCE = "reference"
    """A reference of the contract leads outside it: nothing is ever retrieved."""
    CONTRACT = "contract"
    """The contract's text is not a schema that this judge can read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Valid:
    """The document satisfies the contract."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Invalid:
    """The document breaks the contract: `keyword` fails for the value at `pointer` (RFC 6901, into the document).

    A document that is no JSON text has the pointer `""` and the parser's code as its keyword (`duplicate_name`, …).
    """

    pointer: str
    keyword: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Unjudged:
    """There is no verdict."""

    reason: UnjudgedReason
    message: str


Verdict: TypeAlias = Valid | Invalid | Unjudged
