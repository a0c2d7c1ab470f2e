"""Which values text bounds keep out of what is generated."""

from decimal import Decimal

from policy.text_bounds import TextBounds
from registry.contract import JsonValue


def is_within(value: JsonValue, bounds: TextBounds, depth: int = 0) -> bool:
    """Whether what is generated may be so deep, and its numbers so long."""
    if isinstance(value, list | dict):
        parts = value.values() if isinstance(value, dict) else value
        is_shallow = bounds.max_depth is None or depth < bounds.max_depth
        return is_shallow and all(is_within(part, bounds, depth + 1) for part in parts)
    if bounds.max_digits is None or isinstance(value, bool) or not isinstance(value, int | Decimal):
        return True
    whole, _, fraction = format(Decimal(value), "f").lstrip("-").partition(".")
    return max(len(whole), len(fraction)) <= bounds.max_digits
