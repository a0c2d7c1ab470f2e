"""One text for one JSON value: compact, exact numbers in one spelling, strings escaped as RFC 8785 does.

Unlike RFC 8785, numbers are exact decimals, because doubles lose integers above 2^53 and contracts compare exactly.
"""

from decimal import Decimal
from json.encoder import encode_basestring

from registry.contract import JsonValue

MAX_POSITIONAL_DIGITS = 40
"""Longer numbers are written with an exponent: `1e400` is not 401 characters, and 2^128 is still readable."""


def canonical_json(value: JsonValue) -> str:
    """The text of `value`, members in the order they have. Equal values give equal texts but for member order."""
    parts: list[str] = []
    _write(value, parts)
    return "".join(parts)


def canonical_number(value: int | Decimal) -> str:
    """The one spelling of a number: positional up to 40 digits, else `d.ddde±n`; no `+`, no `-0`, no idle zeros."""
    if isinstance(value, int) and -(10**15) < value < 10**15:
        return str(value)
    exact = Decimal(value)
    sign, digits, exponent = exact.as_tuple()
    assert isinstance(exponent, int)
    coefficient = "".join(map(str, digits)).lstrip("0")
    stripped = coefficient.rstrip("0")
    if not stripped:
        return "0"
    exponent += len(coefficient) - len(stripped)
    minus = "-" if sign else ""
    point = len(stripped) + exponent  # digits before the decimal point
    if exponent >= 0 and point <= MAX_POSITIONAL_DIGITS:
        return minus + stripped + "0" * exponent
    if 0 < point < len(stripped) <= MAX_POSITIONAL_DIGITS:
        return f"{minus}{stripped[:point]}.{stripped[point:]}"
    if point <= 0 and len(stripped) - point < MAX_POSITIONAL_DIGITS:
        return f"{minus}0.{'0' * -point}{stripped}"
    fraction = f".{stripped[1:]}" if len(stripped) > 1 else ""
    return f"{minus}{stripped[0]}{fraction}e{point - 1}"


def member_order(name: str) -> bytes:
    """Sort key of object members: UTF-16 code units, as RFC 8785 has it."""
    return name.encode("utf-16-be")


def sorted_members(value: JsonValue) -> JsonValue:
    """`value` with the members of every object sorted: for values that are compared, never for `properties`."""
    if isinstance(value, dict):
        return {name: sorted_members(value[name]) for name in sorted(value, key=member_order)}
    if isinstance(value, list):
        return [sorted_members(item) for item in value]
    return value


def value_text(value: JsonValue) -> str:
    """A text that is equal exactly if the values are equal as JSON Schema has it (2 and 2.0 are, 1 and true not)."""
    return encode_basestring(value) if isinstance(value, str) else canonical_json(sorted_members(value))


def _write(value: JsonValue, parts: list[str]) -> None:
    if isinstance(value, str):
        parts.append(encode_basestring(value))
    elif value is None:
        parts.append("null")
    elif isinstance(value, bool):
        parts.append("true" if value else "false")
    elif isinstance(value, dict):
        parts.append("{")
        separator = ""
        for name, member in value.items():
            parts.append(f"{separator}{encode_basestring(name)}:")
            _write(member, parts)
            separator = ","
        parts.append("}")
    elif isinstance(value, list):
        parts.append("[")
        separator = ""
        for item in value:
            if separator:
                parts.append(separator)
            _write(item, parts)
            separator = ","
        parts.append("]")
    else:
        parts.append(canonical_number(value))
