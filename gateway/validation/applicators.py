"""The applicators of JSON Schema 2020-12 that the library does inexactly or that need what it does not keep.

Every subschema is entered through the evaluator's `descend`, because that is what keeps the base URI and the
dynamic scope right inside it.
"""

from typing import Any

from jsonschema.exceptions import ValidationError

from gateway.validation.keywords import Errors, Evaluator, Schema
from gateway.validation.patterns import matches
from registry.contract import JsonValue


def admits(evaluator: Evaluator, instance: JsonValue, subschema: Any) -> bool:
    """Whether the subschema accepts the instance."""
    return next(evaluator.descend(instance, subschema), None) is None


def pattern_properties(
    evaluator: Evaluator, subschemas: dict[str, Any], instance: JsonValue, _schema: Schema
) -> Errors:
    if isinstance(instance, dict):
        for pattern, subschema in subschemas.items():
            for name, value in instance.items():
                if matches(pattern, name):
                    yield from evaluator.descend(value, subschema, path=name, schema_path=pattern)


def additional_properties(evaluator: Evaluator, subschema: Any, instance: JsonValue, schema: Schema) -> Errors:
    if isinstance(instance, dict):
        for name in instance:
            if not is_named(name, schema):
                yield from evaluator.descend(instance[name], subschema, path=name)


def is_named(name: str, schema: Schema) -> bool:
    """Whether `properties` or `patternProperties` of this very schema speak of the member."""
    if name in schema.get("properties", {}):
        return True
    return any(matches(pattern, name) for pattern in schema.get("patternProperties", {}))


def property_names(evaluator: Evaluator, subschema: Any, instance: JsonValue, _schema: Schema) -> Errors:
    if isinstance(instance, dict):
        for name in instance:
            for error in evaluator.descend(name, subschema):
                # At the member: a pointer leads to no name, and the object may have hundreds.
                yield ValidationError(f"a member may not have this name: {error.message}", path=[name])


def items(evaluator: Evaluator, subschema: Any, instance: JsonValue, schema: Schema) -> Errors:
    if isinstance(instance, list):
        for index in range(len(schema.get("prefixItems", [])), len(instance)):
            yield from evaluator.descend(instance[index], subschema, path=index)


def contains(evaluator: Evaluator, subschema: Any, instance: JsonValue, schema: Schema) -> Errors:
    """`contains` with its two bounds, which mean nothing without it."""
    if not isinstance(instance, list):
        return
    num_matches = sum(admits(evaluator, item, subschema) for item in instance)
    least, most = schema.get("minContains", 1), schema.get("maxContains")
    if num_matches < least:
        yield ValidationError(f"{num_matches} items match where at least {least} must")
    if most is not None and num_matches > most:
        yield ValidationError(f"{num_matches} items match where at most {most} may", validator="maxContains")


def any_of(evaluator: Evaluator, subschemas: list[Any], instance: JsonValue, _schema: Schema) -> Errors:
    if not any(admits(evaluator, instance, subschema) for subschema in subschemas):
        yield ValidationError(f"none of the {len(subschemas)} alternatives accepts it")


def one_of(evaluator: Evaluator, subschemas: list[Any], instance: JsonValue, _schema: Schema) -> Errors:
    num_accepting = sum(admits(evaluator, instance, subschema) for subschema in subschemas)
    if num_accepting != 1:
        yield ValidationError(f"{num_accepting} of the {len(subschemas)} alternatives accept it where exactly one must")


def not_(evaluator: Evaluator, subschema: Any, instance: JsonValue, _schema: Schema) -> Errors:
    if admits(evaluator, instance, subschema):
        yield ValidationError("accepted by a schema that must not accept it")


def if_(evaluator: Evaluator, condition: Any, instance: JsonValue, schema: Schema) -> Errors:
    branch = "then" if admits(evaluator, instance, condition) else "else"
    if branch in schema:
        yield from evaluator.descend(instance, schema[branch], schema_path=branch)
