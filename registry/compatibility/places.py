"""One place in two schemas: the old subschema and the new one, where they stand, and how to get there."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from registry.algebra.terms import Term, TermId, Terms
from registry.compatibility.changes import ChangeKind
from registry.contract import JsonValue
from registry.pointers import join

Path: TypeAlias = tuple[tuple[str, str | int | None], ...]
"""Applicator and key of each step from the old root."""

_DEFINITIONS: Final = "#/$defs/"


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """A subschema of one of the contracts."""

    root: JsonValue
    pointer: str
    schema: JsonValue
    term: TermId

    def child(self, terms: Terms, keyword: str, key: str | int | None) -> "Side":
        """The subschema under an applicator; references are followed."""
        path = (keyword,) if key is None else (keyword, key)
        schema: JsonValue = self.schema
        for token in path:
            schema = schema[token] if isinstance(schema, dict) and isinstance(token, str) else _item(schema, token)
        return at(self.root, join(self.pointer, *path), schema, terms[self.term].of(keyword)[key])

    def place(self, *tokens: str | int) -> str:
        """The pointer of something in the subschema, as far as it is there."""
        pointer, value = self.pointer, self.schema
        for token in tokens:
            match value, token:
                case dict(), str() if token in value:
                    value = value[token]
                case list(), int() if token < len(value):
                    value = value[token]
                case _:
                    return pointer
            pointer = join(pointer, token)
        return pointer


def at(root: JsonValue, pointer: str, schema: JsonValue, term: TermId) -> Side:
    """The side at a pointer, past references."""
    while isinstance(schema, dict) and isinstance(schema.get("$ref"), str) and isinstance(root, dict):
        name = str(schema["$ref"]).removeprefix(_DEFINITIONS)
        definitions = root["$defs"]
        assert isinstance(definitions, dict)
        pointer, schema = join("/$defs", name), definitions[name]
    return Side(root=root, pointer=pointer, schema=schema, term=term)


def _item(schema: JsonValue, token: str | int) -> JsonValue:
    assert isinstance(schema, list)
    return schema[int(token)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The same place in both contracts."""

    old: Side
    new: Side
    path: Path

    def child(self, terms: Terms, keyword: str, key: str | int | None, new_key: str | int | None = None) -> "Place":
        """The place under an applicator that both have; `new_key` where a branch has moved."""
        return Place(
            old=self.old.child(terms, keyword, key),
            new=self.new.child(terms, keyword, key if new_key is None else new_key),
            path=(*self.path, (keyword, key)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A change that was seen and not yet measured: `edited` is the old subschema with this change alone."""

    kind: ChangeKind
    place: Place
    tokens: tuple[str | int, ...]
    """What was changed, within the subschema."""
    edited: Term
    message: str


def with_assertion(term: Term, keyword: str, value: JsonValue) -> Term:
    """The term with an assertion."""
    return replace(term, assertions={**term.assertions, keyword: value})


def without_assertion(term: Term, keyword: str) -> Term:
    """The term without an assertion."""
    return replace(term, assertions={name: value for name, value in term.assertions.items() if name != keyword})


def with_child(term: Term, keyword: str, key: str | int | None, child: TermId) -> Term:
    """The term with a child, in the place of the one that had the key."""
    return _with_children(term, keyword, {**term.of(keyword), key: child})


def without_child(term: Term, keyword: str, key: str | int | None) -> Term:
    """The term without a child; without the applicator where it was the only one."""
    left = {name: child for name, child in term.of(keyword).items() if name != key}
    if all(isinstance(name, int) for name in left):
        left = dict(enumerate(left.values()))
    return _with_children(term, keyword, left)


def with_keyword_of(term: Term, other: Term, *keywords: str) -> Term:
    """The term with some keywords as another has them, or has them not."""
    for keyword in keywords:
        if keyword in other.assertions:
            term = with_assertion(term, keyword, other.assertions[keyword])
        elif keyword in other.children:
            term = _with_children(term, keyword, other.children[keyword])
        else:
            term = _with_children(without_assertion(term, keyword), keyword, {})
    return term


def _with_children(term: Term, keyword: str, children: Mapping[str | int | None, TermId]) -> Term:
    others = {name: kept for name, kept in term.children.items() if name != keyword}
    return replace(term, children={**others, keyword: children} if children else others)


def rebuilt(terms: Terms, root: TermId, path: Path, edited: Term) -> TermId:
    """The root with one place edited. Where the place is reached on other ways too, those stay as they were."""
    if not path:
        return terms.add(edited)
    (keyword, key), *rest = path
    term = terms[root]
    return terms.add(with_child(term, keyword, key, rebuilt(terms, term.of(keyword)[key], tuple(rest), edited)))
