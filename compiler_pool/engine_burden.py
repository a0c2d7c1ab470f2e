"""Whether the engine's own schema compiler is done with a schema quickly: told beforehand, because nothing stops it.

It has no limits of its own while it works: two steps beside each other become one with all their remainders as states
(3 s for 997 and 991), and patterns beside each other are run together at each mask (200 of them: over 10 s). Such
schemas go by the intermediate form, which counts what it does. It errs to one side: "light" is never said in error.
"""

from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from math import lcm
from typing import Final

from compiler_pool.form.number_texts import num_decimals
from compiler_pool.lowering.outcome import subschemas
from registry.contract import JsonValue

MAX_JOINT_STEP: Final = 10_000
"""Of the least common multiple of all steps of a contract, at the scale at which it is whole: states of a lexer."""
MAX_JOINT_PATTERNS: Final = 4
"""Patterns and formats that one string may have to satisfy together."""


def is_light(schema: JsonValue) -> bool:
    """Whether the engine's own compiler may have the canonical schema."""
    if not isinstance(schema, dict):
        return True
    steps: set[Fraction] = set()
    pending: list[Mapping[str, JsonValue]] = [schema]
    definitions = schema.get("$defs")
    patterns = _Patterns(definitions if isinstance(definitions, dict) else {})
    while pending:
        node = pending.pop()
        step = node.get("multipleOf")
        if isinstance(step, int | Decimal):
            steps.add(Fraction(step))
        if patterns.together(node) > MAX_JOINT_PATTERNS:
            return False
        for keyword, value in node.items():
            pending.extend(inner for _, inner in subschemas("", keyword, value))
    return _joint_step(steps) <= MAX_JOINT_STEP


def _joint_step(steps: set[Fraction]) -> int:
    """The least common multiple at the scale of the smallest step; some number above the limit where it is above."""
    if len(steps) < 2:
        return 0  # what one step may be is a limit of its own
    scale = max(map(num_decimals, steps))
    joint = 1
    for step in steps:
        joint = lcm(joint, int(step * 10**scale))
        if joint > MAX_JOINT_STEP:
            break
    return joint


class _Patterns:
    """How many patterns and formats subschemas assert of one string, those that they refer to included."""

    def __init__(self, definitions: Mapping[str, JsonValue]) -> None:
        self._definitions = definitions
        self._known: dict[int, int] = {}

    def together(self, node: Mapping[str, JsonValue]) -> int:
        """At most so many hold at once. A reference on the way to itself adds none: reading has refused such cycles."""
        if id(node) in self._known:
            return self._known[id(node)]
        self._known[id(node)] = 0
        count = sum(keyword in node for keyword in ("pattern", "format"))
        for keyword, combine in (("allOf", sum), ("anyOf", max), ("oneOf", max)):
            parts = node.get(keyword)
            if isinstance(parts, list):
                counts = [self.together(part) for part in parts if isinstance(part, dict)]
                count += combine(counts) if counts else 0
        target = self._target(node.get("$ref"))
        if target is not None:
            count += self.together(target)
        self._known[id(node)] = count
        return count

    def _target(self, reference: JsonValue) -> Mapping[str, JsonValue] | None:
        if not isinstance(reference, str):
            return None
        target = self._definitions.get(reference.removeprefix("#/$defs/"))
        return target if isinstance(target, dict) else None
