"""Free JSON has bounds of its own: a contract that says nothing of its texts does not say that they may run away."""

from policy.text_bounds import FREE_JSON, TextBounds
from registry.contract import JsonValue


def bounds_for(schema: JsonValue, bounds: TextBounds) -> TextBounds:
    """The bounds that hold for a canonical schema: those of the policy, and for free JSON its own besides."""
    is_free = schema is True or (isinstance(schema, dict) and schema.keys() <= {"type"})
    return bounds.filled(FREE_JSON) if is_free else bounds
