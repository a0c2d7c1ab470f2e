"""The assertions of JSON Schema 2020-12, exact over exact numbers, for `jsonschema`'s evaluator.

The library's own versions are replaced where they are inexact (floating remainders), slow (pairwise `uniqueItems`),
run the standard library's backtracking patterns, or put the whole document into a message. Each takes the
evaluator, the keyword's value, the instance and the schema around it, and yields its errors.
"""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeAlias

from jsonschema.exceptions import ValidationError

from gateway.validation.equality import equal, identity
from gateway.validation.formats.table import FORMATS
from gateway.validation.patterns import matches
from registry.contract import JsonValue

Evaluator: TypeAlias = Any
"""A `jsonschema` validator, positioned at one subschema. The library ships no types."""

Schema: TypeAlias = dict[str, Any]
Errors: TypeAlias = Iterator[ValidationError]

_MAX_QUOTED_CHARACTERS = 60


def quoted(value: JsonValue) -> str:
    """A value of the contract, short enough for a message."""
    text = repr(value) if not isinstance(value, Decimal) else str(value)
    return text if len(text) <= _MAX_QUOTED_CHARACTERS else text[:_MAX_QUOTED_CHARACTERS] + "…"


def _is_number(instance: JsonValue) -> bool:
    return isinstance(instance, int | Decimal) and not isinstance(instance, bool)


def type_(evaluator: Evaluator, types: str | Sequence[str], instance: JsonValue, _schema: Schema) -> Errors:
    if isinstance(types, str):
        if not evaluator.is_type(instance, types):
            yield ValidationError(f"expected {types}")
    elif not any(evaluator.is_type(instance, name) for name in types):
        yield ValidationError(f"expected {' or '.join(types)}")


def enum(_evaluator: Evaluator, members: list[JsonValue], instance: JsonValue, _schema: Schema) -> Errors:
    target = identity(instance)
    if all(identity(member) != target for member in members):
        yield ValidationError(f"not one of the {len(members)} values of the enum")


def const(_evaluator: Evaluator, value: JsonValue, instance: JsonValue, _schema: Schema) -> Errors:
    if not equal(value, instance):
        yield ValidationError(f"expected exactly {quoted(value)}")


def multiple_of(_evaluator: Evaluator, divisor: int | Decimal, instance: Any, _schema: Schema) -> Errors:
    if _is_number(instance) and (Fraction(instance) / Fraction(divisor)).denominator != 1:
        yield ValidationError(f"not a multiple of {divisor}")


def minimum(_evaluator: Evaluator, bound: int | Decimal, instance: Any, _schema: Schema) -> Errors:
    if _is_number(instance) and instance < bound:
        yield ValidationError(f"less than {bound}")


def maximum(_evaluator: Evaluator, bound: int | Decimal, instance: Any, _schema: Schema) -> Errors:
    if _is_number(instance) and instance > bound:
        yield ValidationError(f"greater than {bound}")


def exclusive_minimum(_evaluator: Evaluator, bound: int | Decimal, instance: Any, _schema: Schema) -> Errors:
    if _is_number(instance) and instance <= bound:
        yield ValidationError(f"not greater than {bound}")


def exclusive_maximum(_evaluator: Evaluator, bound: int | Decimal, instance: Any, _schema: Schema) -> Errors:
    if _is_number(instance) and instance >= bound:
        yield ValidationError(f"not less than {bound}")


def min_length(_evaluator: Evaluator, bound: int | Decimal, instance: JsonValue, _schema: Schema) -> Errors:
    if isinstance(instance, str) and len(instance) < bound:
        yield ValidationError(f"shorter than {bound} characters")


def max_length(_evaluator: Evaluator, bound: int | Decimal, instance: JsonValue, _schema: Schema) -> Errors:
    if isinstance(instance, str) and len(instance) > bound:
        yield ValidationError(f"longer than {bound} characters")


def pattern(_evaluator: Evaluator, expression: str, instance: JsonValue, _schema: Schema) -> Errors:
    if isinstance(instance, str) and not matches(expression, instance):
        yield ValidationError(f"does not match the pattern {quoted(expression)}")


def format_(_evaluator: Evaluator, name: str, instance: JsonValue, _schema: Schema) -> Errors:
    asserts = FORMATS.get(name)
    if asserts is not None and isinstance(instance, str) and not asserts(instance):
        yield ValidationError(f"not in the format {name}")


def min_items(_evaluator: Evaluator, bound: int | Decimal, instance: JsonValue, _schema: Schema) -> Errors:
    if isinstance(instance, list) and len(instance) < bound:
        yield ValidationError(f"fewer than {bound} items")


def max_items(_evaluator: Evaluator, bound: int | Decimal, instance: JsonValue, _schema: Schema) -> Errors:
    if isinstance(instance, list) and len(instance) > bound:
        yield ValidationError(f"more than {bound} items")


def unique_items(_evaluator: Evaluator, wanted: bool, instance: JsonValue, _schema: Schema) -> Errors:  # noqa: FBT001
    if wanted and isinstance(instance, list) and len({identity(item) for item in instance}) < len(instance):
        yield ValidationError("two items are equal")


def min_properties(_evaluator: Evaluator, bound: int | Decimal, instance: JsonValue, _schema: Schema) -> Errors:
    if isinstance(instance, dict) and len(instance) < bound:
        yield ValidationError(f"fewer than {bound} members")


def max_properties(_evaluator: Evaluator, bound: int | Decimal, instance: JsonValue, _schema: Schema) -> Errors:
    if isinstance(instance, dict) and len(instance) > bound:
        yield ValidationError(f"more than {bound} members")


def required(_evaluator: Evaluator, names: list[str], instance: JsonValue, _schema: Schema) -> Errors:
    if isinstance(instance, dict):
        for name in names:
            if name not in instance:
                yield ValidationError(f"the member {quoted(name)} is missing")


def dependent_required(
    _evaluator: Evaluator, dependencies: dict[str, list[str]], instance: JsonValue, _schema: Schema
) -> Errors:
    if isinstance(instance, dict):
        for name, needed in dependencies.items():
            for other in needed:
                if name in instance and other not in instance:
                    yield ValidationError(f"the member {quoted(name)} asks for {quoted(other)}")
