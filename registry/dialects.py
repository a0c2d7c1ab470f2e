"""The dialects a schema can be written in, and what each of them knows.

Only 2020-12 is read; whatever else is translated to it first (`registry.translation`), exactly or not at all.
"""

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from registry.contract import JsonValue
from registry.keywords import APPLICATORS, ASSERTIONS


class Dialect(StrEnum):
    """The dialects this product can read, oldest first. The values are what a caller names them by."""

    DRAFT_04 = "draft-04"
    DRAFT_06 = "draft-06"
    DRAFT_07 = "draft-07"
    DRAFT_2019_09 = "2019-09"
    DRAFT_2020_12 = "2020-12"
    OPENAPI_3_0 = "openapi-3.0"
    """The Schema Object of OpenAPI 3.0.x. It has no `$schema`: a caller must say so."""
    OPENAPI_3_1 = "openapi-3.1"
    """2020-12 with OpenAPI's base vocabulary."""

    @property
    def ignores_ref_siblings(self) -> bool:
        """Up to draft 07, and in OpenAPI 3.0, whatever stands beside `$ref` does not count."""
        return self in {Dialect.DRAFT_04, Dialect.DRAFT_06, Dialect.DRAFT_07, Dialect.OPENAPI_3_0}

    @property
    def is_draft_04_in_numbers(self) -> bool:
        """Whether exclusive bounds are booleans, `1.0` is no integer, and no schema is a boolean."""
        return self in {Dialect.DRAFT_04, Dialect.OPENAPI_3_0}

    @property
    def is_2020_12(self) -> bool:
        """Whether keywords that restrict are those of 2020-12."""
        return self in {Dialect.DRAFT_2020_12, Dialect.OPENAPI_3_1}


_BY_URI: Final = {
    "//json-schema.org/draft-04/schema": Dialect.DRAFT_04,
    "//json-schema.org/draft-06/schema": Dialect.DRAFT_06,
    "//json-schema.org/draft-07/schema": Dialect.DRAFT_07,
    "//json-schema.org/draft/2019-09/schema": Dialect.DRAFT_2019_09,
    "//json-schema.org/draft/2020-12/schema": Dialect.DRAFT_2020_12,
}
_OPENAPI_3_1: Final = re.compile(r"//spec\.openapis\.org/oas/3\.1/dialect/(?:base|\d{4}-\d{2}-\d{2})")
"""`base`, and the editions by date."""

_DRAFT_04: Final = frozenset(
    {
        "$ref", "multipleOf", "maximum", "minimum", "maxLength", "minLength", "pattern", "items", "maxItems",
        "minItems", "uniqueItems", "maxProperties", "minProperties", "required", "additionalProperties", "properties",
        "patternProperties", "enum", "type", "format", "allOf", "anyOf", "oneOf", "not", "exclusiveMaximum",
        "exclusiveMinimum", "additionalItems", "dependencies",
    }
)  # fmt: skip
_DRAFT_06: Final = _DRAFT_04 | {"$id", "const", "contains", "propertyNames"}
_DRAFT_07: Final = _DRAFT_06 | {"if", "then", "else"}
_DRAFT_2019_09: Final = (_DRAFT_07 - {"dependencies"}) | {
    "$anchor", "$recursiveRef", "$recursiveAnchor", "$vocabulary", "dependentRequired", "dependentSchemas",
    "unevaluatedItems", "unevaluatedProperties", "minContains", "maxContains", "contentSchema",
}  # fmt: skip
_OPENAPI_3_0: Final = _DRAFT_04 - {"patternProperties", "additionalItems", "dependencies"}

KEYWORDS: Final[Mapping[Dialect, frozenset[str]]] = {
    Dialect.DRAFT_04: _DRAFT_04 | {"id"},
    Dialect.DRAFT_06: _DRAFT_06,
    Dialect.DRAFT_07: _DRAFT_07,
    Dialect.DRAFT_2019_09: _DRAFT_2019_09,
    Dialect.OPENAPI_3_0: _OPENAPI_3_0,
}
"""Keywords of the dialects to be translated that restrict instances, hold schemas to apply, or name things."""

DEFINED_FORMATS: Final[Mapping[Dialect, frozenset[str]]] = {
    Dialect.DRAFT_04: (_FORMATS_04 := frozenset({"date-time", "email", "hostname", "ipv4", "ipv6", "uri"})),
    Dialect.DRAFT_06: (_FORMATS_06 := _FORMATS_04 | {"uri-reference", "uri-template", "json-pointer"}),
    Dialect.DRAFT_07: (
        _FORMATS_07 := _FORMATS_06
        | {"idn-email", "idn-hostname", "iri", "iri-reference", "relative-json-pointer", "regex", "date", "time"}
    ),
    Dialect.DRAFT_2019_09: _FORMATS_07 | {"duration", "uuid"},
    Dialect.OPENAPI_3_0: frozenset({"date", "date-time"}),
}
"""The formats among 2020-12's that an older dialect defines itself; any other is an extension there."""

JUDGING: Final = APPLICATORS | ASSERTIONS
"""Keywords of 2020-12 that restrict instances."""

NAMING: Final = frozenset({"$id", "$anchor", "$dynamicRef", "$dynamicAnchor", "$vocabulary"})
"""Keywords of 2020-12 that name things, or refer to names; `$ref` is in every dialect."""


def dialect_of(uri: str) -> Dialect | None:
    """The dialect that a `$schema` names; `None` if this product does not know it."""
    plain = uri.removesuffix("#")
    for scheme in ("https:", "http:"):
        if plain.startswith(scheme):
            path = plain.removeprefix(scheme)
            return Dialect.OPENAPI_3_1 if _OPENAPI_3_1.fullmatch(path) else _BY_URI.get(path)
    return None


def named_dialect(schema: JsonValue) -> str | None:
    """The `$schema` of a schema, if it is a string."""
    uri = schema.get("$schema") if isinstance(schema, dict) else None
    return uri if isinstance(uri, str) else None
