"""What can be said of two contracts. Safe only by proof, unsafe only by a document that was checked, else unknown."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, TypeAlias

from registry.algebra.budgeting import SolverBudget
from registry.contract import JsonValue


class Direction(StrEnum):
    """Whose documents must be allowed by whom."""

    CONSUMER_SAFE = "consumer-safe"
    """Every document that the new contract allows is allowed by the old one: readers written for the old one keep
    working on what is generated under the new one."""
    PRODUCER_SAFE = "producer-safe"
    """Every document that the old contract allows is allowed by the new one: what was generated before stays valid."""


class UnknownReason(StrEnum):
    """Why there is no answer; a closed list."""

    NOT_PROVEN = "not_proven"
    """Neither a proof nor a document was found."""
    BUDGET = "budget"
    """The comparison's effort ended first."""
    KIND = "kind"
    """Contracts of these kinds are compared by identity only."""
    UNREADABLE = "unreadable"
    """A text is not a canonical form that this comparison reads."""
    UNJUDGED = "unjudged"
    """A document was found, but the judge gave no verdict on it."""
    TIME = "time"
    """The comparing process ran over its time and was killed."""
    CRASHED = "crashed"
    """The comparing process died and was replaced."""
    BUSY = "busy"
    """No comparing process came free within the deadline."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Safe:
    """Proved. `proof` names the reasons that closed the cases; it is for readers, not for machines."""

    proof: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsafe:
    """Shown: `witness` is allowed by the one contract and refused by the other; the judge has said both.

    Pointers lead to the part of each canonical form that speaks of the place where the document is refused.
    """

    witness: JsonValue
    witness_text: str
    old_pointer: str
    new_pointer: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """Neither proved nor shown. It says nothing about the contracts."""

    reason: UnknownReason
    message: str


Answer: TypeAlias = Safe | Unsafe | Unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowed:
    """The contract allows the document."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Forbidden:
    """The contract refuses the document: `keyword` fails at `pointer` (RFC 6901, into the document)."""

    pointer: str
    keyword: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NoVerdict:
    """The judge could not decide."""

    message: str


JudgeVerdict: TypeAlias = Allowed | Forbidden | NoVerdict


class Judge(Protocol):
    """One prepared schema, asked about documents. It decides alone what a witness is."""

    def judge(self, document: bytes) -> JudgeVerdict:
        """The verdict on one JSON text."""


class JudgePreparation(Protocol):
    """Makes a judge of a schema's text."""

    def prepare(self, schema_text: str) -> Judge:
        """A judge; one that always says `NoVerdict` where the schema cannot be judged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonBudget(SolverBudget):
    """What one comparison may cost."""

    max_candidates: int = 1_500
    """Documents that are made and judged where proof and construction have both failed."""
