"""Refusals of numbers that the engine would round, worded for the author of the contract."""

from collections.abc import Iterator

from compiler_pool.lowering.numbers import (
    SAFE_DIGITS,
    Inexact,
    Number,
    as_number,
    inexact,
    inexact_multiple,
    next_inside,
)
from policy.limits import ContractLimits
from policy.rejection import Rejection, RejectionCode
from registry.contract import JsonValue


def inexact_bound(value: Number, *, pointer: str, keyword: str) -> Rejection | None:
    """The refusal of a number that is a constraint, if the engine would change it or the integer it makes of it."""
    found = inexact(value, max_digits=SAFE_DIGITS)
    inside = next_inside(keyword, value) if found is None else None
    if inside is not None:
        found = inexact(inside, max_digits=SAFE_DIGITS)
        value = inside
    return None if found is None else _rejection(value, found, pointer, keyword)


def inexact_literal(value: JsonValue, *, pointer: str, keyword: str) -> Rejection | None:
    """The refusal of the first number in a literal, at any depth, that the engine would change."""
    for number in _numbers(value):
        rejection = inexact_bound(number, pointer=pointer, keyword=keyword)
        if rejection is not None:
            return rejection
    return None


def inexact_divisor(value: JsonValue, *, limits: ContractLimits, pointer: str) -> Rejection | None:
    """The refusal of a `multipleOf` that is too large, or that the engine would scale to another one."""
    number = as_number(value)
    if number is None:
        return None
    rejection = inexact_bound(number, pointer=pointer, keyword="multipleOf")
    if rejection is not None:
        return rejection
    if number > limits.max_multiple_of:
        return Rejection(
            code=RejectionCode.LIMIT_EXCEEDED,
            message=f"multipleOf {number} is above {limits.max_multiple_of}",
            pointer=pointer,
            keyword="multipleOf",
            limit_name="max_multiple_of",
            limit=limits.max_multiple_of,
            observed=int(number),
        )
    found = inexact_multiple(number, max_multiple=limits.max_multiple_of)
    if found is None:
        return None
    message = f"multipleOf {number} cannot be enforced exactly: it {found.reason}"
    code = RejectionCode.UNSUPPORTED_VALUE
    return Rejection(code=code, message=message, pointer=pointer, keyword="multipleOf")


def _rejection(value: Number, found: Inexact, pointer: str, keyword: str) -> Rejection:
    message = f"{_short(value)} cannot be enforced exactly: it {found.reason}"
    code = RejectionCode.UNSUPPORTED_VALUE
    return Rejection(code=code, message=message, pointer=pointer, keyword=keyword)


def _short(value: Number) -> str:
    text = str(value)
    return text if len(text) <= 40 else f"{text[:40]}..."


def _numbers(value: JsonValue) -> Iterator[Number]:
    match value:
        case list():
            for item in value:
                yield from _numbers(item)
        case dict():
            for item in value.values():
                yield from _numbers(item)
        case _:
            number = as_number(value)
            if number is not None:
                yield number
