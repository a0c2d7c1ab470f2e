"""What a search for a value ends as."""

from dataclasses import dataclass
from typing import TypeAlias

from registry.contract import JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A value that should do; whoever uses it checks."""

    value: JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class Empty:
    """There is no such value: proved."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsure:
    """There may be one."""

    reason: str


Outcome: TypeAlias = Found | Empty | Unsure


def worst(outcomes: "list[Outcome]", otherwise: str) -> Empty | Unsure:
    """Of failed attempts that were all there are: empty only if each was proved empty."""
    unsure = next((outcome for outcome in outcomes if isinstance(outcome, Unsure)), None)
    if unsure is not None:
        return unsure
    reasons = dict.fromkeys(outcome.reason for outcome in outcomes if isinstance(outcome, Empty))
    return Empty(reason=next(iter(reasons)) if len(reasons) == 1 else otherwise)
