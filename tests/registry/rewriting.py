"""Writes a schema in another way that means the same: other layout, order, names and spelling, all at once."""

import json
from decimal import Decimal
from random import Random
from typing import Any

from registry.keywords import SHAPES, Shape

_ROOT = "http://rewritten.example/root"
_NOTES: dict[str, Any] = {
    "title": "T", "description": "D", "$comment": "C", "examples": [{"$ref": "#/no"}], "deprecated": True,
    "readOnly": False, "writeOnly": True, "x-note": {"type": "no"}, "contentEncoding": "base64",
}  # fmt: skip
_SETS = frozenset({"required", "enum", "type"})


class Rewriter:
    """One random way to write schemas. `{"$ref": "#"}` is the only reference that they may hold."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._is_named = random.random() < 0.4
        self._definitions: dict[str, Any] = {}
        self._known: dict[str, str] = {}

    def text(self, schema: Any) -> bytes:
        """The schema, rewritten."""
        body = self._schema(schema, is_root=True)
        if self._chance(0.5):
            self._definitions["unused"] = {"$anchor": "nobody", "anyOf": [{"minimum": 7}, {"$ref": "#nobody"}]}
        if self._definitions or self._is_named:
            body = dict(body) if isinstance(body, dict) else {} if body else {"allOf": [False]}
            if body == {"allOf": [False]}:
                return b"false"
        if self._definitions:
            names = list(self._definitions)
            self._random.shuffle(names)
            body["$defs"] = {name: self._definitions[name] for name in names}
        if self._is_named:
            body["$id"] = _ROOT
        return self._written(body).encode()

    def _chance(self, probability: float) -> bool:
        return self._random.random() < probability

    def _schema(self, schema: Any, *, is_root: bool = False) -> Any:
        if isinstance(schema, bool):
            written: Any = self._random.choice([True, {}]) if schema else False
        elif schema == {"$ref": "#"}:
            return {"$ref": _ROOT if self._is_named and self._chance(0.5) else self._pointer("")}
        else:
            written = self._members(schema)
        if isinstance(written, dict) and self._chance(0.3):
            written |= self._noise(written)
        for _ in range(0 if is_root and isinstance(schema, bool) else self._random.choice([0, 0, 0, 1, 1, 2])):
            written = self._moved(written, json.dumps(schema))
        return written

    def _noise(self, written: dict[str, Any]) -> dict[str, Any]:
        """Members that restrict nothing."""
        notes = self._random.choice(list(_NOTES))
        noise: dict[str, Any] = {notes: _NOTES[notes]}
        if "if" not in written:
            noise |= {self._random.choice(["then", "else"]): False}
        if "contains" not in written:
            noise |= {self._random.choice(["minContains", "maxContains"]): 2}
        for keyword in ("patternProperties", "dependentSchemas", "properties"):
            if keyword not in written and self._chance(0.3):
                noise[keyword] = {}
        return noise

    def _members(self, schema: dict[str, Any]) -> dict[str, Any]:
        members = {keyword: self._member(keyword, value) for keyword, value in schema.items()}
        if "allOf" in members and self._chance(0.3):
            # The first member may as well be a reference beside the others.
            first, *others = members.pop("allOf")
            members |= self._moved(first, json.dumps(schema["allOf"][0]))
            if others:
                members["allOf"] = others
        names = list(members)
        self._random.shuffle(names)
        return {name: members[name] for name in names}

    def _member(self, keyword: str, value: Any) -> Any:
        match SHAPES.get(keyword):
            case Shape.SCHEMA:
                return self._schema(value)
            case Shape.SCHEMAS:
                return [self._schema(item) for item in value]
            case Shape.SCHEMAS_BY_NAME:
                items = [(name, self._schema(member)) for name, member in value.items()]
                if keyword != "properties":
                    self._random.shuffle(items)
                return dict(items)
            case Shape.NAMES_BY_NAME:
                items = [(name, self._random.sample(names, len(names))) for name, names in value.items()]
                return dict(self._random.sample(items, len(items)))
            case _ if keyword == "type" and isinstance(value, str):
                return self._random.choice([value, [value]])
            case _ if keyword in _SETS and isinstance(value, list):
                again = self._random.choices(value, k=1) if keyword == "enum" and value and self._chance(0.3) else []
                return self._random.sample(value + again, len(value) + len(again))
            case _:
                return value

    def _moved(self, written: Any, source: str) -> dict[str, Any]:
        """A reference to a definition of it: a new one, or one that was made for an equal subschema."""
        known = self._known.get(source)
        if known is not None and self._chance(0.5):
            return {"$ref": self._pointer(f"/$defs/{known}")}
        number = len(self._definitions)
        name = f"{self._random.choice(['n', 'z~1é', 'a b'])}{number}".replace("~1", "_")
        self._known.setdefault(source, name)
        style = self._random.choice(["pointer", "pointer", "anchor", "dynamic", "resource"])
        definition = dict(written) if isinstance(written, dict) else written
        if not isinstance(definition, dict) or {"$id", "$anchor", "$dynamicAnchor"} & set(definition):
            style = "pointer"
        self._definitions[name] = definition
        if style == "anchor":
            definition["$anchor"] = f"here{number}"
            return {"$ref": self._pointer(f"here{number}")}
        if style == "dynamic":
            definition["$dynamicAnchor"] = f"there{number}"
            return {self._random.choice(["$dynamicRef", "$ref"]): self._pointer(f"there{number}")}
        if style == "resource" and self._is_named:
            definition["$id"] = f"http://rewritten.example/{number}"
            return {"$ref": definition["$id"]}
        return {"$ref": self._pointer(f"/$defs/{name}")}

    def _pointer(self, fragment: str) -> str:
        """A reference into the root resource. Where there are other resources, it must say so."""
        escaped = fragment.replace(" ", "%20").replace("é", "%C3%A9")
        return f"{_ROOT if self._is_named else ''}#{escaped}"

    def _written(self, value: Any) -> str:
        """JSON text in a random spelling."""
        space = self._random.choice(["", "", " ", "\n\t "])
        match value:
            case dict():
                members = (f"{space}{self._string(name)}{space}:{space}{self._written(v)}" for name, v in value.items())
                return "{" + ",".join(members) + space + "}"
            case list():
                return "[" + ",".join(space + self._written(item) for item in value) + space + "]"
            case str():
                return self._string(value)
            case bool() | None:
                return json.dumps(value)
            case _:
                return self._number(Decimal(repr(value)))

    def _string(self, value: str) -> str:
        def spelled(character: str) -> str:
            if character == "/" and self._chance(0.3):
                return "\\/"
            if ord(character) < 0x10000 and self._chance(0.1):
                return f"\\u{ord(character):04{self._random.choice('xX')}}"
            return json.dumps(character, ensure_ascii=self._chance(0.5))[1:-1]

        return f'"{"".join(map(spelled, value))}"'

    def _number(self, value: Decimal) -> str:
        sign, digits, exponent = value.as_tuple()
        assert isinstance(exponent, int)
        minus = "-" if sign else ""
        zeros = self._random.choice([0, 0, 1, 3])
        coefficient = int("".join(map(str, digits))) * 10**zeros
        shifted = exponent - zeros
        mark = self._random.choice(["e", "E"]) + ("+" if shifted >= 0 and self._chance(0.5) else "")
        exact = format(value, "f")
        plain = exact + ("" if "." in exact else ".0") + "0" * zeros
        return self._random.choice([exact, plain, f"{minus}{coefficient}{mark}{shifted}"])
