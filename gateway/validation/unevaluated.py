"""`unevaluatedProperties` and `unevaluatedItems`: what no other keyword of the schema has looked at.

Collected from the subschemas that accept the instance, as core sections 11.2 and 11.3 define; `not` gives nothing,
because its annotations are dropped. A subschema that rejects the instance where it must accept it has failed the
whole schema already, so `allOf` and references need no second look.
"""

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from jsonschema.exceptions import ValidationError
from referencing.jsonschema import DRAFT202012

from gateway.validation.applicators import admits
from gateway.validation.keywords import Errors, Evaluator, Schema
from gateway.validation.patterns import matches
from registry.contract import JsonValue

_Local: TypeAlias = Callable[[Evaluator, Any, Schema], set[Any]]


def unevaluated_properties(evaluator: Evaluator, subschema: Any, instance: JsonValue, schema: Schema) -> Errors:
    if not isinstance(instance, dict):
        return
    evaluated = _evaluated(evaluator, instance, schema, _local_properties, is_outermost=True)
    for name in instance:
        if name not in evaluated and not admits(evaluator, instance[name], subschema):
            yield ValidationError(
                "no other keyword evaluates it, and the schema for such members refuses it", path=[name]
            )


def unevaluated_items(evaluator: Evaluator, subschema: Any, instance: JsonValue, schema: Schema) -> Errors:
    if not isinstance(instance, list):
        return
    evaluated = _evaluated(evaluator, instance, schema, _local_items, is_outermost=True)
    for index, item in enumerate(instance):
        if index not in evaluated and not admits(evaluator, item, subschema):
            yield ValidationError(
                "no other keyword evaluates it, and the schema for such items refuses it", path=[index]
            )


def _evaluated(
    evaluator: Evaluator, instance: Any, schema: Any, local: _Local, *, is_outermost: bool = False
) -> set[Any]:
    """Names or indexes that the schema, which accepts the instance, has evaluated."""
    if not isinstance(schema, dict):
        return set()
    own = schema
    if is_outermost:
        # The question is what the others have left for this keyword.
        own = {name: value for name, value in schema.items() if not name.startswith("unevaluated")}
    evaluated = local(evaluator, instance, own)
    for subevaluator, subschema in _in_place(evaluator, instance, own):
        if len(evaluated) >= len(instance):
            break
        evaluated |= _evaluated(subevaluator, instance, subschema, local)
    return evaluated


def _local_properties(_evaluator: Evaluator, instance: dict[str, JsonValue], schema: Schema) -> set[Any]:
    if "additionalProperties" in schema or "unevaluatedProperties" in schema:
        return set(instance)
    evaluated: set[Any] = set(instance) & set(schema.get("properties", {}))
    for pattern in schema.get("patternProperties", {}):
        evaluated |= {name for name in instance if matches(pattern, name)}
    return evaluated


def _local_items(evaluator: Evaluator, instance: list[JsonValue], schema: Schema) -> set[Any]:
    if "items" in schema or "unevaluatedItems" in schema:
        return set(range(len(instance)))
    evaluated: set[Any] = set(range(min(len(schema.get("prefixItems", [])), len(instance))))
    if "contains" in schema:
        evaluated |= {index for index, item in enumerate(instance) if admits(evaluator, item, schema["contains"])}
    return evaluated


def _in_place(evaluator: Evaluator, instance: Any, schema: Schema) -> Iterator[tuple[Evaluator, Any]]:
    """The subschemas that apply to the same instance and accept it, each with an evaluator positioned at it."""
    for keyword in ("$ref", "$dynamicRef"):
        if keyword in schema:
            # The library offers no public way to follow a reference from inside a keyword.
            resolved = evaluator._resolver.lookup(schema[keyword])  # noqa: SLF001
            yield evaluator.evolve(schema=resolved.contents, _resolver=resolved.resolver), resolved.contents
    for subschema in schema.get("allOf", []):
        yield _at(evaluator, subschema), subschema
    for keyword in ("anyOf", "oneOf"):
        for subschema in schema.get(keyword, []):
            if admits(evaluator, instance, subschema):
                yield _at(evaluator, subschema), subschema
    if "if" in schema:
        holds = admits(evaluator, instance, schema["if"])
        if holds:
            yield _at(evaluator, schema["if"]), schema["if"]
        branch = schema.get("then" if holds else "else", True)
        yield _at(evaluator, branch), branch
    if isinstance(instance, dict):
        for name, subschema in schema.get("dependentSchemas", {}).items():
            if name in instance:
                yield _at(evaluator, subschema), subschema


def _at(evaluator: Evaluator, subschema: Any) -> Evaluator:
    """The evaluator, positioned at a subschema of its own schema, base URI included."""
    resolver = evaluator._resolver.in_subresource(DRAFT202012.create_resource(subschema))  # noqa: SLF001
    return evaluator.evolve(schema=subschema, _resolver=resolver)
