"""How the kinds refuse: every refusal has a code, a place and, where a limit is broken, the limit and what was seen.

In a contract that is one text, the JSON Pointer can only say "the text"; line and column stand in the message.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import NoReturn

from policy.limits import ContractLimits
from policy.rejection import Rejection, RejectionCode
from registry.contract import JsonValue
from registry.errors import ContractRejectedError
from registry.text import canonical_json

WRAPPING_NESTING = 16
"""Levels of JSON that a kind may put around the schemas in it; these have `max_nesting` to themselves."""

_SHOWN = 64


def refuse(
    code: RejectionCode, message: str, *, pointer: str = "", keyword: str | None = None, suggestion: str | None = None
) -> NoReturn:
    """Raise the one refusal."""
    rejection = Rejection(code=code, message=message, pointer=pointer, keyword=keyword, suggestion=suggestion)
    raise ContractRejectedError((rejection,))


def check_limit(
    limits: ContractLimits, name: str, observed: int, what: str, *, pointer: str = "", keyword: str | None = None
) -> None:
    """Refuse if `observed` is above the limit of that name."""
    limit: int = getattr(limits, name)
    if observed > limit:
        rejection = Rejection(
            code=RejectionCode.LIMIT_EXCEEDED,
            message=f"{what} is above the limit.",
            pointer=pointer,
            keyword=keyword,
            limit_name=name,
            limit=limit,
            observed=observed,
        )
        raise ContractRejectedError((rejection,))


def shown(text: str) -> str:
    """A caller's name or text, short enough for a message."""
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")


def place(text: str, at: int) -> str:
    """Where character `at` of a text is, for people: both numbers count from 1."""
    line = text.count("\n", 0, at) + 1
    column = at - (text.rfind("\n", 0, at) + 1) + 1
    return f"line {line}, column {column}"


def moved(error: ContractRejectedError, pointer: str) -> ContractRejectedError:
    """The same refusals of a part that stands at `pointer` in the whole."""
    return ContractRejectedError(
        tuple(rejection.with_pointer(pointer + rejection.pointer) for rejection in error.rejections)
    )


def told(error: ContractRejectedError, where: str) -> ContractRejectedError:
    """The same refusals of a part that stands inside one text: the place goes into the message, no pointer leads there.

    `where` ends as a sentence would go on: "in `%json` at line 3, column 4".
    """
    return ContractRejectedError(
        tuple(
            replace(rejection, pointer="", message=f"{where}{_inner(rejection.pointer)}: {rejection.message}")
            for rejection in error.rejections
        )
    )


def _inner(pointer: str) -> str:
    return f", {pointer}" if pointer else ""


def text_of(value: JsonValue, kind: str, *, pointer: str = "") -> str:
    """`value`, which must be a string that UTF-8 can carry."""
    if not isinstance(value, str):
        refuse(RejectionCode.INVALID_SCHEMA, f"A {kind} is a string.", pointer=pointer)
    check_encodable(value, pointer=pointer)
    return value


def check_encodable(text: str, *, pointer: str = "") -> None:
    """Refuse a text with lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        message = "A string contains a lone surrogate, which no UTF-8 text can carry."
        refuse(RejectionCode.LONE_SURROGATE, message, pointer=pointer)


def check_value(value: JsonValue, limits: ContractLimits) -> int:
    """The nesting of a structured contract whose nesting, size and strings are within bounds."""
    most = limits.max_nesting + WRAPPING_NESTING
    nesting = nesting_of(value, most)
    if nesting > most:
        check_limit(limits, "max_nesting", nesting, "The nesting of arrays and objects")
    text = canonical_json(value)
    check_encodable(text)
    check_limit(limits, "max_contract_bytes", len(text.encode()), "The size of the contract, written compactly,")
    return nesting


def nesting_of(value: JsonValue, enough: int) -> int:
    """How deep arrays and objects are nested, without recursion; stops counting just past `enough`."""
    depth = 0
    level: list[JsonValue] = [value] if isinstance(value, list | dict) else []
    while level and depth <= enough:
        level = [child for parent in level for child in _children(parent) if isinstance(child, list | dict)]
        depth += 1
    return depth


def _children(value: JsonValue) -> Iterable[JsonValue]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()
