"""Names that an older dialect does not see, although they stand where 2020-12 has schemas.

Up to draft 07 nothing beside `$ref` counts, and `$defs` and `contentSchema` are unknown. An `$id` there opens no
resource, so it moves no base; read as 2020-12 it would, and references would lead elsewhere. The other way round, names
in `additionalItems` count before 2020-12 and are none since.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from policy.rejection import Rejection, RejectionCode
from registry.contract import JsonValue
from registry.dialects import Dialect, is_idle_there
from registry.pointers import join

SchemaObject = Mapping[str, JsonValue]

_UNKNOWN: Final = frozenset({"$defs", "contentSchema"})
"""Keywords with subschemas that restrict nothing, so that drafts up to 07 are read in spite of them."""

_NAMES: Final = frozenset({"$id", "id", "$anchor"})


def hides(dialect: Dialect, schema: SchemaObject, keyword: str) -> bool:
    """Whether `dialect` sees no schema in what stands at `keyword` of `schema`."""
    return dialect.ignores_ref_siblings and ("$ref" in schema or keyword in _UNKNOWN)


def ignored_root_name(dialect: Dialect, document: str, schemas: Iterable[tuple[str, SchemaObject]]) -> Rejection | None:
    """The refusal of an `$id` beside the root's `$ref`, unless no reference and no other name could notice it.

    `document` is empty for the contract itself; others are found by their names.
    """
    listed = list(schemas)
    root = next((schema for pointer, schema in listed if not pointer), {})
    if not (dialect.ignores_ref_siblings and "$ref" in root and "$id" in root):
        return None
    is_local = all(str(schema["$ref"]).startswith("#") for _, schema in listed if "$ref" in schema)
    is_alone = not any(pointer and "$id" in schema for pointer, schema in listed)
    if is_local and is_alone and not document:
        return None
    return _refused(dialect, "`$id` beside `$ref` does not count", "", "$id")


def missed_name(dialect: Dialect, schema: SchemaObject, pointer: str) -> Rejection | None:
    """The refusal of an `additionalItems` that restricts nothing and yet holds names."""
    if dialect is Dialect.DRAFT_2020_12 or not is_idle_there(dialect, "additionalItems", schema):
        return None
    if not _names_anything(schema.get("additionalItems")):
        return None
    return _refused(dialect, "names in `additionalItems` count", pointer, "additionalItems")


def _names_anything(value: JsonValue) -> bool:
    """Whether a value holds, at any depth, what could be a name if it were a schema."""
    pending = [value]
    while pending:
        match pending.pop():
            case dict() as members:
                if not _NAMES.isdisjoint(members):
                    return True
                pending.extend(members.values())
            case list() as items:
                pending.extend(items)
            case _:
                pass
    return False


def _refused(dialect: Dialect, reason: str, pointer: str, keyword: str) -> Rejection:
    return Rejection(
        code=RejectionCode.UNSUPPORTED_DIALECT,
        message=f"Under {dialect.value}, {reason}; write the schema in 2020-12.",
        pointer=join(pointer, keyword),
        keyword=keyword,
    )
