"""Excluded arrays and objects, said part by part: what differs from one differs in its size or in some part."""

from collections.abc import Callable, Iterable
from typing import Final

from registry.algebra.formulas import (
    FALSE,
    Any,
    Atom,
    Formula,
    Has,
    ItemsAtLeast,
    ItemsAtMost,
    MembersAtLeast,
    Named,
    OneOf,
    SomeItem,
    SomeMember,
    Wants,
)
from registry.contract import JsonValue
from registry.parsing import parse_json

MAX_SPLIT_TEXTS: Final = 128
"""Excluded values of one case that are said part by part: each is a choice to make."""
MAX_SPLIT_PARTS: Final = 64
"""Parts of one of them."""

Unlike = Callable[[JsonValue], Wants]
"""Every other value than this one is wanted."""


def split_exclusions(atoms: Iterable[Atom], unlike: Unlike) -> tuple[list[Atom], list[Formula]] | None:
    """The atoms without excluded values, and these as formulas; `None` if there are none, or too many to be split."""
    kept: list[Atom] = []
    texts: dict[str, None] = {}
    for atom in atoms:
        if isinstance(atom, OneOf) and not atom.positive:
            texts.update(dict.fromkeys(atom.texts))
        else:
            kept.append(atom)
    if not texts or len(texts) > MAX_SPLIT_TEXTS:
        return None
    values = [parse_json(text, max_bytes=1 << 26, max_nesting=512) for text in texts]
    if any(len(value) > MAX_SPLIT_PARTS for value in values if isinstance(value, list | dict)):
        return None
    return kept, [_other_than(value, unlike) for value in values]


def _other_than(value: JsonValue, unlike: Unlike) -> Formula:
    """What arrays and objects satisfy exactly if they are not the value."""
    match value:
        case list():
            shorter: Formula = ItemsAtMost(count=len(value) - 1) if value else FALSE
            items = [SomeItem(start=i, stop=i + 1, wanted=unlike(item)) for i, item in enumerate(value)]
            return Any(parts=(*items, shorter, ItemsAtLeast(count=len(value) + 1)))
        case dict():
            members = [SomeMember(scope=Named(name=name), wanted=unlike(member)) for name, member in value.items()]
            lacking = [Has(name=name, positive=False) for name in value]
            return Any(parts=(*members, *lacking, MembersAtLeast(count=len(value) + 1)))
        case _:
            raise AssertionError(value)
