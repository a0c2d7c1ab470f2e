"""A translated schema, and the way back from every part of it to what its author wrote."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final

from policy.enforcement import KeywordStatus, ReportEntry
from policy.rejection import Rejection
from registry.contract import JsonValue
from registry.dialects import Dialect
from registry.pointers import tokens_of

MAX_TRANSFORMATIONS: Final = 64
"""Lines that a contract's report has on its translation; a last one says how many more there are."""

_SHOWN: Final = 200
_SAME: Final[Mapping[str, str]] = MappingProxyType({"": ""})


@dataclass(frozen=True, slots=True, kw_only=True)
class Transformation:
    """One thing that the translation did at `pointer` (the author's)."""

    dialect: Dialect
    pointer: str
    what: str

    def line(self, document: str) -> str:
        """How a report says it; `document` is empty for the contract itself."""
        place = f"{document}#{self.pointer}" if document and self.pointer else document or self.pointer
        shown = place if len(place) <= _SHOWN else f"{place[:_SHOWN]}…"
        return f"{self.dialect.value}: {shown}: {self.what}" if place else f"{self.dialect.value}: {self.what}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Translated:
    """`schema` is 2020-12. "Source" is the author's text, "here" the translated one; pointers are RFC 6901.

    Both maps hold only what a longer pointer does not inherit from its longest prefix.
    """

    schema: JsonValue
    dialect: Dialect
    source_pointers: Mapping[str, str] = field(default_factory=lambda: _SAME)
    """From here to the source: of every subschema and keyword that moved."""
    places: Mapping[str, str] = field(default_factory=lambda: _SAME)
    """From the source to here."""
    dialects: Mapping[str, Dialect]
    """The dialect from a place here downwards: of the root, and of embedded resources that change it."""
    absorbed: frozenset[str] = frozenset()
    """Places here of keywords that restrict through another one: `nullable` through `type`."""
    counts_contains: bool = True
    """Whether a `contains` of an older dialect still marks items as evaluated here."""
    transformations: tuple[Transformation, ...] = ()

    def source_pointer(self, pointer: str) -> str:
        """Where the author wrote what stands here at `pointer`."""
        return _followed(self.source_pointers, pointer)

    def place(self, source: str) -> str | None:
        """Where the subschema stands that the author wrote at `source`; `None` if the translation has none."""
        pointer = _followed(self.places, source)
        return pointer if self.source_pointer(pointer) == source else None

    def dialect_at(self, pointer: str) -> Dialect:
        """The dialect in which the author wrote what stands here at `pointer`."""
        while pointer not in self.dialects:
            pointer = pointer.rpartition("/")[0]
        return self.dialects[pointer]

    def retold(self, rejection: Rejection) -> Rejection:
        """A refusal of something here, as one of what the author wrote."""
        pointer = self.source_pointer(rejection.pointer)
        if pointer == rejection.pointer:
            return rejection
        return replace(rejection, pointer=pointer, keyword=_keyword(rejection.keyword, rejection.pointer, pointer))

    def reported(self, entry: ReportEntry) -> ReportEntry:
        """A line on a keyword here, as one on what the author wrote."""
        pointer = self.source_pointer(entry.pointer)
        keyword = _keyword(entry.keyword, entry.pointer, pointer) or entry.keyword
        status = KeywordStatus.ENFORCED if entry.pointer in self.absorbed else entry.status
        return ReportEntry(pointer=pointer, keyword=keyword, status=status)

    def traced(self, pointers: Mapping[str, str]) -> dict[str, str]:
        """Pointers from elsewhere to here, as pointers to the source; with keywords that moved, where they lead to."""
        if self.source_pointers == _SAME:
            return dict(pointers)
        moved: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
        for here, source in self.source_pointers.items():
            if here:
                parent, _, token = here.rpartition("/")
                moved[parent].append((token, source))
        traced = {start: self.source_pointer(here) for start, here in pointers.items()}
        for start, here in pointers.items():
            for token, source in moved.get(here, ()):
                traced.setdefault(f"{start}/{token}", source)
        return traced


@dataclass(frozen=True, slots=True, kw_only=True)
class Untranslatable:
    """The schema has no exact counterpart, or is not well-formed in its own dialect. Pointers are the author's."""

    rejections: tuple[Rejection, ...]


def transformation_lines(translations: Mapping[str, Translated]) -> tuple[str, ...]:
    """What was done to the documents (by URI; the contract's is empty), in at most `MAX_TRANSFORMATIONS` + 1 lines."""
    lines = [
        transformation.line(document)
        for document, translated in translations.items()
        for transformation in translated.transformations
    ]
    lines = list(dict.fromkeys(lines))
    if len(lines) > MAX_TRANSFORMATIONS:
        lines[MAX_TRANSFORMATIONS:] = [f"and {len(lines) - MAX_TRANSFORMATIONS} more"]
    return tuple(lines)


def _followed(pointers: Mapping[str, str], pointer: str) -> str:
    if len(pointers) == 1:
        return pointer  # nothing moved: the root is where it was
    head = pointer
    while head not in pointers:
        head = head.rpartition("/")[0]
    return pointers[head] + pointer[len(head) :]


def _keyword(keyword: str | None, here: str, source: str) -> str | None:
    """The author's word for the keyword that stands here at the end of its pointer."""
    if keyword is not None and here and source and tokens_of(here)[-1] == keyword:
        return tokens_of(source)[-1]
    return keyword
