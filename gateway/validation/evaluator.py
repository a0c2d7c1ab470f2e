"""`jsonschema`'s Draft 2020-12 evaluator with exact keywords, RE2 patterns, asserted formats and no way out.

The library chooses the evaluator of each subschema by its `$schema`; ours does not, since one embedded `$schema`
would bring back the library's own keywords, and with them backtracking patterns and unchecked formats.
"""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from jsonschema import Draft202012Validator, TypeChecker
from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend
from referencing import Registry, Resource
from referencing.exceptions import NoSuchResource
from referencing.jsonschema import DRAFT202012

from gateway.validation import applicators, keywords, unevaluated
from gateway.validation.errors import UnjudgeableContractError
from gateway.validation.keywords import Evaluator
from registry.contract import JsonValue

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def _is_integer(_checker: TypeChecker, instance: object) -> bool:
    """A number whose value is integral, however it was written (`1.0`, `1e2`)."""
    if isinstance(instance, Decimal):
        return instance == instance.to_integral_value()
    return isinstance(instance, int) and not isinstance(instance, bool)


def _is_number(_checker: TypeChecker, instance: object) -> bool:
    return isinstance(instance, int | Decimal) and not isinstance(instance, bool)


_TYPES = Draft202012Validator.TYPE_CHECKER.redefine_many({"integer": _is_integer, "number": _is_number})

_KEYWORDS = {
    "type": keywords.type_,
    "enum": keywords.enum,
    "const": keywords.const,
    "multipleOf": keywords.multiple_of,
    "minimum": keywords.minimum,
    "maximum": keywords.maximum,
    "exclusiveMinimum": keywords.exclusive_minimum,
    "exclusiveMaximum": keywords.exclusive_maximum,
    "minLength": keywords.min_length,
    "maxLength": keywords.max_length,
    "pattern": keywords.pattern,
    "format": keywords.format_,
    "minItems": keywords.min_items,
    "maxItems": keywords.max_items,
    "uniqueItems": keywords.unique_items,
    "minProperties": keywords.min_properties,
    "maxProperties": keywords.max_properties,
    "required": keywords.required,
    "dependentRequired": keywords.dependent_required,
    "patternProperties": applicators.pattern_properties,
    "additionalProperties": applicators.additional_properties,
    "propertyNames": applicators.property_names,
    "items": applicators.items,
    "contains": applicators.contains,
    "anyOf": applicators.any_of,
    "oneOf": applicators.one_of,
    "not": applicators.not_,
    "if": applicators.if_,
    "unevaluatedProperties": unevaluated.unevaluated_properties,
    "unevaluatedItems": unevaluated.unevaluated_items,
}

_Draft202012 = extend(Draft202012Validator, validators=_KEYWORDS, type_checker=_TYPES)
_ALL_KEYWORDS = _Draft202012.VALIDATORS


def _evolve(self: Evaluator, **changes: Any) -> Evaluator:
    """The same evaluator at another schema.

    Raises:
        UnjudgeableContractError: the schema asks for another dialect, which this evaluator would misread.
    """
    schema = changes.get("schema", self.schema)
    if isinstance(schema, dict) and schema.get("$schema", _DIALECT) not in {_DIALECT, _DIALECT + "#"}:
        raise UnjudgeableContractError("a subschema asks for another dialect than JSON Schema 2020-12")
    return _Draft202012(schema, registry=self._registry, _resolver=changes.get("_resolver", self._resolver))


_Draft202012.evolve = _evolve
_NO_POSITION = frozenset({"if", "$ref"})
"""Keywords that the library leaves out of the way to an error."""


def _descend(
    self: Evaluator,
    instance: JsonValue,
    schema: Any,
    *,
    path: Any = None,
    schema_path: Any = None,
    resolver: Any = None,
) -> Iterator[ValidationError]:
    """The way into a subschema. The library's own forgets, for `false`, where in the document it stands, and makes an
    evaluator for each: here there is another only where base URI, dynamic scope or dialect may become others."""
    if schema is True:
        return
    if schema is False:
        where = [] if path is None else [path]
        yield ValidationError("nothing is allowed here", path=where, validator=None, instance=instance, schema=schema)
        return
    evaluator = self
    if resolver is not None or "$id" in schema or "$schema" in schema:
        if resolver is None:
            resolver = self._resolver.in_subresource(DRAFT202012.create_resource(schema))
        evaluator = self.evolve(schema=schema, _resolver=resolver)
    for keyword, value in schema.items():
        evaluate = _ALL_KEYWORDS.get(keyword)
        if evaluate is None:
            continue
        for error in evaluate(evaluator, value, instance, schema) or ():
            error._set(  # noqa: SLF001 - as the library does: what the keyword has not said itself
                validator=keyword, validator_value=value, instance=instance, schema=schema, type_checker=_TYPES
            )
            if keyword not in _NO_POSITION:
                error.schema_path.appendleft(keyword)
            if path is not None:
                error.path.appendleft(path)
            if schema_path is not None:
                error.schema_path.appendleft(schema_path)
            yield error


_Draft202012.descend = _descend


def _refuse(uri: str) -> Resource[Any]:
    """Retrieve nothing, from nowhere: a contract is whole, or it is not judged."""
    raise NoSuchResource(uri)


def evaluator_for(schema: JsonValue, documents: Mapping[str, JsonValue]) -> Evaluator:
    """An evaluator of the schema. `documents` are the only others it may refer to, by absolute URI."""
    resources: list[tuple[str, Resource[Any]]] = [
        (uri, DRAFT202012.create_resource(contents)) for uri, contents in documents.items()
    ]
    registry: Registry[Any] = Registry(retrieve=_refuse).with_resources(resources)  # type: ignore[call-arg]
    # Through `evolve`, so that the dialect of the root is checked too.
    return _Draft202012(schema, registry=registry).evolve()
