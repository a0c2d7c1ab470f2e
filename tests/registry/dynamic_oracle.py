"""A second reading of references, straight from the specification and slow: evaluation keeps its dynamic scope.

It shares nothing with the registry: names are looked up in the text, a `$dynamicRef` by walking the resources that
evaluation has entered, and `unevaluated…` by what the subschemas report. A few keywords, enough to tell schemas apart.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urljoin

BASE = "http://oracle.example/"

_TYPES: dict[str, Any] = {
    "null": lambda v: v is None,
    "boolean": lambda v: isinstance(v, bool),
    "integer": lambda v: isinstance(v, int) and not isinstance(v, bool),
    "string": lambda v: isinstance(v, str),
    "array": lambda v: isinstance(v, list),
    "object": lambda v: isinstance(v, dict),
}
_SINGLE = ("items", "not", "if", "then", "else", "additionalProperties", "unevaluatedItems", "unevaluatedProperties")
_LISTED = ("allOf", "anyOf", "oneOf", "prefixItems")
_NAMED = ("$defs", "properties", "dependentSchemas")


@dataclass
class Place:
    """A subschema in its resource."""

    schema: Any
    resource: str


@dataclass
class Outcome:
    """What evaluation of one subschema says: whether it accepts, and what it has looked at if so."""

    is_valid: bool
    names: set[str] = field(default_factory=set)
    indexes: set[int] = field(default_factory=set)


class Oracle:
    """All names in one text."""

    def __init__(self, schema: Any) -> None:
        self._root = schema
        self._resources: dict[str, Any] = {}
        self._anchors: dict[tuple[str, str], tuple[Any, bool]] = {}
        self._index(schema, BASE)

    def accepts(self, instance: Any) -> bool:
        resource = self._base(self._root, BASE)
        return self._evaluate(Place(self._root, resource), instance, (resource,)).is_valid

    @staticmethod
    def _base(schema: Any, base: str) -> str:
        return urljoin(base, schema["$id"]) if isinstance(schema, dict) and "$id" in schema else base

    def _index(self, schema: Any, base: str) -> None:
        if not isinstance(schema, dict):
            return
        inside = self._base(schema, base)
        if inside != base or schema is self._root:
            self._resources[inside] = schema
        for keyword in ("$anchor", "$dynamicAnchor"):
            if keyword in schema:
                _, was_dynamic = self._anchors.get((inside, schema[keyword]), (None, False))
                self._anchors[inside, schema[keyword]] = (schema, was_dynamic or keyword == "$dynamicAnchor")
        for child in _children(schema):
            self._index(child, inside)

    def _follow(self, reference: str, resource: str) -> tuple[Place, str | None]:
        """Where a reference leads, and the name of the dynamic anchor there if it went by that."""
        uri, _, fragment = urljoin(resource, reference).partition("#")
        if not fragment:
            return Place(self._resources[uri], uri), None
        if fragment.startswith("/"):
            value, base = self._resources[uri], uri
            for number, token in enumerate(fragment[1:].split("/")):
                value = value[int(token)] if isinstance(value, list) else value[token]
                base = self._base(value, base) if number % 2 == 1 else base
            return Place(value, base), None
        schema, is_dynamic = self._anchors[uri, fragment]
        return Place(schema, uri), fragment if is_dynamic else None

    def _evaluate(self, place: Place, instance: Any, scope: tuple[str, ...]) -> Outcome:
        schema = place.schema
        if isinstance(schema, bool):
            return Outcome(schema)
        resource = (
            self._base(schema, place.resource) if schema is not self._resources.get(place.resource) else place.resource
        )
        if scope[-1] != resource:
            scope = (*scope, resource)

        def apply(subschema: Any, value: Any) -> Outcome:
            return self._evaluate(Place(subschema, resource), value, scope)

        outcome = Outcome(True)
        for found in self._in_place(schema, resource, instance, scope):
            outcome.is_valid = outcome.is_valid and found.is_valid
            outcome.names |= found.names
            outcome.indexes |= found.indexes
        if "type" in schema and not _TYPES[schema["type"]](instance):
            outcome.is_valid = False
        if isinstance(instance, dict):
            self._object(schema, instance, outcome, apply)
        if isinstance(instance, list):
            self._array(schema, instance, outcome, apply)
        return outcome if outcome.is_valid else Outcome(False)

    def _in_place(self, schema: Any, resource: str, instance: Any, scope: tuple[str, ...]) -> Iterator[Outcome]:
        if "$ref" in schema:
            target, _ = self._follow(schema["$ref"], resource)
            yield self._evaluate(target, instance, scope)
        if "$dynamicRef" in schema:
            target, name = self._follow(schema["$dynamicRef"], resource)
            if name is not None:
                for outer in scope:
                    anchored, is_dynamic = self._anchors.get((outer, name), (None, False))
                    if is_dynamic:
                        target = Place(anchored, outer)
                        break
            yield self._evaluate(target, instance, scope)
        for subschema in schema.get("allOf", []):
            yield self._evaluate(Place(subschema, resource), instance, scope)
        for keyword in ("anyOf", "oneOf"):
            if keyword in schema:
                found = [self._evaluate(Place(s, resource), instance, scope) for s in schema[keyword]]
                accepting = [outcome for outcome in found if outcome.is_valid]
                yield Outcome(len(accepting) == 1 if keyword == "oneOf" else bool(accepting))
                yield from accepting
        if "not" in schema:
            yield Outcome(not self._evaluate(Place(schema["not"], resource), instance, scope).is_valid)
        if "if" in schema:
            test = self._evaluate(Place(schema["if"], resource), instance, scope)
            if test.is_valid:
                yield test
            branch = schema.get("then" if test.is_valid else "else", True)
            yield self._evaluate(Place(branch, resource), instance, scope)
        for name, subschema in schema.get("dependentSchemas", {}).items():
            if isinstance(instance, dict) and name in instance:
                yield self._evaluate(Place(subschema, resource), instance, scope)

    @staticmethod
    def _object(schema: Any, instance: dict[str, Any], outcome: Outcome, apply: Any) -> None:
        if not set(schema.get("required", [])) <= set(instance):
            outcome.is_valid = False
        own = set(schema.get("properties", {})) & set(instance)
        judged = [(schema["properties"][name], name) for name in own]
        if "additionalProperties" in schema:
            judged += [(schema["additionalProperties"], name) for name in set(instance) - own]
        outcome.names |= {name for _, name in judged}
        if "unevaluatedProperties" in schema:
            left = set(instance) - outcome.names
            judged += [(schema["unevaluatedProperties"], name) for name in left]
            outcome.names |= left
        if not all(apply(subschema, instance[name]).is_valid for subschema, name in judged):
            outcome.is_valid = False

    @staticmethod
    def _array(schema: Any, instance: list[Any], outcome: Outcome, apply: Any) -> None:
        prefix = schema.get("prefixItems", [])[: len(instance)]
        judged = list(zip(prefix, range(len(prefix)), strict=True))
        if "items" in schema:
            judged += [(schema["items"], index) for index in range(len(prefix), len(instance))]
        outcome.indexes |= {index for _, index in judged}
        if "unevaluatedItems" in schema:
            left = set(range(len(instance))) - outcome.indexes
            judged += [(schema["unevaluatedItems"], index) for index in left]
            outcome.indexes |= left
        if not all(apply(subschema, instance[index]).is_valid for subschema, index in judged):
            outcome.is_valid = False


def _children(schema: dict[str, Any]) -> Iterator[Any]:
    yield from (schema[keyword] for keyword in _SINGLE if keyword in schema)
    for keyword in _LISTED:
        yield from schema.get(keyword, [])
    for keyword in _NAMED:
        yield from schema.get(keyword, {}).values()
