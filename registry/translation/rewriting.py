"""One schema object on its way to 2020-12: its members as they become, and what became of each."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from policy.rejection import Rejection, RejectionCode
from registry.contract import JsonValue
from registry.dialects import Dialect
from registry.keywords import SHAPES, Shape
from registry.pointers import join
from registry.schema_positions import SchemaObject, subschemas
from registry.translation.translated import Transformation

Path: TypeAlias = tuple[str | int, ...]
"""Tokens below a schema object."""

_ADVICE: Final = "write the schema in 2020-12"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What a place in a document inherits from the places above it."""

    dialect: Dialect
    resource: SchemaObject
    """The root of the resource that the place belongs to, as the author wrote it."""
    is_hidden: bool = False
    """The dialect expects no schema here: references may lead here, and names are none."""
    is_root: bool = False
    """The root of the document."""
    may_reject_unknown: bool = True
    """Whether what the dialect does not know is refused, by the caller's policy."""
    is_assumed: bool = False
    """Whether nobody named the dialect, neither the document nor who sent it."""
    counts_contains: bool = True
    """Whether nothing in the document asks which items were evaluated, so that `contains` may mark some."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Child:
    """A subschema: where it stands in the rewritten object, and where its author wrote it."""

    path: Path
    source: Path
    schema: JsonValue


class Rewriting:
    """Rules change `members` through the methods here, which keep account. Order of members is kept."""

    def __init__(self, schema: SchemaObject, scope: Scope, pointer: str) -> None:
        self.source = schema
        self.scope = scope
        self.pointer = pointer
        self.members: dict[str, JsonValue] = dict(schema)
        self.origins: dict[Path, Path] = {}
        """From a path in `members` to the author's, where they differ; longer paths inherit."""
        self.absorbed: set[str] = set()
        self.wrapped: dict[Path, tuple[Child, ...]] = {}
        """Subschemas that are the translation's own, with what their author wrote in them."""
        self.transformations: list[Transformation] = []
        self.rejections: list[Rejection] = []

    def __contains__(self, keyword: str) -> bool:
        return keyword in self.members

    @property
    def dialect(self) -> Dialect:
        """The dialect that the object is written in."""
        return self.scope.dialect

    def note(self, what: str, *keywords: str) -> None:
        """Tell the author of something that was done at a keyword of theirs."""
        pointer = join(self.pointer, *keywords)
        self.transformations.append(Transformation(dialect=self.dialect, pointer=pointer, what=what))

    def rename(self, keyword: str, name: str, value: JsonValue) -> None:
        """Put `name` with `value` in the place of `keyword`, which is not what `name` was called before."""
        assert name == keyword or name not in self.members
        self.members = {
            (name if known == keyword else known): (value if known == keyword else old)
            for known, old in self.members.items()
        }
        if name != keyword:
            self.origins[name,] = self.origins.pop((keyword,), (keyword,))

    def set_aside(self, keyword: str, why: str) -> None:
        """Keep a keyword as an annotation: it restricts nothing. `why` goes to the author."""
        name = f"x-{self.dialect.value}-{keyword}"
        while name in self.members:
            name += "-"
        self.rename(keyword, name, self.members[keyword])
        self.note(why, keyword)

    def absorb(self, keyword: str, what: str) -> None:
        """Keep a keyword as an annotation whose meaning has gone into another one. `what` goes to the author."""
        self.set_aside(keyword, what)
        self.absorbed.update(str(path[0]) for path, old in self.origins.items() if old == (keyword,))

    def refuse(self, keyword: str, reason: str, advice: str = _ADVICE) -> None:
        """There is no exact counterpart."""
        message = f"Under {self.dialect.value}, {reason}; {advice}."
        self._reject(RejectionCode.UNSUPPORTED_DIALECT, message, keyword)

    def refuse_foreign(self, keyword: str, reason: str, advice: str) -> None:
        """The keyword, or its form, belongs to another dialect."""
        message = f"Under {self.dialect.value}, {reason}; {advice}."
        self._reject(RejectionCode.FOREIGN_DIALECT_KEYWORD, message, keyword)

    def refuse_shape(self, keyword: str, must_be: str) -> None:
        """The value is not what the dialect asks for."""
        message = f"Under {self.dialect.value}, `{keyword}` must be {must_be}."
        self._reject(RejectionCode.INVALID_SCHEMA, message, keyword)

    def _reject(self, code: RejectionCode, message: str, keyword: str) -> None:
        self.rejections.append(
            Rejection(code=code, message=message, pointer=join(self.pointer, keyword), keyword=keyword)
        )

    def subschemas(self) -> Iterator[Child]:
        """Every subschema that is left, in the order in which it stands."""
        for path, schema in subschemas(self.members):
            if path in self.wrapped:
                yield from self.wrapped[path]
            else:
                yield Child(path=path, source=self.source_path(path), schema=schema)

    def source_path(self, path: Path) -> Path:
        """The author's path of what stands at `path` now."""
        for length in range(len(path), 0, -1):
            origin = self.origins.get(path[:length])
            if origin is not None:
                return origin + path[length:]
        return path

    def own_containers(self) -> None:
        """Give `members` arrays and objects of their own wherever a subschema will be put."""
        for keyword, value in self.members.items():
            match SHAPES.get(keyword), value:
                case Shape.SCHEMAS, list():
                    self.members[keyword] = list(value)
                case Shape.SCHEMAS_BY_NAME, dict():
                    self.members[keyword] = dict(value)
                case _:
                    pass
