"""The Schema Object of OpenAPI: its closed set of keywords, its annotations, `nullable`, and `components`."""

from typing import Final

from registry.contract import JsonValue
from registry.dialects import KEYWORDS, Dialect
from registry.keywords import FOREIGN, SHAPES
from registry.translation.rewriting import Rewriting

ANNOTATIONS: Final = frozenset({"discriminator", "example", "externalDocs", "xml"})
"""OpenAPI's own; a `discriminator` helps readers to choose a schema and changes no verdict."""

_IN_3_0: Final = KEYWORDS[Dialect.OPENAPI_3_0] | ANNOTATIONS | {
    "title", "description", "default", "nullable", "readOnly", "writeOnly", "deprecated",
}  # fmt: skip
"""OpenAPI 3.0.3, Schema Object: the fixed fields. `x-…` may stand beside them, nothing else."""

_OF_OTHERS: Final = frozenset(SHAPES) | frozenset(FOREIGN) | {"dependencies"}
_TYPES: Final = ("array", "boolean", "integer", "number", "object", "string")


def lift_components(rewriting: Rewriting) -> None:
    """A root may bring `components`, so that references can say `#/components/schemas/…` as they do in an API.

    Its schemas become definitions; whatever else is in it is left alone.
    """
    if "components" not in rewriting:
        return
    value = rewriting.members["components"]
    schemas = value.get("schemas", {}) if isinstance(value, dict) else None
    if not isinstance(schemas, dict) or not all(isinstance(member, dict | bool) for member in schemas.values()):
        rewriting.refuse_shape("components", "an object whose `schemas` is an object of schemas")
        return
    own = rewriting.members.get("$defs", {})
    if not isinstance(own, dict):
        return  # a fault of its shape, and told as such
    definitions = dict(own)
    for name, schema in schemas.items():
        place = f"components.schemas.{name}"
        while place in definitions:
            place += "-"
        definitions[place] = schema
        rewriting.origins["$defs", place] = ("components", "schemas", name)
    rewriting.set_aside("components", "components/schemas -> $defs, the rest left out")
    if definitions:
        rewriting.members["$defs"] = definitions
        if "$defs" not in rewriting.source:
            rewriting.origins["$defs",] = ("components", "schemas")


def refuse_beyond_openapi_3_0(rewriting: Rewriting) -> None:
    """The set of keywords is closed: those of other dialects are refused under every policy."""
    for keyword in rewriting.source:
        if keyword not in _IN_3_0 and keyword in _OF_OTHERS:
            reason = f"the Schema Object has no `{keyword}`"
            rewriting.refuse_foreign(keyword, reason, "name the dialect it belongs to, or leave it out")


def set_aside_openapi_annotations(rewriting: Rewriting) -> None:
    """They restrict nothing, and 2020-12 does not have them."""
    for keyword in rewriting.source:
        if keyword in ANNOTATIONS:
            rewriting.set_aside(keyword, "is an annotation, left out")


def translate_nullable(rewriting: Rewriting) -> None:
    """OpenAPI 3.0.3: `true` adds `null` to the `type` in the same object, and says nothing where there is none.

    It does not reach into `enum`: a list without null still forbids it.
    """
    named: JsonValue = rewriting.members.get("type")
    if "type" in rewriting and named not in _TYPES:
        rewriting.refuse_shape("type", f"one of {', '.join(_TYPES)}")
        return
    if "nullable" not in rewriting:
        return
    value = rewriting.members["nullable"]
    if not isinstance(value, bool):
        rewriting.refuse_shape("nullable", "a boolean")
    elif not value:
        rewriting.set_aside("nullable", "false says nothing, left out")
    elif "type" not in rewriting:
        rewriting.set_aside("nullable", "says nothing without type beside it, left out")
    else:
        rewriting.absorb("nullable", "true -> null in type")
        rewriting.members["type"] = [named, "null"]
