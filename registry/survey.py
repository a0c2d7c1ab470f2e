"""One document, walked once: where its subschemas are, what they are called, and every fault in their wording.

Only schema positions count: what stands in `enum`, `const`, `examples` or an unknown keyword is data, whatever it
looks like.
"""

from dataclasses import dataclass, field

from policy.enforcement import EnforcementPolicy
from policy.rejection import Rejection, RejectionCode
from registry.contract import JsonValue
from registry.dialects import Dialect, named_dialect
from registry.errors import MAX_REJECTIONS
from registry.pointers import join, tokens_of
from registry.schema_positions import SchemaObject, subschemas
from registry.shapes import shape_fault
from registry.translation.recursion import RECURSIVE_ANCHOR, speaks_of_recursive_anchor
from registry.translation.translated import Translated, Untranslatable
from registry.translation.translator import dialect_for, translate
from registry.uris import MAX_URI_CHARACTERS, resolve_uri
from registry.wording import judge_member


@dataclass(frozen=True, slots=True, kw_only=True)
class Location:
    """A subschema where it stands in its translated document.

    `base` is the URI of the resource it belongs to; `document` that of the text.
    """

    document: str
    pointer: str
    base: str
    schema: bool | SchemaObject


_UNREAD = Translated(schema=True, dialect=Dialect.DRAFT_2020_12, dialects={"": Dialect.DRAFT_2020_12})
"""What a document without a translation has instead; its rejections say why."""


@dataclass(slots=True, kw_only=True, eq=False)
class Survey:
    """What one document holds. Filled by `survey_document`, then only read.

    Pointers are into the translated document, but for those of `rejections`, which are the author's.
    """

    document: str
    value: JsonValue
    """As its author wrote it."""
    translation: Translated
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


def survey_document(
    value: JsonValue, *, document: str, policy: EnforcementPolicy, dialect: Dialect | None = None
) -> Survey:
    """Walk a whole document, stopping early only when there are more faults than an answer lists.

    `dialect` is what was declared of it; without, and without a `$schema`, it is 2020-12.
    """
    translation = _translated(value, dialect, policy)
    survey = Survey(document=document, value=value, translation=_UNREAD)
    if isinstance(translation, Untranslatable):
        survey.rejections.extend(translation.rejections)
        return survey
    survey.translation = translation
    survey.resources[document] = ""
    stack: list[tuple[str, JsonValue, str]] = [("", translation.schema, document)]
    while stack and len(survey.rejections) < MAX_REJECTIONS:
        pointer, schema, base = stack.pop()
        if isinstance(schema, bool):
            survey.locations[pointer] = Location(document=document, pointer=pointer, base=base, schema=schema)
        elif isinstance(schema, dict):
            base = _name(survey, schema, pointer, base)
            survey.locations[pointer] = Location(document=document, pointer=pointer, base=base, schema=schema)
            _check_members(survey, schema, pointer, policy)
            stack.extend((join(pointer, *path), child, base) for path, child in reversed(list(subschemas(schema))))
    survey.rejections[:] = [translation.retold(rejection) for rejection in survey.rejections]
    return survey


def _translated(value: JsonValue, declared: Dialect | None, policy: EnforcementPolicy) -> Translated | Untranslatable:
    if not isinstance(value, bool | dict):
        fault = Rejection(code=RejectionCode.INVALID_SCHEMA, message="A schema is an object or a boolean.")
        return Untranslatable(rejections=(fault,))
    dialect = dialect_for(value, declared)
    if isinstance(dialect, Rejection):
        return Untranslatable(rejections=(dialect,))
    is_assumed = declared is None and named_dialect(value) is None
    return translate(value, dialect, policy, is_assumed=is_assumed)


def _name(survey: Survey, schema: SchemaObject, pointer: str, base: str) -> str:
    """Enter the names that `schema` gives itself; return its base URI."""
    identifier = schema.get("$id")
    if isinstance(identifier, str) and shape_fault("$id", identifier) is None:
        named, _ = resolve_uri(base, identifier)
        if len(named) > MAX_URI_CHARACTERS:
            survey.rejections.append(_long_name(len(named), join(pointer, "$id")))
            return base
        base = named
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
    return base


def _long_name(observed: int, pointer: str) -> Rejection:
    return Rejection(
        code=RejectionCode.LIMIT_EXCEEDED,
        message="The URI that a schema is called by is too long.",
        pointer=pointer,
        keyword="$id",
        limit_name="max_uri_characters",
        limit=MAX_URI_CHARACTERS,
        observed=observed,
    )


def _check_members(survey: Survey, schema: SchemaObject, pointer: str, policy: EnforcementPolicy) -> None:
    for keyword in schema:
        if len(survey.rejections) >= MAX_REJECTIONS:
            return
        fault = judge_member(keyword, schema, pointer, policy)
        if fault is not None:
            survey.rejections.append(fault)
        elif speaks_of_recursive_anchor(keyword, schema[keyword]) and _is_authors(survey, join(pointer, keyword)):
            message = f"The name {RECURSIVE_ANCHOR!r} is taken: it stands for `$recursiveAnchor` of 2019-09."
            survey.refuse(RejectionCode.INVALID_SCHEMA, message, join(pointer, keyword), keyword)


def _is_authors(survey: Survey, pointer: str) -> bool:
    """Whether the keyword here is the author's own, and no other one's translation."""
    return tokens_of(survey.translation.source_pointer(pointer))[-1] == tokens_of(pointer)[-1]
