"""One document, walked once: where its subschemas are, what they are called, and every fault in their wording.

Only schema positions count: what stands in `enum`, `const`, `examples` or an unknown keyword is data, whatever it
looks like.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from policy.enforcement import EnforcementPolicy
from policy.rejection import Rejection, RejectionCode
from registry.contract import JsonValue
from registry.dialects import Dialect, dialect_of, difference
from registry.errors import MAX_REJECTIONS
from registry.hidden_names import hides, ignored_root_name, missed_name
from registry.keywords import SHAPES, Shape
from registry.pointers import join
from registry.shapes import shape_fault
from registry.uris import resolve_uri
from registry.wording import judge_member

SchemaObject = Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True, kw_only=True)
class Location:
    """A subschema where it stands. `base` is the URI of the resource it belongs to; `document` that of the text."""

    document: str
    pointer: str
    base: str
    schema: bool | SchemaObject


@dataclass(slots=True, kw_only=True, eq=False)
class Survey:
    """What one document holds. Filled by `survey_document`, then only read."""

    document: str
    value: JsonValue
    dialect: Dialect = Dialect.DRAFT_2020_12
    locations: dict[str, Location] = field(default_factory=dict)
    resources: dict[str, str] = field(default_factory=dict)
    """Absolute URI of each resource, to the pointer of its root."""
    anchors: dict[tuple[str, str], str] = field(default_factory=dict)
    """Resource and plain name, to a pointer."""
    dynamic_anchors: dict[str, list[str]] = field(default_factory=dict)
    """Name, to the pointers of all its places."""
    rejections: list[Rejection] = field(default_factory=list)

    def refuse(self, code: RejectionCode, message: str, pointer: str, keyword: str | None = None) -> None:
        """Note a fault; the walk goes on, so that an author sees several at once."""
        self.rejections.append(Rejection(code=code, message=message, pointer=pointer, keyword=keyword))


def survey_document(value: JsonValue, *, document: str, policy: EnforcementPolicy) -> Survey:
    """Walk a whole document, stopping early only when there are more faults than an answer lists."""
    survey = Survey(document=document, value=value)
    if not isinstance(value, bool | dict):
        survey.refuse(RejectionCode.INVALID_SCHEMA, "A schema is an object or a boolean.", "")
        return survey
    survey.resources[document] = ""
    if not _read_dialect(survey, value):
        return survey
    stack: list[tuple[str, JsonValue, str, bool]] = [("", value, document, False)]
    while stack and len(survey.rejections) < MAX_REJECTIONS:
        pointer, schema, base, is_hidden = stack.pop()
        if isinstance(schema, bool):
            survey.locations[pointer] = Location(document=document, pointer=pointer, base=base, schema=schema)
        elif isinstance(schema, dict):
            base = _name(survey, schema, pointer, base)
            survey.locations[pointer] = Location(document=document, pointer=pointer, base=base, schema=schema)
            _check_members(survey, schema, pointer, policy, is_hidden=is_hidden)
            stack.extend(
                (join(pointer, *path), child, base, is_hidden or hides(survey.dialect, schema, str(path[0])))
                for path, child in reversed(list(subschemas(schema)))
            )
    _check_draft_04_ids(survey)
    objects = ((pointer, at.schema) for pointer, at in survey.locations.items() if isinstance(at.schema, dict))
    fault = ignored_root_name(survey.dialect, document, objects)
    if fault is not None:
        survey.rejections.append(fault)
    _check_contains_under_2019_09(survey)
    return survey


def subschemas(schema: SchemaObject) -> Iterator[tuple[tuple[str | int, ...], JsonValue]]:
    """Every subschema with its path below `schema`, members in the order they stand; misshapen values have none."""
    for keyword, value in schema.items():
        match SHAPES.get(keyword), value:
            case Shape.SCHEMA, dict() | bool():
                yield (keyword,), value
            case Shape.SCHEMAS, list():
                yield from (((keyword, index), item) for index, item in enumerate(value))
            case Shape.SCHEMAS_BY_NAME, dict():
                yield from (((keyword, name), member) for name, member in value.items())
            case _:
                pass


def _read_dialect(survey: Survey, value: JsonValue) -> bool:
    uri = value.get("$schema") if isinstance(value, dict) else None
    if not isinstance(uri, str):
        return True  # a `$schema` of another type is a fault of its shape
    dialect = dialect_of(uri)
    if dialect is None:
        message = f"The dialect {uri[:200]!r} is not known; 2020-12 is."
        survey.refuse(RejectionCode.UNSUPPORTED_DIALECT, message, "/$schema", "$schema")
        return False
    survey.dialect = dialect
    return True


def _name(survey: Survey, schema: SchemaObject, pointer: str, base: str) -> str:
    """Enter the names that `schema` gives itself; return its base URI."""
    identifier = schema.get("$id")
    if isinstance(identifier, str) and shape_fault("$id", identifier) is None:
        base, _ = resolve_uri(base, identifier)
        if survey.resources.get(base, pointer) != pointer:
            message = f"Two resources are called {base[:200]!r}."
            survey.refuse(RejectionCode.INVALID_SCHEMA, message, join(pointer, "$id"), "$id")
        survey.resources.setdefault(base, pointer)
    for keyword in ("$anchor", "$dynamicAnchor"):
        anchor = schema.get(keyword)
        if isinstance(anchor, str):
            if survey.anchors.get((base, anchor), pointer) != pointer:
                message = f"Two subschemas are called {anchor[:200]!r}."
                survey.refuse(RejectionCode.INVALID_SCHEMA, message, join(pointer, keyword), keyword)
            survey.anchors.setdefault((base, anchor), pointer)
            if keyword == "$dynamicAnchor":
                survey.dynamic_anchors.setdefault(anchor, []).append(pointer)
    nested = schema.get("$schema")
    if pointer and isinstance(nested, str) and dialect_of(nested) is not survey.dialect:
        message = "A subschema cannot change the dialect."
        survey.refuse(RejectionCode.UNSUPPORTED_DIALECT, message, join(pointer, "$schema"), "$schema")
    return base


def _check_members(
    survey: Survey, schema: SchemaObject, pointer: str, policy: EnforcementPolicy, *, is_hidden: bool
) -> None:
    missed = missed_name(survey.dialect, schema, pointer)
    if missed is not None:
        survey.rejections.append(missed)
    for keyword in schema:
        if len(survey.rejections) >= MAX_REJECTIONS:
            return
        fault = difference(survey.dialect, keyword, schema, pointer, is_hidden=is_hidden)
        if fault is None:
            fault = judge_member(survey.dialect, keyword, schema, pointer, policy)
        if fault is not None:
            survey.rejections.append(fault)


def _check_draft_04_ids(survey: Survey) -> None:
    """Draft 04's `id` moves the base of references. It is idle only where no reference could notice."""
    if survey.dialect is not Dialect.DRAFT_04:
        return
    objects = {p: at.schema for p, at in survey.locations.items() if isinstance(at.schema, dict)}
    named = [pointer for pointer, schema in objects.items() if "id" in schema]
    if not named:
        return
    references = {p: str(schema["$ref"]) for p, schema in objects.items() if "$ref" in schema}
    is_noticed = any(not ref.startswith("#/") and ref != "#" for ref in references.values())
    nested = [pointer for pointer in named if pointer]
    is_noticed = is_noticed or any(ref.startswith(f"{at}/") or ref == at for ref in references for at in nested)
    if is_noticed:
        pointer = join(nested[0] if nested else "", "id")
        message = "Under draft-04, `id` moves the base of the references here; write the schema in 2020-12."
        survey.refuse(RejectionCode.UNSUPPORTED_DIALECT, message, pointer, "id")


def _check_contains_under_2019_09(survey: Survey) -> None:
    """2020-12 counts items that `contains` found as evaluated; 2019-09 does not."""
    if survey.dialect is not Dialect.DRAFT_2019_09:
        return
    schemas = [at for at in survey.locations.values() if isinstance(at.schema, dict)]
    unevaluated = next((at for at in schemas if isinstance(at.schema, dict) and "unevaluatedItems" in at.schema), None)
    if unevaluated and any(isinstance(at.schema, dict) and "contains" in at.schema for at in schemas):
        pointer = join(unevaluated.pointer, "unevaluatedItems")
        message = "Under 2019-09, `contains` does not count for `unevaluatedItems`; write the schema in 2020-12."
        survey.refuse(RejectionCode.UNSUPPORTED_DIALECT, message, pointer, "unevaluatedItems")
