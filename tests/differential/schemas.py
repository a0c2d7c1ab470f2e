"""Random schemas over all keywords of 2020-12, mostly small, mostly such that some value satisfies them."""

import random
from collections.abc import Callable, Mapping
from typing import Any, Final

from registry.contract import JsonValue
from tests.differential.vocabulary import FORMATS, PATTERNS, STEPS, TYPES, names, number, string, value

MAX_DEPTH: Final = 3

Schema = dict[str, JsonValue]


class SchemaMaker:
    """Schemas drawn from one seeded source."""

    def __init__(self, draw: random.Random) -> None:
        self._draw = draw
        self._definitions: list[str] = []
        self._references: list[str] = []
        self._density = draw.choice((1.0, 1.0, 1.0, 1.7))
        """How much likelier a keyword is than in a plain schema; where there are more of them, names are fewer."""
        self._focus = draw.choice((None, None, None, None, "number", "string", "array", "object"))
        """A type that most subschemas are about, so that they meet."""

    def _may(self, probability: float) -> bool:
        return self._draw.random() < probability * self._density

    def _names(self, most: int) -> list[str]:
        return names(self._draw, most, of=3 if self._density > 1 else 5)

    def _name(self) -> str:
        return self._names(1)[0]

    def contract(self) -> JsonValue:
        """A schema with definitions of its own, some of them recursive, some dynamic."""
        draw = self._draw
        self._definitions = [f"d{at}" for at in range(draw.choice((0, 0, 0, 1, 2, 3)))]
        self._references = [f"#/$defs/{each}" for each in self._definitions]
        is_dynamic = bool(self._definitions) and draw.random() < 0.15
        has_anchor = bool(self._definitions) and draw.random() < 0.2
        if has_anchor:
            self._references.append("#here")
        schema = self.schema(0)
        if not isinstance(schema, dict):
            return schema
        if self._definitions:
            defined: dict[str, JsonValue] = {each: self._guarded() for each in self._definitions}
            first = defined[self._definitions[0]]
            assert isinstance(first, dict)
            if has_anchor:
                first["$anchor"] = "here"
            if is_dynamic:
                first["$dynamicAnchor"] = "it"
                schema = {"$dynamicRef": "#it", **schema}
            schema["$defs"] = defined
        if draw.random() < 0.02:
            schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
        if draw.random() < 0.05:
            schema |= {"title": "t", "default": 1, "examples": [{}], "$comment": "c"}
        return schema

    def _guarded(self) -> Schema:
        """A definition. Those that lead back to themselves mostly do it below an item or a member."""
        draw = self._draw
        match draw.randint(0, 4):
            case 0:
                return {"type": "array", "items": self.schema(1), "maxItems": draw.randint(0, 2)}
            case 1:
                return {"type": "object", "properties": {self._name(): self.schema(1)}}
            case 2:
                own = draw.choice(self._references)
                return {
                    "type": "object",
                    "properties": {"v": self.scalar(), self._name(): {"$ref": own}},
                    "required": ["v"],
                }
            case 3:
                own = draw.choice(self._references)
                ends: list[JsonValue] = [self.scalar(), {"type": "array", "items": {"$ref": own}}]
                return {draw.choice(("anyOf", "oneOf")): ends}
            case _:
                return self._plain(2)

    def schema(self, depth: int) -> JsonValue:
        """A subschema."""
        draw = self._draw
        if draw.random() < 0.05:
            return draw.random() < 0.75
        if depth >= MAX_DEPTH:
            return self.scalar()
        schema = self._plain(depth)
        if draw.random() < (0.4 if depth < 2 else 0.2) + (0.3 if self._focus in {"number", "string"} else 0):
            self._combine(schema, depth)
            if draw.random() < 0.15:
                self._combine(schema, depth)
        if self._references and depth > 0 and draw.random() < 0.2:
            schema["$ref"] = draw.choice(self._references)
        return schema

    def _plain(self, depth: int) -> Schema:
        """Keywords of one type or two, or of one type without saying so."""
        draw = self._draw
        schema: Schema = {}
        kinds = [draw.choice(TYPES) if draw.random() < 0.5 else draw.choice(("object", "array", "string"))]
        if self._focus is not None and draw.random() < 0.7:
            kinds = [self._focus]
        if draw.random() < 0.15:
            kinds.append(draw.choice(TYPES))
        if draw.random() < 0.65:
            schema["type"] = kinds[0] if len(set(kinds)) == 1 else list(dict.fromkeys(kinds))
        for kind in kinds:
            adding = _ADDING.get(kind)
            if adding is not None:
                adding(self, schema, depth)
        if draw.random() < 0.06:
            schema["enum"] = self._constants(draw.randint(1, 4))
        return schema

    def scalar(self) -> JsonValue:
        """A schema without subschemas."""
        draw = self._draw
        focus = self._focus if self._focus in {"number", "string"} and draw.random() < 0.7 else None
        match draw.randint(0, 6) if focus is None else {"string": 3, "number": 5}[focus]:
            case 0:
                return {"const": value(draw, draw.choice((0, 0, 1, 2)))}
            case 1:
                return {"enum": self._constants(3)}
            case 2:
                return {"type": draw.choice(TYPES[:5])}
            case 3 | 4:
                schema: Schema = {"type": "string"}
                self._string(schema, MAX_DEPTH)
                return schema
            case 5:
                schema = {"type": draw.choice(("integer", "number"))}
                self._number(schema, MAX_DEPTH)
                return schema
            case _:
                return True

    def _constants(self, count: int) -> list[JsonValue]:
        return [value(self._draw, self._draw.choice((0, 0, 1, 2))) for _ in range(count)]

    def _number(self, schema: Schema, _depth: int) -> None:
        draw = self._draw
        for keyword in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"):
            if self._may(0.22):
                schema[keyword] = number(draw)
        if self._may(0.2):
            schema["multipleOf"] = draw.choice(STEPS)

    def _string(self, schema: Schema, _depth: int) -> None:
        draw = self._draw
        if self._may(0.2):
            schema["minLength"] = draw.randint(0, 3)
        if self._may(0.25):
            schema["maxLength"] = draw.randint(0, 5)
        if self._may(0.35):
            schema["pattern"] = draw.choice(PATTERNS)
        if self._may(0.08):
            schema["format"] = draw.choice(FORMATS)

    def _array(self, schema: Schema, depth: int) -> None:
        draw = self._draw
        if self._may(0.3):
            schema["prefixItems"] = [self.schema(depth + 1) for _ in range(draw.randint(1, 3))]
        if self._may(0.5):
            schema["items"] = self.schema(depth + 1)
        if self._may(0.25):
            schema["minItems"] = draw.randint(0, 3)
        if self._may(0.3):
            schema["maxItems"] = draw.randint(0, 4)
        if self._may(0.12):
            schema["uniqueItems"] = True
            if self._may(0.7):
                few: tuple[JsonValue, ...] = ({"enum": self._constants(4)}, {"type": "boolean"}, {"enum": [1, 2, 3]})
                schema["items"] = draw.choice(few)
        if self._may(0.25):
            schema["contains"] = self.schema(depth + 1)
            if self._may(0.4):
                schema["minContains"] = draw.randint(0, 3)
            if self._may(0.4):
                schema["maxContains"] = draw.randint(0, 3)
        if self._may(0.12):
            schema["unevaluatedItems"] = False if self._may(0.5) else self.schema(depth + 1)
            if self._may(0.6):
                self._combine(schema, depth, of="array")

    def _object(self, schema: Schema, depth: int) -> None:
        draw = self._draw
        if self._may(0.8):
            schema["properties"] = {each: self.schema(depth + 1) for each in self._names(4)}
        if self._may(0.4):
            schema["required"] = [*self._names(2)]
        if self._may(0.2):
            patterns = draw.sample(PATTERNS, draw.randint(1, 3))
            schema["patternProperties"] = {pattern: self.schema(depth + 1) for pattern in patterns}
        if self._may(0.35):
            schema["additionalProperties"] = False if self._may(0.5) else self.schema(depth + 1)
        if self._may(0.12):
            schema["propertyNames"] = self._of_names(depth)
        for keyword in ("minProperties", "maxProperties"):
            if self._may(0.12):
                schema[keyword] = draw.randint(0, 4)
        if self._may(0.15):
            schema["dependentRequired"] = {each: [*self._names(2)] for each in self._names(2)}
        if self._may(0.12):
            schema["dependentSchemas"] = {each: self.schema(depth + 1) for each in self._names(2)}
        if self._may(0.12):
            schema["unevaluatedProperties"] = False if self._may(0.6) else self.schema(depth + 1)
            if self._may(0.6):
                self._combine(schema, depth, of="object")

    def _of_names(self, depth: int) -> JsonValue:
        draw = self._draw
        match draw.randint(0, 4):
            case 0:
                return {"pattern": draw.choice(PATTERNS)}
            case 1:
                return {"maxLength": draw.randint(0, 2)}
            case 2:
                return {"enum": list(self._names(4))}
            case 3:
                return {"not": {"enum": [*self._names(2), string(draw)]}}
            case _:
                return self.schema(depth + 1)

    def _combine(self, schema: Schema, depth: int, *, of: str | None = None) -> None:
        """One applicator in place, its branches of a type if one is named."""
        draw = self._draw

        def branch() -> JsonValue:
            if of is None or draw.random() < 0.2:
                return self.schema(depth + 1)
            made: Schema = {}
            _ADDING[of](self, made, depth + 1)
            return made

        match draw.randint(0, 6):
            case 0:
                schema["allOf"] = [branch() for _ in range(draw.randint(1, 3))]
            case 1:
                schema["anyOf"] = [branch() for _ in range(draw.randint(1, 3))]
            case 2 | 3:
                schema["oneOf"] = [branch() for _ in range(draw.randint(1, 3))]
            case 4:
                schema["not"] = branch() if draw.random() < 0.8 else {"not": branch()}
            case _:
                schema["if"] = branch()
                for keyword in ("then", "else"):
                    if draw.random() < 0.7:
                        schema[keyword] = branch()


_ADDING: Final[Mapping[str, Callable[[SchemaMaker, Schema, int], None]]] = {
    "number": SchemaMaker._number,
    "integer": SchemaMaker._number,
    "string": SchemaMaker._string,
    "array": SchemaMaker._array,
    "object": SchemaMaker._object,
}


def drawn_schema(draw: random.Random) -> Any:
    """One contract."""
    return SchemaMaker(draw).contract()
