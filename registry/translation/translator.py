"""The walk over a whole document, object by object, each by the rules of the dialect it is written in.

It recurses over nothing, follows no reference, and changes nothing that the caller holds. Where subschemas move,
references need no rewriting: whoever follows one asks `Translated.place` for the place that the author's pointer has.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final

from policy.enforcement import EnforcementPolicy, Unknown
from policy.rejection import Rejection, RejectionCode
from registry.contract import JsonValue
from registry.dialects import Dialect, dialect_of, named_dialect
from registry.errors import MAX_REJECTIONS
from registry.keywords import DIALECT_2020_12
from registry.pointers import join
from registry.schema_positions import SchemaObject
from registry.shapes import shape_fault
from registry.translation.containers import (
    translate_assumed_dependencies,
    translate_contains,
    translate_dependencies,
    translate_tuples,
)
from registry.translation.lookahead import looks_ahead, split_lookahead
from registry.translation.names import translate_names
from registry.translation.openapi import (
    lift_components,
    refuse_beyond_openapi_3_0,
    set_aside_openapi_annotations,
    translate_nullable,
)
from registry.translation.recursion import translate_recursion
from registry.translation.rewriting import Child, Path, Rewriting, Scope
from registry.translation.siblings import set_aside_ref_siblings, set_aside_unknown
from registry.translation.translated import Transformation, Translated, Untranslatable
from registry.translation.values import note_formats, note_integers, translate_bounds

_BOOLEANS_IN_DRAFT_04: Final[frozenset[Path]] = frozenset({("additionalProperties",), ("additionalItems",)})

_RULES: Final[tuple[Callable[[Rewriting], None], ...]] = (
    translate_names,
    translate_recursion,
    translate_bounds,
    translate_tuples,
    translate_dependencies,
    translate_contains,
    note_integers,
    note_formats,
)


def dialect_for(schema: JsonValue, declared: Dialect | None) -> Dialect | Rejection:
    """The dialect of a document: what it says itself, else what was declared, else 2020-12."""
    uri = named_dialect(schema)
    if uri is None:
        return declared or Dialect.DRAFT_2020_12
    dialect = dialect_of(uri)
    if dialect is None:
        message = f"The dialect {uri[:200]!r} is not known; 2020-12 is."
    elif declared is not None and dialect is not declared:
        message = f"`$schema` says {dialect.value}, and it was declared to be {declared.value}; let them agree."
    else:
        return dialect
    return Rejection(code=RejectionCode.UNSUPPORTED_DIALECT, message=message, pointer="/$schema", keyword="$schema")


def translate(
    schema: JsonValue, dialect: Dialect, policy: EnforcementPolicy, *, is_assumed: bool = False
) -> Translated | Untranslatable:
    """The document in 2020-12. With `dialect` 2020-12 that is the document itself, but for embedded resources.

    `is_assumed`: nobody named the dialect. `dependencies` is then taken for what it was in every draft that had it;
    2020-12 has no such keyword, and nobody writes it to say nothing.
    """
    traits = _Traits.of(schema)
    is_plain = not (traits.changes_dialect or traits.looks_ahead or (is_assumed and traits.has_dependencies))
    if dialect is Dialect.DRAFT_2020_12 and is_plain:
        return Translated(schema=schema, dialect=dialect, dialects=MappingProxyType({"": dialect}))
    translator = _Translator(
        schema, dialect, policy, counts_contains=not traits.asks_for_evaluated_items, is_assumed=is_assumed
    )
    return translator.translated()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Traits:
    """What must be known of a document before its first object is rewritten. Any member counts, data too."""

    changes_dialect: bool
    has_dependencies: bool
    looks_ahead: bool
    asks_for_evaluated_items: bool

    @classmethod
    def of(cls, schema: JsonValue) -> "_Traits":
        changes = asks = depends = looks = False
        pending: list[JsonValue] = [schema]
        while pending:
            value = pending.pop()
            if isinstance(value, dict):
                asks = asks or "unevaluatedItems" in value
                depends = depends or "dependencies" in value
                looks = looks or looks_ahead(value.get("pattern"))
                changes = changes or ("$schema" in value and value is not schema)
                pending.extend(member for member in value.values() if isinstance(member, dict | list))
            elif isinstance(value, list):
                pending.extend(member for member in value if isinstance(member, dict | list))
        return cls(changes_dialect=changes, has_dependencies=depends, looks_ahead=looks, asks_for_evaluated_items=asks)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Visit:
    """A subschema that waits for its translation, and where that goes."""

    schema: JsonValue
    source: str
    here: str
    scope: Scope
    container: Any
    """The array or object that the translation is put into."""
    slot: str | int
    path: Path = ()
    """Where its author wrote it, below the object that holds it."""


class _Translator:
    def __init__(
        self,
        schema: JsonValue,
        dialect: Dialect,
        policy: EnforcementPolicy,
        *,
        counts_contains: bool,
        is_assumed: bool,
    ) -> None:
        self._dialect = dialect
        self._result: dict[str, JsonValue] = {}
        scope = Scope(
            dialect=dialect,
            resource=schema if isinstance(schema, dict) else {},
            is_root=True,
            may_reject_unknown=policy.unknown_keyword is Unknown.REJECT,
            is_assumed=is_assumed,
            counts_contains=counts_contains,
        )
        self._stack = [_Visit(schema=schema, source="", here="", scope=scope, container=self._result, slot="root")]
        self._counts_contains = counts_contains
        self._source_pointers = {"": ""}
        self._places = {"": ""}
        self._dialects = {"": dialect}
        self._absorbed: set[str] = set()
        self._transformations: list[Transformation] = []
        self._rejections: list[Rejection] = []

    def translated(self) -> Translated | Untranslatable:
        while self._stack and len(self._rejections) < MAX_REJECTIONS:
            self._visit(self._stack.pop())
        if self._rejections:
            return Untranslatable(rejections=tuple(self._rejections[:MAX_REJECTIONS]))
        if not self._transformations and not self._dialect.is_2020_12:
            self._transformations.append(Transformation(dialect=self._dialect, pointer="", what=_NOTHING))
        return Translated(
            schema=self._result["root"],
            dialect=self._dialect,
            source_pointers=MappingProxyType(self._source_pointers),
            places=MappingProxyType(self._places),
            dialects=MappingProxyType(self._dialects),
            absorbed=frozenset(self._absorbed),
            counts_contains=self._counts_contains,
            transformations=tuple(self._transformations),
        )

    def _visit(self, visit: _Visit) -> None:
        if not isinstance(visit.schema, dict):
            visit.container[visit.slot] = visit.schema
            self._check_boolean(visit)
            return
        scope = self._entered(visit)
        if scope is None:
            return
        rewriting = Rewriting(visit.schema, scope, visit.source)
        _rewrite(rewriting)
        if not rewriting.rejections:
            split_lookahead(rewriting)
        self._rejections.extend(rewriting.rejections)
        self._transformations.extend(rewriting.transformations)
        if rewriting.rejections:
            return
        self._place(visit, rewriting)

    def _place(self, visit: _Visit, rewriting: Rewriting) -> None:
        if isinstance(rewriting.members.get("$schema"), str):
            rewriting.members["$schema"] = DIALECT_2020_12
        rewriting.own_containers()
        visit.container[visit.slot] = rewriting.members
        self._absorbed.update(join(visit.here, keyword) for keyword in rewriting.absorbed)
        for path, origin in rewriting.origins.items():
            self._moved(join(visit.here, *path), join(visit.source, *origin))
        for child in reversed(list(rewriting.subschemas())):
            container: Any = rewriting.members
            for token in child.path[:-1]:
                container = container[token]
            here, source = join(visit.here, *child.path), join(visit.source, *child.source)
            if child.path != child.source:
                self._moved(here, source)
                self._places[source] = here  # and not a wrapper of the translation's own, which has the same source
            self._stack.append(
                _Visit(
                    schema=child.schema,
                    source=source,
                    here=here,
                    scope=_below(rewriting, child),
                    container=container,
                    slot=child.path[-1],
                    path=child.source,
                )
            )

    def _moved(self, here: str, source: str) -> None:
        self._source_pointers[here] = source
        self._places.setdefault(source, here)

    def _entered(self, visit: _Visit) -> Scope | None:
        """The scope within a schema object, which may open a resource, of another dialect even."""
        scope, schema = visit.scope, visit.schema
        assert isinstance(schema, dict)
        if visit.scope.is_root:
            return scope
        identifier = schema.get("$id")
        # A name that is no resource's would leave the references in it to the resource around it.
        is_named = isinstance(identifier, str) and shape_fault("$id", identifier) is None
        opens_resource = not scope.dialect.ignores_ref_siblings and is_named
        uri = named_dialect(schema)
        if uri is not None and opens_resource:
            scope = replace(scope, is_assumed=False)
        if uri is not None and (inner := dialect_of(uri)) is not scope.dialect:
            if inner is None or not opens_resource or not _reads_id(inner, schema):
                self._refuse_switch(visit, uri)
                return None
            scope = replace(scope, dialect=inner)
            self._dialects[visit.here] = inner
            self._transformations.append(
                Transformation(dialect=inner, pointer=visit.source, what="an embedded resource of this dialect")
            )
        if opens_resource:
            scope = replace(scope, resource=schema)
        return scope

    def _refuse_switch(self, visit: _Visit, uri: str) -> None:
        message = (
            f"The dialect cannot change to {uri[:200]!r} here: only an embedded resource with an `$id`, in 2019-09 or"
            " later, brings a known dialect of its own."
        )
        self._rejections.append(
            Rejection(
                code=RejectionCode.UNSUPPORTED_DIALECT,
                message=message,
                pointer=join(visit.source, "$schema"),
                keyword="$schema",
            )
        )

    def _check_boolean(self, visit: _Visit) -> None:
        """Draft 04 and OpenAPI 3.0 have booleans in two keywords, and else no schemas that are booleans."""
        is_allowed = visit.path in _BOOLEANS_IN_DRAFT_04 or not visit.scope.dialect.is_draft_04_in_numbers
        if isinstance(visit.schema, bool) and not is_allowed:
            message = f"Under {visit.scope.dialect.value}, a schema is an object; a boolean is one since draft 06."
            self._rejections.append(Rejection(code=RejectionCode.INVALID_SCHEMA, message=message, pointer=visit.source))


def _reads_id(dialect: Dialect, schema: SchemaObject) -> bool:
    """Whether `$id` in a schema object names a resource to this dialect as well."""
    return dialect is not Dialect.DRAFT_04 and not (dialect.ignores_ref_siblings and "$ref" in schema)


_NOTHING: Final = "read as 2020-12: no keyword used differs"


def _rewrite(rewriting: Rewriting) -> None:
    """Apply the rules of the object's dialect, up to the first stage that refuses something."""
    dialect = rewriting.dialect
    if rewriting.scope.is_root and dialect in {Dialect.OPENAPI_3_0, Dialect.OPENAPI_3_1}:
        lift_components(rewriting)
    if dialect is Dialect.OPENAPI_3_0:
        refuse_beyond_openapi_3_0(rewriting)
    if rewriting.rejections:
        return
    if dialect is Dialect.OPENAPI_3_1:
        set_aside_openapi_annotations(rewriting)
    if dialect.is_2020_12 and rewriting.scope.is_assumed:
        translate_assumed_dependencies(rewriting)
    if dialect.is_2020_12 or set_aside_ref_siblings(rewriting):
        return
    if dialect is Dialect.OPENAPI_3_0:
        set_aside_openapi_annotations(rewriting)
        translate_nullable(rewriting)
    else:
        set_aside_unknown(rewriting)
    for rule in _RULES:
        if rewriting.rejections:
            return
        rule(rewriting)


def _below(rewriting: Rewriting, child: Child) -> Scope:
    """The scope of a subschema, before it opens a resource of its own."""
    scope = rewriting.scope
    hides = scope.dialect.ignores_ref_siblings and ("$ref" in rewriting.source or child.path[0] == "$defs")
    return replace(scope, is_root=False, is_hidden=scope.is_hidden or hides)
