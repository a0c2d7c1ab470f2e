"""What a hostile contract is: its kind, how it is made, and the verdicts that are right for it.

`OK` beside a code means that either is right: compiled exactly and within the budget, or refused by that name.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

OK = "accepted"
LIMIT = "limit_exceeded"
NONE = "unsatisfiable"
KEYWORD = "unsupported_keyword"
INVALID = "invalid_schema"
TRIAL = "trial_failed"
REFUSED = "compile_refused"
REGEX = "unsupported_regex"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hostile:
    """One contract: its kind, how its value is made, and the verdicts that are right. `text`: raw JSON text instead."""

    name: str
    kind: str
    make: Callable[[], Any]
    verdicts: frozenset[str]
    is_text: bool = False


def schema(name: str, make: Callable[[], Any], *verdicts: str) -> Hostile:
    return Hostile(name=name, kind="json_schema", make=make, verdicts=frozenset(verdicts))


def text(name: str, raw: str, *verdicts: str) -> Hostile:
    return Hostile(name=name, kind="json_schema", make=lambda: raw, verdicts=frozenset(verdicts), is_text=True)


def thicket(name: str, make: Callable[[], Any], *verdicts: str) -> Hostile:
    """A small schema that is meant to grow: exact, or refused by a limit or by what no bearable grammar can say."""
    return schema(name, make, OK, LIMIT, KEYWORD, *verdicts)
