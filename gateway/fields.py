"""What becomes of every top-level field of a body: used, carries the contract, without effect, or refused by name.

A field that could be a constraint is never ignored, because a server that drops it answers 200 to a request it did
not serve.
"""

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from gateway.errors import InvalidRequestError, RequestFault
from registry.contract import JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsupported:
    """A field that is known and not served. `neutral` are the values that ask for nothing; null always is one."""

    neutral: tuple[JsonValue, ...] = ()
    instead: str = ""


@dataclass(frozen=True, kw_only=True)
class FieldTable:
    """The fields of one API. What is `used` needs no other row: a row of what is used is not looked at."""

    used: frozenset[str]
    """Read by the API's wire type."""
    carriers: frozenset[str]
    """May carry the contract (`gateway.dialects`). One that is also used is read in both places."""
    accepted: Mapping[str, str]
    """Cannot change what a correct answer is; taken for the sake of stock clients, with the effect stated."""
    unsupported: Mapping[str, Unsupported]

    @cached_property
    def known(self) -> tuple[str, ...]:
        """Every name, for suggestions."""
        return tuple(sorted({*self.used, *self.carriers, *self.accepted, *self.unsupported}))


@dataclass(frozen=True, slots=True, kw_only=True)
class Screened:
    """A body, sorted by what becomes of its fields."""

    used: dict[str, JsonValue]
    carriers: dict[str, JsonValue]
    ignored: dict[str, str]
    """What was sent and has no effect, with the reason."""


_USE_SCHEMA = 'use `contract: {"kind": "json_schema", "schema": …}`'
_USE_KIND = 'use `contract: {{"kind": "{}", "definition": …}}`'
_USE_OBJECT = 'use `contract: {"kind": "json_schema", "schema": {"type": "object"}}`'

CONSTRAINT_LIKE: Final[Mapping[str, str]] = {
    "gbnf": _USE_KIND.format("gbnf"),
    "lark": _USE_KIND.format("lark"),
    "pattern": _USE_KIND.format("regex"),
    "choice": _USE_KIND.format("choice"),
    "choices": _USE_KIND.format("choice"),
    "schema": _USE_SCHEMA,
    "json": _USE_SCHEMA,
    "json_object": _USE_OBJECT,
    "json_mode": _USE_OBJECT,
    "format": _USE_SCHEMA,
    "text": "use `response_format`",
    "response_format": 'use `text: {"format": …}`',
    "response_schema": _USE_SCHEMA,
    "response_model": _USE_SCHEMA,
    "output_schema": _USE_SCHEMA,
    "output_format": _USE_SCHEMA,
    "output_config": _USE_SCHEMA,
    "constraints": _USE_SCHEMA,
    "guided_json_object": _USE_OBJECT,
}
"""Constraints in words that are no server's, or another API's; with what says the same here."""

_LOOKS_LIKE_CONSTRAINT: Final = re.compile(
    r"guid|gramm|regex|schema|struct|ebnf|gbnf|lark|constrain|choice|json|pattern|format|contract|valid", re.ASCII
)
_MAX_SHOWN_CHARACTERS: Final = 64


def screen_fields(body: Mapping[str, JsonValue], table: FieldTable) -> Screened:
    """The fields of a body by their fate.

    Raises:
        InvalidRequestError: a field is unsupported and asks for something, looks like a constraint, or is unknown.
    """
    screened = Screened(used={}, carriers={}, ignored={})
    for name, value in body.items():
        if name in table.used:
            screened.used[name] = value
        if name in table.carriers:
            screened.carriers[name] = value
        elif name in table.used:
            continue
        elif name in table.unsupported:
            _refuse_unless_neutral(name, value, table.unsupported[name])
        elif name not in table.accepted:
            raise _unknown(name, table)
        elif value is not None:
            screened.ignored[name] = table.accepted[name]
    return screened


def unknown_member(
    name: str, *, known: tuple[str, ...], param: str, fault: RequestFault = RequestFault.UNKNOWN_PARAMETER
) -> InvalidRequestError:
    """The refusal of an unknown member of a nested object, with what was probably meant."""
    close = difflib.get_close_matches(name[:_MAX_SHOWN_CHARACTERS], known, n=1)
    meant = f"; did you mean `{close[0]}`?" if close else ""
    fate = "is not known, and not ignored" if fault is RequestFault.UNKNOWN_CONSTRAINT else "is not known"
    return InvalidRequestError(
        fault,
        f"`{param}` {fate}{meant}",
        param=param,
        suggestion=close[0] if close else None,
    )


def _refuse_unless_neutral(name: str, value: JsonValue, rule: Unsupported) -> None:
    # `True == 1` in Python, and a caller who sends `n: true` did not send 1.
    if value is None or any(value == neutral and type(value) is type(neutral) for neutral in rule.neutral):
        return
    raise InvalidRequestError(
        RequestFault.UNSUPPORTED_PARAMETER, f"`{name}` is not supported: {rule.instead}", param=name
    )


def _unknown(name: str, table: FieldTable) -> InvalidRequestError:
    shown = name[:_MAX_SHOWN_CHARACTERS]
    close = difflib.get_close_matches(shown, table.known, n=1, cutoff=0.75)
    meant = f"did you mean `{close[0]}`?" if close else ""
    suggestion = close[0] if close else None
    instead = CONSTRAINT_LIKE.get(name)
    if instead is not None or suggestion in table.carriers or _LOOKS_LIKE_CONSTRAINT.search(shown.lower()):
        advice = instead or meant or _USE_SCHEMA
        message = f"`{shown}` looks like a constraint and is not one that is known here; it is not ignored: {advice}"
        return InvalidRequestError(RequestFault.UNKNOWN_CONSTRAINT, message, param=shown, suggestion=suggestion)
    message = f"`{shown}` is not a parameter of this API" + (f"; {meant}" if meant else "")
    return InvalidRequestError(RequestFault.UNKNOWN_PARAMETER, message, param=shown, suggestion=suggestion)
