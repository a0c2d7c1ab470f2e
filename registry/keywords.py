"""The vocabulary of JSON Schema 2020-12, and what else callers write into schemas."""

from enum import StrEnum
from typing import Final

DIALECT_2020_12: Final = "https://json-schema.org/draft/2020-12/schema"


class KeywordRole(StrEnum):
    """What a keyword does, as the specification groups them."""

    CORE = "core"
    """Identification and reference: gone from the canonical form."""
    APPLICATOR = "applicator"
    ASSERTION = "assertion"
    ANNOTATION = "annotation"


class Shape(StrEnum):
    """What a keyword's value must be."""

    ANY = "any JSON value"
    BOOLEAN = "a boolean"
    STRING = "a string"
    NUMBER = "a number"
    POSITIVE_NUMBER = "a number above zero"
    COUNT = "a non-negative integer"
    ARRAY = "an array"
    NAMES = "an array of different strings"
    NAMES_BY_NAME = "an object whose members are arrays of different strings"
    TYPES = "one of the seven type names, or a non-empty array of different ones"
    PATTERN = "a string that holds a pattern"
    SCHEMA = "a schema (an object or a boolean)"
    SCHEMAS = "a non-empty array of schemas"
    SCHEMAS_BY_NAME = "an object whose members are schemas"
    URI_REFERENCE = "a string that holds a URI reference"
    RESOURCE_ID = "a URI reference without a fragment"
    ANCHOR = "a plain name"
    VOCABULARIES = "an object whose members are booleans"


SHAPES: Final = {
    "$schema": Shape.STRING,
    "$id": Shape.RESOURCE_ID,
    "$ref": Shape.URI_REFERENCE,
    "$anchor": Shape.ANCHOR,
    "$dynamicRef": Shape.URI_REFERENCE,
    "$dynamicAnchor": Shape.ANCHOR,
    "$vocabulary": Shape.VOCABULARIES,
    "$comment": Shape.STRING,
    "$defs": Shape.SCHEMAS_BY_NAME,
    "definitions": Shape.SCHEMAS_BY_NAME,
    "allOf": Shape.SCHEMAS,
    "anyOf": Shape.SCHEMAS,
    "oneOf": Shape.SCHEMAS,
    "not": Shape.SCHEMA,
    "if": Shape.SCHEMA,
    "then": Shape.SCHEMA,
    "else": Shape.SCHEMA,
    "dependentSchemas": Shape.SCHEMAS_BY_NAME,
    "prefixItems": Shape.SCHEMAS,
    "items": Shape.SCHEMA,
    "contains": Shape.SCHEMA,
    "properties": Shape.SCHEMAS_BY_NAME,
    "patternProperties": Shape.SCHEMAS_BY_NAME,
    "additionalProperties": Shape.SCHEMA,
    "propertyNames": Shape.SCHEMA,
    "unevaluatedItems": Shape.SCHEMA,
    "unevaluatedProperties": Shape.SCHEMA,
    "type": Shape.TYPES,
    "enum": Shape.ARRAY,
    "const": Shape.ANY,
    "multipleOf": Shape.POSITIVE_NUMBER,
    "maximum": Shape.NUMBER,
    "exclusiveMaximum": Shape.NUMBER,
    "minimum": Shape.NUMBER,
    "exclusiveMinimum": Shape.NUMBER,
    "maxLength": Shape.COUNT,
    "minLength": Shape.COUNT,
    "pattern": Shape.PATTERN,
    "maxItems": Shape.COUNT,
    "minItems": Shape.COUNT,
    "uniqueItems": Shape.BOOLEAN,
    "maxContains": Shape.COUNT,
    "minContains": Shape.COUNT,
    "maxProperties": Shape.COUNT,
    "minProperties": Shape.COUNT,
    "required": Shape.NAMES,
    "dependentRequired": Shape.NAMES_BY_NAME,
    "format": Shape.STRING,
    "contentEncoding": Shape.STRING,
    "contentMediaType": Shape.STRING,
    "contentSchema": Shape.SCHEMA,
    "title": Shape.STRING,
    "description": Shape.STRING,
    "default": Shape.ANY,
    "deprecated": Shape.BOOLEAN,
    "readOnly": Shape.BOOLEAN,
    "writeOnly": Shape.BOOLEAN,
    "examples": Shape.ARRAY,
}
"""Every keyword of 2020-12 (and `definitions`, which its meta-schema still names), with what its value must be."""

CORE: Final = frozenset(
    {"$schema", "$id", "$ref", "$anchor", "$dynamicRef", "$dynamicAnchor", "$vocabulary", "$defs", "definitions"}
)

ANNOTATIONS: Final = frozenset(
    {
        "$comment", "title", "description", "default", "deprecated", "readOnly", "writeOnly", "examples",
        "contentEncoding", "contentMediaType", "contentSchema",
    }
)  # fmt: skip
"""Keywords that assert nothing; the canonical form leaves them out."""

APPLICATORS: Final = frozenset(
    keyword
    for keyword, shape in SHAPES.items()
    if shape in {Shape.SCHEMA, Shape.SCHEMAS, Shape.SCHEMAS_BY_NAME} and keyword not in CORE | ANNOTATIONS
)
"""Keywords that apply subschemas: the edges of a schema's graph, in the order of `SHAPES`."""

IN_PLACE: Final = frozenset({"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas"})
"""Applicators that apply to the very same instance: a cycle of these and references consumes nothing."""

ASSERTIONS: Final = frozenset(SHAPES) - CORE - ANNOTATIONS - APPLICATORS

KNOWN_FORMATS: Final = frozenset(
    {
        "date-time", "date", "time", "duration", "email", "idn-email", "hostname", "idn-hostname", "ipv4", "ipv6",
        "uri", "uri-reference", "iri", "iri-reference", "uuid", "uri-template", "json-pointer",
        "relative-json-pointer", "regex",
    }
)  # fmt: skip
"""Validation, section 7.3."""

RESERVED: Final = frozenset({"x-guidance"})
"""Would switch enforcement off inside the engine; never a caller's to say."""

VENDOR_ANNOTATIONS: Final = frozenset(
    {
        # editors
        "defaultSnippets", "deprecationMessage", "doNotSuggest", "enumDescriptions", "enumDeprecated",
        "errorMessage", "markdownDescription", "markdownDeprecationMessage", "markdownEnumDescriptions",
        "patternErrorMessage", "suggestSortText", "allowComments", "allowTrailingCommas",
        # code and form generators
        "enumNames", "javaType", "javaInterfaces", "javaEnumNames", "existingJavaType", "extendsJavaClass",
        "tsType", "tsEnumNames", "goJSONSchema", "propertyOrder", "preferredOrder", "faker", "chance",
        "ui:order", "ui:widget", "ui:options",
        # data-model libraries: which alternative to read by, beside a union that says so itself
        "discriminator",
        # other inference providers
        "propertyOrdering",
    }
)  # fmt: skip
"""Annotations that tools write, none of which restricts an instance. `x-…` needs no list."""

ALWAYS_FOREIGN: Final = {
    "nullable": 'it is OpenAPI 3.0; write `"type": ["…", "null"]`',
    "dependencies": "it is draft 07; write `dependentRequired` or `dependentSchemas`",
}
"""Refused under every policy: whoever wrote them meant other values than 2020-12 would allow."""

FOREIGN: Final = {
    "example": "it is OpenAPI; write `examples`, an array",
    "externalDocs": "it is OpenAPI",
    "xml": "it is OpenAPI",
    "id": "it is draft 04; write `$id`",
    "extends": "it is draft 03; write `allOf`",
    "disallow": "it is draft 03; write `not`",
    "divisibleBy": "it is draft 03; write `multipleOf`",
    "additionalItems": "it is draft 2019-09; write `prefixItems` with `items`",
    "$recursiveRef": "it is draft 2019-09; write `$dynamicRef`",
    "$recursiveAnchor": "it is draft 2019-09; write `$dynamicAnchor`",
}
"""Keywords of other dialects: unknown to 2020-12, so annotations by the letter, refused by default."""


def role_of(keyword: str) -> KeywordRole | None:
    """What a keyword of 2020-12 does; `None` for any other member name."""
    if keyword in ASSERTIONS:
        return KeywordRole.ASSERTION
    if keyword in APPLICATORS:
        return KeywordRole.APPLICATOR
    if keyword in ANNOTATIONS:
        return KeywordRole.ANNOTATION
    return KeywordRole.CORE if keyword in CORE else None
