"""JSON equality, exact: numbers by value, objects without order, and `true` is not 1."""

from collections.abc import Hashable
from decimal import Decimal

from registry.contract import JsonValue


def identity(value: JsonValue) -> Hashable:
    """A hashable that two values share exactly if they are equal as JSON Schema 2020-12 (core, 4.2.2) says.

    Python's own numbers already agree across `int` and `Decimal`; the tags keep `true` from 1, and a list from an
    object. Linear in the value, so that `uniqueItems` and large enums are too.
    """
    match value:
        case None | bool() | str():
            return (type(value), value)
        case int() | Decimal():
            return ("number", value)
        case list():
            return ("array", tuple(identity(item) for item in value))
        case dict():
            return ("object", frozenset((name, identity(member)) for name, member in value.items()))


def equal(one: JsonValue, two: JsonValue) -> bool:
    """Whether two values are equal."""
    return identity(one) == identity(two)
