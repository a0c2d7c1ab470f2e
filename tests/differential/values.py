"""Values that come near to satisfying a schema: made from what it speaks of, and then changed a little."""

import random
from typing import Any, Final

from registry.contract import JsonValue
from tests.differential.vocabulary import IN_FORMAT, name, number, string, value

_MAX_DEPTH: Final = 6


class ValueMaker:
    """Values for one schema."""

    def __init__(self, draw: random.Random, schema: JsonValue) -> None:
        self._draw = draw
        self._schema = schema
        defined = schema.get("$defs") if isinstance(schema, dict) else None
        self._defined: dict[str, JsonValue] = defined if isinstance(defined, dict) else {}

    def values(self, count: int) -> list[JsonValue]:
        """Two thirds are made from the schema, the rest are changed ones of these."""
        made = [self._near(self._schema, 0) for _ in range(count - count // 3)]
        return made + [self._changed(self._draw.choice(made)) for _ in range(count // 3)]

    def _near(self, schema: JsonValue, depth: int) -> JsonValue:
        """A value that follows some of what the schema says, and not always."""
        draw = self._draw
        if not isinstance(schema, dict) or draw.random() < 0.07 or depth > _MAX_DEPTH:
            return value(draw, max(2 - depth, 0))
        reference = schema.get("$ref", schema.get("$dynamicRef"))
        if isinstance(reference, str) and draw.random() < 0.7:
            named = reference.rpartition("/")[2]
            return self._near(self._defined.get(named, next(iter(self._defined.values()), True)), depth + 1)
        if "const" in schema:
            return schema["const"]
        listed = schema.get("enum")
        if isinstance(listed, list) and draw.random() < 0.8:
            return draw.choice(listed)
        inner = self._in_place(schema)
        if inner is not None:
            made = self._near(inner, depth + 1)
            # What several subschemas speak of is put together from each of them.
            own = self._of_type(schema, depth) if isinstance(made, dict) and draw.random() < 0.8 else None
            if isinstance(made, dict) and isinstance(own, dict):
                return own | made if draw.random() < 0.5 else made | own
            return made
        return self._of_type(schema, depth)

    def _in_place(self, schema: dict[str, JsonValue]) -> JsonValue:
        draw = self._draw
        found: list[JsonValue] = []
        for keyword in ("allOf", "anyOf", "oneOf"):
            branches = schema.get(keyword)
            if isinstance(branches, list) and draw.random() < 0.6:
                found += branches
        for keyword in ("then", "if", "else", "not"):
            if keyword in schema and draw.random() < 0.3:
                found.append(schema[keyword])
        dependent = schema.get("dependentSchemas")
        if isinstance(dependent, dict) and draw.random() < 0.4:
            found += dependent.values()
        return draw.choice(found) if found else None

    def _of_type(self, schema: dict[str, Any], depth: int) -> JsonValue:
        draw = self._draw
        named = schema.get("type")
        kind = draw.choice(named) if isinstance(named, list) else named
        if kind is None:
            kind = next((kind for word, kind in _TELLING.items() if word in schema and draw.random() < 0.9), None)
        match kind:
            case "object":
                return self._object(schema, depth)
            case "array":
                return self._array(schema, depth)
            case "string":
                known = IN_FORMAT.get(schema.get("format", ""))
                if known is not None and draw.random() < 0.8:
                    return draw.choice(known)
                return string(draw)
            case "integer" | "number":
                return self._number(schema)
            case "boolean":
                return draw.random() < 0.5
            case "null":
                return None
            case _:
                return value(draw, max(2 - depth, 0))

    def _number(self, schema: dict[str, Any]) -> JsonValue:
        """Often at a bound or beside it."""
        draw = self._draw
        bounds = [schema[word] for word in _BOUNDS if word in schema]
        made = number(draw)
        if bounds and draw.random() < 0.7:
            made = draw.choice(bounds) + draw.choice((0, 0, 1, -1, schema.get("multipleOf", 2)))
        elif "multipleOf" in schema and draw.random() < 0.6:
            made = schema["multipleOf"] * draw.randint(-3, 12)
        return made

    def _array(self, schema: dict[str, Any], depth: int) -> JsonValue:
        draw = self._draw
        prefix = schema.get("prefixItems", [])
        least = min(schema.get("minItems", 0), 4)
        count = draw.randint(least, max(least, min(schema.get("maxItems", len(prefix) + 2), len(prefix) + 3)))
        rest = [schema[word] for word in ("items", "contains", "unevaluatedItems") if word in schema] or [True]
        return [self._near(prefix[at] if at < len(prefix) else draw.choice(rest), depth + 1) for at in range(count)]

    def _object(self, schema: dict[str, Any], depth: int) -> JsonValue:
        draw = self._draw
        properties = schema.get("properties", {})
        wanted = [each for each in properties if draw.random() < 0.6]
        wanted += [each for each in schema.get("required", []) if draw.random() < 0.92]
        for each, needed in schema.get("dependentRequired", {}).items():
            wanted += needed if each in wanted and draw.random() < 0.8 else []
        if draw.random() < 0.3:
            wanted.append(name(draw))
        of_names = schema.get("propertyNames")
        if isinstance(of_names, dict) and "enum" in of_names and draw.random() < 0.6:
            wanted += [each for each in draw.sample(of_names["enum"], 1) if isinstance(each, str)]
        patterns = list(schema.get("patternProperties", {}).values())
        rest = [
            *patterns,
            *(schema[word] for word in ("additionalProperties", "unevaluatedProperties") if word in schema),
        ]
        draw.shuffle(wanted)
        return {
            each: self._near(properties[each] if each in properties else draw.choice(rest or [True]), depth + 1)
            for each in dict.fromkeys(wanted)
        }

    def _changed(self, given: JsonValue) -> JsonValue:
        draw = self._draw
        match given:
            case list() if given and draw.random() < 0.75:
                at = draw.randrange(len(given))
                match draw.randint(0, 4):
                    case 0:
                        return [*given[:at], *given[at + 1 :]]
                    case 1:
                        return [*given, given[at]]
                    case _:
                        return [*given[:at], self._changed(given[at]), *given[at + 1 :]]
            case dict() if given and draw.random() < 0.75:
                each = draw.choice(sorted(given))
                match draw.randint(0, 4):
                    case 0:
                        return {key: inner for key, inner in given.items() if key != each}
                    case 1:
                        return given | {name(draw): given[each]}
                    case _:
                        return given | {each: self._changed(given[each])}
            case str() if draw.random() < 0.6:
                return given + draw.choice("ab1é") if draw.random() < 0.6 else given[1:]
            case int() if not isinstance(given, bool) and draw.random() < 0.5:
                return given + draw.choice((-1, 1))
            case _:
                return value(draw, 1)


_BOUNDS: Final = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
_TELLING: Final = {
    "properties": "object", "required": "object", "patternProperties": "object", "additionalProperties": "object",
    "propertyNames": "object", "minProperties": "object", "dependentRequired": "object", "dependentSchemas": "object",
    "unevaluatedProperties": "object",
    "items": "array", "prefixItems": "array", "contains": "array", "minItems": "array", "unevaluatedItems": "array",
    "pattern": "string", "minLength": "string", "maxLength": "string", "format": "string",
    "minimum": "number", "maximum": "number", "multipleOf": "number", "exclusiveMinimum": "number",
}  # fmt: skip
"""What a schema without a type seems to be about."""
