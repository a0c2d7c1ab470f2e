"""Schemas, values and changes at random, from a seed: small and over few names, so that they meet each other."""

import json
from collections.abc import Callable
from random import Random
from typing import Any, Final

NAMES: Final = ["a", "b", "c", "aa"]
_SCALARS: Final = [None, True, False, 0, 1, 2, -1, 1.5, 3, "", "a", "ab", "é", "b", "aaa"]
_TYPES: Final = ["array", "boolean", "integer", "null", "number", "object", "string"]
_PATTERNS: Final = ["^a", "b$", ".", "^a+$", "^[ab]{1,2}$", "^$", "^\\p{L}*$"]
_FORMATS: Final = ["date", "ipv4", "uuid", "email", "uri", "json-pointer"]
_LISTED: Final = ("allOf", "anyOf", "oneOf", "prefixItems")
_NAMED: Final = ("properties", "patternProperties", "dependentSchemas", "$defs", "definitions")
_SINGLE: Final = (
    "not", "if", "then", "else", "items", "contains", "additionalProperties", "propertyNames",
    "unevaluatedProperties", "unevaluatedItems",
)  # fmt: skip


class Making:
    """One source of chance."""

    def __init__(self, random: Random) -> None:
        self.random = random
        chance = random
        count = self._count
        self._assertions: dict[str, Callable[[], Any]] = {
            "type": lambda: chance.choice(_TYPES) if chance.random() < 0.6 else chance.sample(_TYPES, count() or 1),
            "enum": lambda: [self.value(1) for _ in range(chance.randint(1, 4))],
            "const": lambda: self.value(1),
            "minimum": lambda: chance.choice([-2, -1, 0, 1, 2, 0.5, 1.5]),
            "maximum": lambda: chance.choice([-1, 0, 1, 2, 3, 0.5, 1.5]),
            "exclusiveMinimum": lambda: chance.randint(-2, 2),
            "exclusiveMaximum": lambda: chance.randint(-2, 3),
            "multipleOf": lambda: chance.choice([1, 2, 3, 0.5]),
            "minLength": count,
            "maxLength": count,
            "pattern": lambda: chance.choice(_PATTERNS),
            "format": lambda: chance.choice(_FORMATS),
            "minItems": count,
            "maxItems": count,
            "uniqueItems": lambda: chance.random() < 0.7,
            "minProperties": lambda: chance.randint(0, 2),
            "maxProperties": count,
            "required": self._names,
            "dependentRequired": lambda: {name: self._names() for name in self._names()},
            "minContains": count,
            "maxContains": count,
        }

    def value(self, depth: int) -> Any:
        """Any JSON value."""
        roll = self.random.random()
        if depth == 0 or roll < 0.6:
            return self.random.choice(_SCALARS)
        size = self.random.randint(0, 3)
        if roll < 0.8:
            return [self.value(depth - 1) for _ in range(size)]
        return {self.random.choice(NAMES): self.value(depth - 1) for _ in range(size)}

    def schema(self, depth: int) -> Any:
        """Any schema; many of them allow nothing."""
        if depth == 0 or self.random.random() < 0.12:
            simple = [True, False, {"type": "string"}, {"type": "integer"}, {"const": 1}, {"type": ["string", "null"]}]
            return self.random.choice(simple)
        applicators = self._applicators(depth)
        keywords = self.random.sample(list(self._assertions), self.random.randint(0, 3))
        keywords += self.random.sample(list(applicators), self.random.randint(0, 3))
        return {keyword: (self._assertions | applicators)[keyword]() for keyword in keywords}

    def mutated(self, schema: Any) -> Any:
        """The schema with one keyword of one subschema other, or one subschema replaced."""
        root = [json.loads(json.dumps(schema))]
        places = _places(root, 0)
        holder, key = self.random.choice(places)
        subschema = holder[key]
        if isinstance(subschema, bool) or self.random.random() < 0.1:
            holder[key] = self.schema(1)
            return root[0]
        keyword = self.random.choice([*self._assertions, *subschema])
        if keyword in subschema and self.random.random() < 0.4:
            del subschema[keyword]
        elif keyword in self._assertions:
            subschema[keyword] = self._assertions[keyword]()
        else:
            subschema[keyword] = self._applicators(2)[keyword]()
        return root[0]

    def ordinary_change(self, schema: Any) -> Any:
        """The schema with a change as authors make them; itself where fifty attempts found none to make."""
        root = [json.loads(json.dumps(schema))]
        places = [holder[key] for holder, key in _places(root, 0) if isinstance(holder[key], dict)]
        for _ in range(50 if places else 0):
            if _CHANGES[self.random.randrange(len(_CHANGES))](self.random, self.random.choice(places)):
                break
        return root[0]

    def _count(self) -> int:
        return self.random.randint(0, 3)

    def _names(self) -> list[str]:
        return self.random.sample(NAMES, self.random.randint(0, 2))

    def _applicators(self, depth: int) -> dict[str, Callable[[], Any]]:
        def one() -> Any:
            return self.schema(depth - 1)

        def several() -> Any:
            return [self.schema(depth - 1) for _ in range(self.random.randint(1, 3))]

        def named() -> Any:
            return {name: self.schema(depth - 1) for name in self.random.sample(NAMES, self.random.randint(0, 3))}

        def matched() -> Any:
            return {pattern: one() for pattern in self.random.sample(["^a", ".", "b"], self.random.randint(1, 2))}

        made: dict[str, Callable[[], Any]] = dict.fromkeys(_SINGLE, one) | dict.fromkeys(_LISTED, several)
        return made | {"properties": named, "dependentSchemas": named, "patternProperties": matched}


def _places(holder: Any, key: Any) -> list[tuple[Any, Any]]:
    """Where every subschema is held, the root first."""
    found = [(holder, key)]
    schema = holder[key]
    for keyword, value in schema.items() if isinstance(schema, dict) else ():
        if keyword in _LISTED and isinstance(value, list):
            for index in range(len(value)):
                found += _places(value, index)
        elif keyword in _NAMED and isinstance(value, dict):
            for name in value:
                found += _places(value, name)
        elif keyword in _SINGLE and isinstance(value, dict | bool):
            found += _places(schema, keyword)
    return found


def _add_member(random: Random, schema: dict[str, Any]) -> bool:
    if not isinstance(schema.get("properties"), dict):
        return False
    schema["properties"]["zz_new"] = {"type": random.choice(["string", "integer", "boolean"])}
    if random.random() < 0.3:
        schema["required"] = [*schema.get("required", []), "zz_new"]
    return True


def _drop_member(random: Random, schema: dict[str, Any]) -> bool:
    members = schema.get("properties")
    if not isinstance(members, dict) or not members:
        return False
    del members[random.choice(list(members))]
    return True


def _require(random: Random, schema: dict[str, Any]) -> bool:
    free = [name for name in schema.get("properties") or () if name not in schema.get("required", [])]
    if not free:
        return False
    schema["required"] = [*schema.get("required", []), random.choice(free)]
    return True


def _relax(random: Random, schema: dict[str, Any]) -> bool:
    if not isinstance(schema.get("required"), list) or not schema["required"]:
        return False
    schema["required"].pop(random.randrange(len(schema["required"])))
    if not schema["required"]:
        del schema["required"]
    return True


def _close_or_open(random: Random, schema: dict[str, Any]) -> bool:
    if "properties" not in schema:
        return False
    schema["additionalProperties"] = random.choice([True, False, {"type": "string"}])
    return True


def _other_values(random: Random, schema: dict[str, Any]) -> bool:
    values = schema.get("enum")
    if not isinstance(values, list):
        return False
    if len(values) > 1 and random.random() < 0.5:
        values.pop(random.randrange(len(values)))
    else:
        values.append("zz_new")
    return True


def _bound(random: Random, schema: dict[str, Any]) -> bool:
    match schema.get("type"):
        case "string" if random.random() < 0.4:
            schema["pattern"] = random.choice(["^[a-z]+$", "^.{1,8}$", "x"])
        case "string":
            schema[random.choice(["minLength", "maxLength"])] = random.randint(0, 20)
        case "integer" | "number":
            schema[random.choice(["minimum", "maximum", "multipleOf"])] = random.randint(1, 20)
        case "array":
            schema[random.choice(["minItems", "maxItems"])] = random.randint(0, 5)
        case _:
            return False
    return True


def _other_type(random: Random, schema: dict[str, Any]) -> bool:
    if not isinstance(schema.get("type"), str):
        return False
    nullable = [schema["type"], "null"] if schema["type"] != "null" else "string"
    schema["type"] = random.choice([nullable, "string", "integer", "number"])
    return True


_CHANGES: Final = (
    _add_member, _drop_member, _require, _relax, _close_or_open, _other_values, _bound, _other_type,
)  # fmt: skip
