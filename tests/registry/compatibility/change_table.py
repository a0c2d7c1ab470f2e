"""One pair of schemas for each kind of change, with what follows from it: the expected answers are written by hand."""

from dataclasses import dataclass
from typing import Any

from registry.compatibility.changes import ChangeKind, Effect

K = ChangeKind
WIDENS, NARROWS, BOTH, NEITHER = Effect.WIDENS, Effect.NARROWS, Effect.BOTH, Effect.NEITHER


@dataclass(frozen=True, slots=True)
class Row:
    """An old schema, a new one, the one change between them, and its effect on the documents that are allowed."""

    kind: ChangeKind
    effect: Effect
    old: Any
    new: Any


def _object(*required: str, other: Any = None, **properties: Any) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object", "properties": properties, "required": list(required)}
    return schema if other is None else schema | {"additionalProperties": other}


def _array(**keywords: Any) -> dict[str, Any]:
    return {"type": "array", **keywords}


_S, _I, _N = {"type": "string"}, {"type": "integer"}, {"type": "number"}
_ID = {"id": _I}
_BIG = {"type": "integer", "minimum": 10}


def _string(**keywords: Any) -> dict[str, Any]:
    return {"type": "string", **keywords}


def _number(**keywords: Any) -> dict[str, Any]:
    return {"type": "number", **keywords}


def _tagged(tag: str, **properties: Any) -> dict[str, Any]:
    return _object("t", t={"const": tag}, **properties)


ROWS = (
    # whole subschemas
    Row(K.SCHEMA_REPLACED, BOTH, {"type": "string"}, {"enum": [1, 2]}),
    Row(K.SCHEMA_TO_TRUE, WIDENS, _object(a=_S), _object(a=True)),
    Row(K.TRUE_TO_SCHEMA, NARROWS, _object(a=True), _object(a=_S)),
    Row(K.SCHEMA_TO_FALSE, NARROWS, _object(a=_S), _object(a=False)),
    Row(K.FALSE_TO_SCHEMA, WIDENS, _object(a=False), _object(a=_S)),
    # types
    Row(K.TYPE_ADDED, WIDENS, _object(a=_S), _object(a={"type": ["string", "boolean"]})),
    Row(K.TYPE_REMOVED, NARROWS, _object(a={"type": ["string", "boolean"]}), _object(a=_S)),
    Row(K.TYPE_CHANGED, BOTH, _object(a=_S), _object(a=_I)),
    Row(K.TYPE_CONSTRAINT_ADDED, NARROWS, {"maxLength": 3}, {"maxLength": 3, "type": "string"}),
    Row(K.TYPE_CONSTRAINT_REMOVED, WIDENS, {"maxLength": 3, "type": "string"}, {"maxLength": 3}),
    Row(K.NULL_ALLOWED, WIDENS, _object("a", a=_S), _object("a", a={"type": ["string", "null"]})),
    Row(K.NULL_FORBIDDEN, NARROWS, _object("a", a={"type": ["string", "null"]}), _object("a", a=_S)),
    Row(K.INTEGER_TO_NUMBER, WIDENS, _array(items=_I), _array(items=_N)),
    Row(K.NUMBER_TO_INTEGER, NARROWS, _array(items=_N), _array(items=_I)),
    # values
    Row(K.ENUM_ADDED, NARROWS, _string(), _string(enum=["a", "b"])),
    Row(K.ENUM_REMOVED, WIDENS, _string(enum=["a", "b"]), _string()),
    Row(K.ENUM_MEMBERS_ADDED, WIDENS, _object(a={"enum": ["x", 1]}), _object(a={"enum": ["x", 1, None]})),
    Row(K.ENUM_MEMBERS_REMOVED, NARROWS, _object(a={"enum": ["x", 1, None]}), _object(a={"enum": ["x", 1]})),
    Row(K.ENUM_MEMBERS_REPLACED, BOTH, {"enum": ["a", "b"]}, {"enum": ["b", "c"]}),
    Row(K.CONST_ADDED, NARROWS, _object(a={"type": "integer"}), _object(a={"type": "integer", "const": 4})),
    Row(K.CONST_REMOVED, WIDENS, _object(a={"type": "integer", "const": 4}), _object(a={"type": "integer"})),
    Row(K.CONST_CHANGED, BOTH, {"const": {"v": 1}}, {"const": {"v": 2}}),
    # numbers
    Row(K.MINIMUM_ADDED, NARROWS, _number(), _number(minimum=0)),
    Row(K.MINIMUM_REMOVED, WIDENS, _number(minimum=0), _number()),
    Row(K.MINIMUM_RAISED, NARROWS, _number(minimum=0), _number(minimum=0.1)),
    Row(K.MINIMUM_LOWERED, WIDENS, _number(minimum=0), _number(minimum=-1e-20)),
    Row(K.MAXIMUM_ADDED, NARROWS, _number(), _number(maximum=9)),
    Row(K.MAXIMUM_REMOVED, WIDENS, _number(maximum=9), _number()),
    Row(K.MAXIMUM_RAISED, WIDENS, _object(a=_number(maximum=9)), _object(a=_number(maximum=10))),
    Row(K.MAXIMUM_LOWERED, NARROWS, _object(a=_number(maximum=10)), _object(a=_number(maximum=9))),
    Row(K.EXCLUSIVE_MINIMUM_ADDED, NARROWS, _number(minimum=0), _number(minimum=0, exclusiveMinimum=0)),
    Row(K.EXCLUSIVE_MINIMUM_REMOVED, WIDENS, _number(minimum=0, exclusiveMinimum=0), _number(minimum=0)),
    Row(K.EXCLUSIVE_MINIMUM_RAISED, NEITHER, _number(type="integer", exclusiveMinimum=1),
        _number(type="integer", exclusiveMinimum=1.5)),
    Row(K.EXCLUSIVE_MINIMUM_LOWERED, WIDENS, _number(exclusiveMinimum=1), _number(exclusiveMinimum=0)),
    Row(K.EXCLUSIVE_MAXIMUM_ADDED, NARROWS, _number(), _number(exclusiveMaximum=0)),
    Row(K.EXCLUSIVE_MAXIMUM_REMOVED, WIDENS, _number(exclusiveMaximum=0), _number()),
    Row(K.EXCLUSIVE_MAXIMUM_RAISED, WIDENS, _number(exclusiveMaximum=0), _number(exclusiveMaximum=1)),
    Row(K.EXCLUSIVE_MAXIMUM_LOWERED, NARROWS, _number(exclusiveMaximum=1), _number(exclusiveMaximum=0)),
    Row(K.MULTIPLE_OF_ADDED, NARROWS, _number(), _number(multipleOf=0.01)),
    Row(K.MULTIPLE_OF_REMOVED, NEITHER, _number(type="integer", multipleOf=0.5), _number(type="integer")),
    Row(K.MULTIPLE_OF_CHANGED, NARROWS, _number(multipleOf=3), _number(multipleOf=6)),
    Row(K.MULTIPLE_OF_CHANGED, BOTH, _number(multipleOf=4), _number(multipleOf=6)),
    # strings
    Row(K.MIN_LENGTH_ADDED, NARROWS, _string(), _string(minLength=1)),
    Row(K.MIN_LENGTH_REMOVED, WIDENS, _string(minLength=1), _string()),
    Row(K.MIN_LENGTH_RAISED, NARROWS, _string(minLength=1), _string(minLength=2)),
    Row(K.MIN_LENGTH_LOWERED, WIDENS, _string(minLength=2), _string(minLength=1)),
    Row(K.MAX_LENGTH_ADDED, NARROWS, _string(pattern="^a+$"), _string(pattern="^a+$", maxLength=200)),
    Row(K.MAX_LENGTH_ADDED, NEITHER, _string(pattern="^a{1,9}$"), _string(pattern="^a{1,9}$", maxLength=9)),
    Row(K.MAX_LENGTH_REMOVED, WIDENS, _string(maxLength=3), _string()),
    Row(K.MAX_LENGTH_RAISED, WIDENS, _string(maxLength=3), _string(maxLength=4)),
    Row(K.MAX_LENGTH_LOWERED, NARROWS, _string(maxLength=4), _string(maxLength=3)),
    Row(K.PATTERN_ADDED, NARROWS, _string(), _string(pattern="^[a-z]*$")),
    Row(K.PATTERN_REMOVED, WIDENS, _string(pattern="^[a-z]*$"), _string()),
    Row(K.PATTERN_CHANGED, WIDENS, _string(pattern="^[a-z]+$"), _string(pattern="^\\w+$")),
    Row(K.PATTERN_CHANGED, NEITHER, _string(pattern="^(?:ab|ac)$"), _string(pattern="^a[bc]$")),
    Row(K.PATTERN_CHANGED, BOTH, _string(pattern="^\\p{Lu}"), _string(pattern="^[A-Z0-9]")),
    Row(K.FORMAT_ADDED, NARROWS, _string(), _string(format="email")),
    Row(K.FORMAT_REMOVED, WIDENS, _string(format="date"), _string()),
    Row(K.FORMAT_CHANGED, BOTH, _string(format="date"), _string(format="date-time")),
    # arrays
    Row(K.MIN_ITEMS_ADDED, NARROWS, _array(), _array(minItems=1)),
    Row(K.MIN_ITEMS_REMOVED, WIDENS, _array(minItems=1), _array()),
    Row(K.MIN_ITEMS_RAISED, NARROWS, _array(minItems=1), _array(minItems=2)),
    Row(K.MIN_ITEMS_LOWERED, WIDENS, _array(minItems=2), _array(minItems=1)),
    Row(K.MAX_ITEMS_ADDED, NARROWS, _array(), _array(maxItems=3)),
    Row(K.MAX_ITEMS_REMOVED, WIDENS, _array(maxItems=3), _array()),
    Row(K.MAX_ITEMS_RAISED, WIDENS, _array(maxItems=3), _array(maxItems=4)),
    Row(K.MAX_ITEMS_LOWERED, NEITHER, _array(items={"type": "boolean"}, uniqueItems=True, maxItems=3),
        _array(items={"type": "boolean"}, uniqueItems=True, maxItems=2)),
    Row(K.UNIQUE_ITEMS_ADDED, NARROWS, _array(items=_I), _array(items=_I, uniqueItems=True)),
    Row(K.UNIQUE_ITEMS_REMOVED, WIDENS, _array(items=_I, uniqueItems=True), _array(items=_I)),
    Row(K.ITEMS_ADDED, NARROWS, _array(), _array(items=_S)),
    Row(K.ITEMS_REMOVED, WIDENS, _array(items=_S), _array()),
    Row(K.ITEMS_CLOSED, NARROWS, _array(prefixItems=[_S]), _array(prefixItems=[_S], items=False)),
    Row(K.ITEMS_OPENED, WIDENS, _array(prefixItems=[_S], items=False), _array(prefixItems=[_S])),
    Row(K.PREFIX_ITEM_ADDED, NARROWS, _array(prefixItems=[_S]), _array(prefixItems=[_S, _I])),
    Row(K.PREFIX_ITEM_ADDED, WIDENS, _array(prefixItems=[_S], items=False), _array(prefixItems=[_S, _I], items=False)),
    Row(K.PREFIX_ITEM_REMOVED, WIDENS, _array(prefixItems=[_S, _I]), _array(prefixItems=[_S])),
    Row(K.CONTAINS_ADDED, NARROWS, _array(), _array(contains=_I)),
    Row(K.CONTAINS_REMOVED, WIDENS, _array(contains=_I), _array()),
    Row(K.MIN_CONTAINS_CHANGED, NARROWS, _array(contains=_I), _array(contains=_I, minContains=2)),
    Row(K.MAX_CONTAINS_CHANGED, WIDENS, _array(contains=_I, maxContains=2), _array(contains=_I, maxContains=3)),
    Row(K.UNEVALUATED_ITEMS_ADDED, NARROWS, _array(allOf=[{"prefixItems": [_S]}]),
        _array(allOf=[{"prefixItems": [_S]}], unevaluatedItems=False)),
    Row(K.UNEVALUATED_ITEMS_REMOVED, WIDENS, _array(contains=_S, unevaluatedItems=False), _array(contains=_S)),
    # members, declared and others
    Row(K.OPTIONAL_PROPERTY_ADDED_TO_OPEN, NARROWS, _object(**_ID), _object(**_ID, a=_S)),
    Row(K.OPTIONAL_PROPERTY_ADDED_TO_OPEN, NEITHER, _object(**_ID), _object(**_ID, a=True)),
    Row(K.OPTIONAL_PROPERTY_ADDED_TO_CLOSED, WIDENS, _object(**_ID, other=False), _object(**_ID, a=_S, other=False)),
    Row(K.OPTIONAL_PROPERTY_ADDED_TO_PARTLY_OPEN, BOTH, _object(**_ID, other=_S), _object(**_ID, a=_I, other=_S)),
    Row(K.OPTIONAL_PROPERTY_ADDED_TO_PARTLY_OPEN, NEITHER, _object(**_ID, other=_S), _object(**_ID, a=_S, other=_S)),
    Row(K.REQUIRED_PROPERTY_ADDED_TO_OPEN, NARROWS, _object(**_ID), _object("a", **_ID, a=_S)),
    Row(K.REQUIRED_PROPERTY_ADDED_TO_CLOSED, BOTH, _object(**_ID, other=False), _object("a", **_ID, a=_S, other=False)),
    Row(K.REQUIRED_PROPERTY_ADDED_TO_PARTLY_OPEN, NARROWS, _object(**_ID, other=_S),
        _object("a", **_ID, a=_S, other=_S)),
    Row(K.OPTIONAL_PROPERTY_REMOVED_FROM_OPEN, WIDENS, _object(**_ID, a=_S), _object(**_ID)),
    Row(K.OPTIONAL_PROPERTY_REMOVED_FROM_CLOSED, NARROWS, _object(**_ID, a=_S, other=False),
        _object(**_ID, other=False)),
    Row(K.OPTIONAL_PROPERTY_REMOVED_FROM_PARTLY_OPEN, BOTH, _object(**_ID, a=_I, other=_S), _object(**_ID, other=_S)),
    Row(K.REQUIRED_PROPERTY_REMOVED_FROM_OPEN, WIDENS, _object("a", **_ID, a=_S), _object(**_ID)),
    Row(K.REQUIRED_PROPERTY_REMOVED_FROM_CLOSED, BOTH, _object("a", **_ID, a=_S, other=False),
        _object(**_ID, other=False)),
    Row(K.REQUIRED_PROPERTY_REMOVED_FROM_PARTLY_OPEN, WIDENS, _object("a", **_ID, a=_S, other=_S),
        _object(**_ID, other=_S)),
    Row(K.PROPERTY_MADE_REQUIRED, NARROWS, _object(**_ID), _object("id", **_ID)),
    Row(K.PROPERTY_MADE_REQUIRED, NEITHER, _object(**_ID) | {"minProperties": 1, "additionalProperties": False},
        _object("id", **_ID) | {"minProperties": 1, "additionalProperties": False}),
    Row(K.PROPERTY_MADE_OPTIONAL, WIDENS, _object("id", **_ID), _object(**_ID)),
    Row(K.UNDECLARED_NAME_REQUIRED, NARROWS, _object(**_ID), _object("zip", **_ID)),
    Row(K.UNDECLARED_NAME_NOT_REQUIRED, WIDENS, _object("zip", **_ID), _object(**_ID)),
    Row(K.PROPERTY_ORDER_CHANGED, NEITHER, _object(a=_S, b=_S), _object(b=_S, a=_S)),
    Row(K.OBJECT_CLOSED, NARROWS, _object(**_ID), _object(**_ID, other=False)),
    Row(K.OBJECT_OPENED, WIDENS, _object(**_ID, other=False), _object(**_ID)),
    Row(K.OTHER_MEMBERS_RESTRICTED, NARROWS, _object(**_ID), _object(**_ID, other=_S)),
    Row(K.OTHER_MEMBERS_FREED, WIDENS, _object(**_ID, other=_S), _object(**_ID)),
    Row(K.OTHER_MEMBERS_OPENED_PARTLY, WIDENS, _object(**_ID, other=False), _object(**_ID, other=_S)),
    Row(K.OTHER_MEMBERS_CLOSED, NARROWS, _object(**_ID, other=_S), _object(**_ID, other=False)),
    Row(K.PATTERN_PROPERTY_ADDED, NARROWS, _object(**_ID), _object(**_ID) | {"patternProperties": {"^x-": _S}}),
    Row(K.PATTERN_PROPERTY_REMOVED, NARROWS, _object(**_ID, other=False) | {"patternProperties": {"^x-": _S}},
        _object(**_ID, other=False)),
    Row(K.PROPERTY_NAMES_ADDED, NARROWS, _object(**_ID), _object(**_ID) | {"propertyNames": {"maxLength": 8}}),
    Row(K.PROPERTY_NAMES_REMOVED, NEITHER, _object(**_ID, other=False) | {"propertyNames": {"pattern": "^[a-z]+$"}},
        _object(**_ID, other=False)),
    Row(K.MIN_PROPERTIES_ADDED, NARROWS, _object(**_ID), _object(**_ID) | {"minProperties": 2}),
    Row(K.MIN_PROPERTIES_REMOVED, WIDENS, _object(**_ID) | {"minProperties": 2}, _object(**_ID)),
    Row(K.MIN_PROPERTIES_RAISED, NARROWS, {"type": "object", "minProperties": 1},
        {"type": "object", "minProperties": 2}),
    Row(K.MIN_PROPERTIES_LOWERED, WIDENS, {"type": "object", "minProperties": 2},
        {"type": "object", "minProperties": 1}),
    Row(K.MAX_PROPERTIES_ADDED, NEITHER, _object(**_ID, other=False),
        _object(**_ID, other=False) | {"maxProperties": 1}),
    Row(K.MAX_PROPERTIES_REMOVED, WIDENS, _object(**_ID) | {"maxProperties": 1}, _object(**_ID)),
    Row(K.MAX_PROPERTIES_RAISED, WIDENS, {"type": "object", "maxProperties": 1},
        {"type": "object", "maxProperties": 2}),
    Row(K.MAX_PROPERTIES_LOWERED, NARROWS, {"type": "object", "maxProperties": 2},
        {"type": "object", "maxProperties": 1}),
    Row(K.DEPENDENT_REQUIRED_ADDED, NARROWS, _object(**_ID), _object(**_ID) | {"dependentRequired": {"id": ["of"]}}),
    Row(K.DEPENDENT_REQUIRED_REMOVED, WIDENS, _object(**_ID) | {"dependentRequired": {"id": ["of"]}}, _object(**_ID)),
    Row(K.DEPENDENT_REQUIRED_CHANGED, NARROWS, _object(**_ID) | {"dependentRequired": {"id": ["of"]}},
        _object(**_ID) | {"dependentRequired": {"id": ["by", "of"]}}),
    Row(K.DEPENDENT_SCHEMA_ADDED, NARROWS, _object(**_ID),
        _object(**_ID) | {"dependentSchemas": {"id": {"maxProperties": 1}}}),
    Row(K.DEPENDENT_SCHEMA_REMOVED, WIDENS, _object(**_ID) | {"dependentSchemas": {"id": {"required": ["of"]}}},
        _object(**_ID)),
    Row(K.UNEVALUATED_PROPERTIES_ADDED, NARROWS, _object(**_ID) | {"anyOf": [{"properties": {"b": _S}}, _object("c")]},
        _object(**_ID) | {"anyOf": [{"properties": {"b": _S}}, _object("c")], "unevaluatedProperties": False}),
    Row(K.UNEVALUATED_PROPERTIES_REMOVED, WIDENS, {"allOf": [_object(**_ID)], "unevaluatedProperties": False},
        {"allOf": [_object(**_ID)]}),
    # alternatives
    Row(K.ANY_OF_ADDED, NARROWS, _object(**_ID),
        _object(**_ID) | {"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}),
    Row(K.ANY_OF_REMOVED, WIDENS, _object(**_ID) | {"anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
        _object(**_ID)),
    Row(K.ANY_OF_BRANCH_ADDED, WIDENS, {"anyOf": [_S, _BIG]}, {"anyOf": [_S, _BIG, {"type": "null"}]}),
    Row(K.ANY_OF_BRANCH_REMOVED, NARROWS, {"anyOf": [_S, _BIG, {"type": "null"}]}, {"anyOf": [_S, _BIG]}),
    Row(K.ANY_OF_BRANCH_ADDED, NEITHER, {"anyOf": [_S, _I]}, {"anyOf": [_S, _I, {"const": 7}]}),
    Row(K.ONE_OF_ADDED, NARROWS, _object(), _object() | {"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}),
    Row(K.ONE_OF_REMOVED, WIDENS, _object() | {"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}, _object()),
    Row(K.ONE_OF_BRANCH_ADDED, WIDENS, {"oneOf": [_tagged("x", v=_I), _tagged("y")]},
        {"oneOf": [_tagged("x", v=_I), _tagged("y"), _tagged("z")]}),
    Row(K.ONE_OF_BRANCH_ADDED, BOTH, {"oneOf": [_I, _S]},
        {"oneOf": [_I, _S, {"type": ["null", "string"], "maxLength": 2}]}),
    Row(K.ONE_OF_BRANCH_REMOVED, NARROWS, {"oneOf": [_tagged("x"), _tagged("y"), _tagged("z")]},
        {"oneOf": [_tagged("x"), _tagged("y")]}),
    Row(K.ALL_OF_BRANCH_ADDED, NARROWS, {"allOf": [_object(**_ID)]}, {"allOf": [_object(**_ID), {"required": ["id"]}]}),
    Row(K.ALL_OF_BRANCH_REMOVED, WIDENS, {"allOf": [_object(**_ID), {"required": ["id"]}]},
        {"allOf": [_object(**_ID)]}),
    Row(K.ONE_OF_TO_ANY_OF, NEITHER, {"oneOf": [_tagged("x"), _tagged("y")]}, {"anyOf": [_tagged("x"), _tagged("y")]}),
    Row(K.ONE_OF_TO_ANY_OF, WIDENS, {"oneOf": [_I, _N]}, {"anyOf": [_I, _N]}),
    Row(K.ANY_OF_TO_ONE_OF, NARROWS, {"anyOf": [_I, _N]}, {"oneOf": [_I, _N]}),
    Row(K.NOT_ADDED, NARROWS, _string(), _string(**{"not": {"pattern": "admin"}})),
    Row(K.NOT_REMOVED, WIDENS, _string(**{"not": {"pattern": "admin"}}), _string()),
    Row(K.NOT_CHANGED, WIDENS, _string(**{"not": {"pattern": "^a"}}), _string(**{"not": {"pattern": "^ab"}})),
    Row(K.CONDITION_ADDED, NARROWS, _object(**_ID),
        _object(**_ID) | {"if": {"required": ["id"]}, "then": {"required": ["of"]}}),
    Row(K.CONDITION_REMOVED, WIDENS, _object(**_ID) | {"if": {"required": ["id"]}, "else": {"required": ["of"]}},
        _object(**_ID)),
    Row(K.CONDITION_CHANGED, BOTH, _object() | {"if": {"required": ["a"]}, "then": {"required": ["c"]}},
        _object() | {"if": {"required": ["b"]}, "then": {"required": ["c"]}}),
    Row(K.THEN_ADDED, NARROWS, _object() | {"if": {"required": ["a"]}, "else": {"required": ["c"]}},
        _object() | {"if": {"required": ["a"]}, "else": {"required": ["c"]}, "then": {"required": ["d"]}}),
    Row(K.THEN_REMOVED, WIDENS,
        _object() | {"if": {"required": ["a"]}, "else": {"required": ["c"]}, "then": {"required": ["d"]}},
        _object() | {"if": {"required": ["a"]}, "else": {"required": ["c"]}}),
    Row(K.ELSE_ADDED, NARROWS, _object() | {"if": {"required": ["a"]}, "then": {"required": ["c"]}},
        _object() | {"if": {"required": ["a"]}, "then": {"required": ["c"]}, "else": {"required": ["d"]}}),
    Row(K.ELSE_REMOVED, WIDENS,
        _object() | {"if": {"required": ["a"]}, "then": {"required": ["c"]}, "else": {"required": ["d"]}},
        _object() | {"if": {"required": ["a"]}, "then": {"required": ["c"]}}),
)  # fmt: skip

NESTED = (
    # the same changes where they are harder to see: in items of members of branches, in recursion, behind references
    Row(K.MAX_LENGTH_LOWERED, NARROWS, _object(a=_array(items=_object(b=_string(maxLength=5)))),
        _object(a=_array(items=_object(b=_string(maxLength=4))))),
    Row(K.INTEGER_TO_NUMBER, WIDENS, _object(next={"$ref": "#"}, value=_I), _object(next={"$ref": "#"}, value=_N)),
    Row(K.INTEGER_TO_NUMBER, WIDENS, {"oneOf": [_tagged("x", v=_I), _tagged("y")]},
        {"oneOf": [_tagged("x", v=_N), _tagged("y")]}),
    Row(K.ENUM_MEMBERS_REMOVED, NARROWS, {"anyOf": [_array(items={"enum": ["a", "b"]}), _I]},
        {"anyOf": [_array(items={"enum": ["a"]}), _I]}),
    Row(K.PROPERTY_MADE_REQUIRED, NARROWS,
        {"$defs": {"n": _object(kids=_array(items={"$ref": "#/$defs/n"}), v=_I)}, "$ref": "#/$defs/n"},
        {"$defs": {"n": _object("v", kids=_array(items={"$ref": "#/$defs/n"}), v=_I)}, "$ref": "#/$defs/n"}),
    Row(K.MAXIMUM_LOWERED, NEITHER, _object(a=False, b=_number(maximum=5)) | {"dependentRequired": {"b": ["a"]}},
        _object(a=False, b=_number(maximum=4)) | {"dependentRequired": {"b": ["a"]}}),
)  # fmt: skip
