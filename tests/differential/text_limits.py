"""Which values text bounds let through in any case; a contract's own bounds may let through more."""

import random
import re
from decimal import Decimal

from policy.text_bounds import UNBOUNDED, TextBounds
from registry.contract import JsonValue


def is_within(value: JsonValue, bounds: TextBounds, depth: int = 0) -> bool:
    """Whether no bound keeps the value out, whatever the contract says."""
    match value:
        case dict() | list() if bounds.max_depth is not None and depth >= bounds.max_depth:
            return False
        case dict():
            members = value.items()
            return all(is_within(name, bounds) and is_within(member, bounds, depth + 1) for name, member in members)
        case list():
            is_short = bounds.max_items is None or len(value) <= bounds.max_items
            return is_short and all(is_within(item, bounds, depth + 1) for item in value)
        case str():
            is_short = bounds.max_string_length is None or len(value) <= bounds.max_string_length
            # Digits of a time or a duration are bounded too.
            runs = (len(run) for run in re.findall("[0-9]+", value))
            return is_short and (bounds.max_digits is None or max(runs, default=0) <= bounds.max_digits)
        case bool() | None:
            return True
        case _:
            whole, _, fraction = format(Decimal(value), "f").lstrip("-").partition(".")
            return bounds.max_digits is None or max(len(whole), len(fraction)) <= bounds.max_digits


def drawn_bounds(draw: random.Random) -> TextBounds:
    """Mostly none."""
    if draw.random() < 0.75:
        return UNBOUNDED
    return TextBounds(
        # Up to 15 they hold whatever the step; beyond, multiples that the engine counts end there all the same.
        max_digits=draw.choice((None, 1, 2, 15)),
        max_string_length=draw.choice((None, None, 1, 3)),
        max_items=draw.choice((None, None, 1, 2)),
        max_depth=draw.choice((None, None, 1, 2, 3)),
    )
