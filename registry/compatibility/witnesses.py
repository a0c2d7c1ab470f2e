"""A document becomes a witness only here: the judge allows it under the one contract and refuses it under the other."""

from dataclasses import dataclass
from typing import Final

from registry.compatibility.pointing import schema_pointer
from registry.compatibility.verdicts import (
    Allowed,
    Direction,
    Forbidden,
    Judge,
    Unknown,
    UnknownReason,
    Unsafe,
)
from registry.contract import JsonValue
from registry.text import canonical_json

MAX_SHOWN: Final = 200
"""Characters of a place in a message; names are as long as their authors like."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """Both contracts' schemas with their judges."""

    old_schema: JsonValue
    new_schema: JsonValue
    old_judge: Judge
    new_judge: Judge


def checked(value: JsonValue, sides: Sides, direction: Direction, *, max_bytes: int) -> Unsafe | Unknown:
    """The witness that the document is, if the judge says so."""
    text = canonical_json(value)
    document = text.encode()
    if len(document) > max_bytes:
        return Unknown(reason=UnknownReason.BUDGET, message="`max_witness_bytes` of the budget was reached")
    is_consumer = direction is Direction.CONSUMER_SAFE
    inner, outer = (sides.new_judge, sides.old_judge) if is_consumer else (sides.old_judge, sides.new_judge)
    allowed = inner.judge(document)
    if not isinstance(allowed, Allowed):
        return Unknown(reason=UnknownReason.UNJUDGED, message="the judge did not allow the document that was made")
    refused = outer.judge(document)
    if not isinstance(refused, Forbidden):
        return Unknown(reason=UnknownReason.UNJUDGED, message="the judge did not refuse the document that was made")
    names = ("new", "old") if is_consumer else ("old", "new")
    pointer = refused.pointer
    shown = pointer if len(pointer) <= MAX_SHOWN else pointer[:MAX_SHOWN] + "…"
    place = f" at {shown}" if pointer else ""
    return Unsafe(
        witness=value,
        witness_text=text,
        old_pointer=schema_pointer(sides.old_schema, pointer, refused.keyword),
        new_pointer=schema_pointer(sides.new_schema, pointer, refused.keyword),
        message=f"the {names[0]} contract allows it; the {names[1]} one refuses it{place}: {refused.message}",
    )
