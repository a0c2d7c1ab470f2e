"""Which dialect a schema is written in, and whether it means the same in 2020-12.

An older dialect is read as 2020-12 only if no keyword that the schema uses differs; otherwise it is refused at that
keyword. Reading it anyway would be a reinterpretation in silence.
"""

from collections.abc import Mapping
from enum import Enum
from typing import Final

from policy.rejection import Rejection, RejectionCode
from registry.contract import JsonValue
from registry.keywords import APPLICATORS, ASSERTIONS
from registry.pointers import join


class Dialect(Enum):
    """The dialects this product can read, oldest first."""

    DRAFT_04 = "draft-04"
    DRAFT_06 = "draft-06"
    DRAFT_07 = "draft-07"
    DRAFT_2019_09 = "2019-09"
    DRAFT_2020_12 = "2020-12"

    @property
    def ignores_ref_siblings(self) -> bool:
        """Up to draft 07, whatever stands beside `$ref` does not count."""
        return self in {Dialect.DRAFT_04, Dialect.DRAFT_06, Dialect.DRAFT_07}

    @property
    def transformation(self) -> str:
        """What the report says of a schema that was read across."""
        return f"{self.value} read as 2020-12: no keyword used differs"


_BY_URI: Final = {
    "//json-schema.org/draft-04/schema": Dialect.DRAFT_04,
    "//json-schema.org/draft-06/schema": Dialect.DRAFT_06,
    "//json-schema.org/draft-07/schema": Dialect.DRAFT_07,
    "//json-schema.org/draft/2019-09/schema": Dialect.DRAFT_2019_09,
    "//json-schema.org/draft/2020-12/schema": Dialect.DRAFT_2020_12,
}

_DRAFT_04: Final = frozenset(
    {
        "$ref", "multipleOf", "maximum", "minimum", "maxLength", "minLength", "pattern", "items", "maxItems",
        "minItems", "uniqueItems", "maxProperties", "minProperties", "required", "additionalProperties", "properties",
        "patternProperties", "enum", "type", "format", "allOf", "anyOf", "oneOf", "not",
    }
)  # fmt: skip
_DRAFT_06: Final = _DRAFT_04 | {"$id", "const", "contains", "propertyNames", "exclusiveMaximum", "exclusiveMinimum"}
_DRAFT_07: Final = _DRAFT_06 | {"if", "then", "else"}
_DRAFT_2019_09: Final = _DRAFT_07 | {
    "$anchor", "$vocabulary", "dependentRequired", "dependentSchemas", "unevaluatedItems", "unevaluatedProperties",
    "minContains", "maxContains",
}  # fmt: skip

_SHARED: Final[Mapping[Dialect, frozenset[str]]] = {
    Dialect.DRAFT_04: _DRAFT_04,
    Dialect.DRAFT_06: _DRAFT_06,
    Dialect.DRAFT_07: _DRAFT_07,
    Dialect.DRAFT_2019_09: _DRAFT_2019_09,
}
"""Keywords that restrict instances, or name things, and that an older dialect has with today's meaning."""

_NAMING: Final = frozenset({"$id", "$anchor", "$dynamicRef", "$dynamicAnchor", "$vocabulary"})
_JUDGING: Final = APPLICATORS | ASSERTIONS


def dialect_of(uri: str) -> Dialect | None:
    """The dialect that a `$schema` names; `None` if this product does not know it."""
    plain = uri.removesuffix("#")
    for scheme in ("https:", "http:"):
        if plain.startswith(scheme):
            return _BY_URI.get(plain.removeprefix(scheme))
    return None


def difference(
    dialect: Dialect, keyword: str, schema: Mapping[str, JsonValue], pointer: str, *, is_hidden: bool
) -> Rejection | None:
    """Why `keyword` of `schema` (which stands at `pointer`) means something else in 2020-12, if it does.

    `is_hidden`: it stands where the dialect expects no schema (`registry.hidden_names`).
    """
    reason = _reason(dialect, keyword, schema, pointer)
    if reason is None and is_hidden and keyword == "$id":
        reason = "no schema is expected here, and `$id` names nothing"
    if reason is None:
        return None
    return Rejection(
        code=RejectionCode.UNSUPPORTED_DIALECT,
        message=f"Under {dialect.value}, {reason}; write the schema in 2020-12.",
        pointer=join(pointer, keyword),
        keyword=keyword,
    )


def is_idle_there(dialect: Dialect, keyword: str, schema: Mapping[str, JsonValue]) -> bool:
    """Whether a keyword that 2020-12 does not have is one of `dialect` and restricts nothing where it stands."""
    if keyword == "id":
        return dialect is Dialect.DRAFT_04
    if keyword == "additionalItems":
        return dialect is not Dialect.DRAFT_2020_12 and not isinstance(schema.get("items"), list)
    return keyword == "$recursiveAnchor" and dialect is Dialect.DRAFT_2019_09 and schema[keyword] is False


def _reason(dialect: Dialect, keyword: str, schema: Mapping[str, JsonValue], pointer: str) -> str | None:
    if dialect is Dialect.DRAFT_2020_12:
        return None
    value = schema[keyword]
    if keyword == "$ref" and dialect.ignores_ref_siblings:
        siblings = sorted(name for name in schema if name in _JUDGING)
        return f"`{siblings[0]}` beside `$ref` does not count" if siblings else None
    if keyword == "items" and isinstance(value, list):
        return "an array in `items` is what `prefixItems` is now"
    if keyword in {"exclusiveMinimum", "exclusiveMaximum"} and dialect is Dialect.DRAFT_04 and isinstance(value, bool):
        return f"`{keyword}` is a boolean"
    if keyword == "additionalItems" and not is_idle_there(dialect, keyword, schema):
        return "`additionalItems` is what `items` beside `prefixItems` is now"
    if keyword == "dependencies" and dialect.ignores_ref_siblings:
        return "`dependencies` restricts objects"
    if keyword in {"$recursiveRef", "$recursiveAnchor"} and dialect is Dialect.DRAFT_2019_09:
        return None if is_idle_there(dialect, keyword, schema) else f"`{keyword}` is what `$dynamicRef` is now"
    if keyword == "$id" and dialect.ignores_ref_siblings and isinstance(value, str):
        return _id_reason(dialect, value, schema, is_root=not pointer)
    if keyword in _JUDGING | _NAMING and keyword not in _SHARED[dialect]:
        return f"`{keyword}` does not exist and would be ignored"
    return None


def _id_reason(dialect: Dialect, value: str, schema: Mapping[str, JsonValue], *, is_root: bool) -> str | None:
    if dialect is Dialect.DRAFT_04:
        return "`$id` does not exist and would be ignored"
    if "#" in value.removesuffix("#"):
        return "a fragment in `$id` is what `$anchor` is now"
    if "$ref" in schema and not is_root:  # of the root's, `hidden_names` decides: only the whole document can tell
        return "`$id` beside `$ref` does not count"
    return None
