"""Schemas and instances for properties: small, over few names and values, so that they meet each other."""

from typing import Any

from hypothesis import strategies as st

NAMES = st.sampled_from(["a", "b", "c/d", "e~f", ""])
SCALARS = st.sampled_from([None, True, False, 0, 1, 2, -1, 1.5, "", "a", "ab", "é"])
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)
_TYPES = st.sampled_from(["array", "boolean", "integer", "null", "number", "object", "string"])
_COUNTS = st.integers(0, 3)
_NAME_LISTS = st.lists(NAMES, max_size=3, unique=True)

ASSERTIONS: dict[str, st.SearchStrategy[Any]] = {
    "type": _TYPES | st.lists(_TYPES, min_size=1, max_size=3, unique=True),
    "enum": st.lists(VALUES, min_size=1, max_size=4),
    "const": VALUES,
    "minimum": st.integers(-2, 2) | st.sampled_from([0.5, 1.5]),
    "exclusiveMaximum": st.integers(-2, 3),
    "multipleOf": st.integers(1, 3),
    "minLength": _COUNTS,
    "maxLength": _COUNTS,
    "pattern": st.sampled_from(["^a", "b$", "."]),
    "minItems": _COUNTS,
    "maxItems": _COUNTS,
    "uniqueItems": st.booleans(),
    "maxProperties": _COUNTS,
    "required": _NAME_LISTS,
    "dependentRequired": st.dictionaries(NAMES, _NAME_LISTS, max_size=2),
}
ANNOTATIONS: dict[str, st.SearchStrategy[Any]] = {"title": st.just("t"), "default": VALUES, "x-note": VALUES}


def _with_applicators(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    several = st.lists(inner, min_size=1, max_size=2)
    named = st.dictionaries(NAMES, inner, max_size=3)
    applicators: dict[str, st.SearchStrategy[Any]] = {
        "allOf": several,
        "anyOf": several,
        "oneOf": several,
        "not": inner,
        "if": inner,
        "then": inner,
        "else": inner,
        "prefixItems": several,
        "items": inner,
        "contains": inner,
        "minContains": _COUNTS,
        "properties": named,
        "patternProperties": st.dictionaries(st.sampled_from(["^a", "."]), inner, max_size=2),
        "additionalProperties": inner,
        "propertyNames": inner,
        "dependentSchemas": named,
        "unevaluatedProperties": inner,
        "unevaluatedItems": inner,
    }
    return st.fixed_dictionaries({}, optional=ASSERTIONS | ANNOTATIONS | applicators).map(_few)


def _few(schema: dict[str, Any]) -> dict[str, Any]:
    """At most five keywords, chosen by what they hold: more would nearly always contradict each other."""
    return dict(sorted(schema.items(), key=lambda item: (len(repr(item[1])) % 7, item[0]))[:5])


SCHEMAS = st.recursive(st.booleans() | st.just({"type": "string"}), _with_applicators, max_leaves=8)
