"""Changes of the keywords that assert by themselves."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Final

from registry.algebra.terms import Terms
from registry.compatibility.changes import ChangeKind
from registry.compatibility.places import Draft, Place, with_keyword_of
from registry.contract import JsonValue
from registry.text import canonical_json, value_text

_K: Final = ChangeKind
_MAX_SHOWN: Final = 60

_GRADED: Final = {
    "minimum": (_K.MINIMUM_ADDED, _K.MINIMUM_REMOVED, _K.MINIMUM_RAISED, _K.MINIMUM_LOWERED),
    "maximum": (_K.MAXIMUM_ADDED, _K.MAXIMUM_REMOVED, _K.MAXIMUM_RAISED, _K.MAXIMUM_LOWERED),
    "exclusiveMinimum": (
        _K.EXCLUSIVE_MINIMUM_ADDED, _K.EXCLUSIVE_MINIMUM_REMOVED,
        _K.EXCLUSIVE_MINIMUM_RAISED, _K.EXCLUSIVE_MINIMUM_LOWERED,
    ),
    "exclusiveMaximum": (
        _K.EXCLUSIVE_MAXIMUM_ADDED, _K.EXCLUSIVE_MAXIMUM_REMOVED,
        _K.EXCLUSIVE_MAXIMUM_RAISED, _K.EXCLUSIVE_MAXIMUM_LOWERED,
    ),
    "minLength": (_K.MIN_LENGTH_ADDED, _K.MIN_LENGTH_REMOVED, _K.MIN_LENGTH_RAISED, _K.MIN_LENGTH_LOWERED),
    "maxLength": (_K.MAX_LENGTH_ADDED, _K.MAX_LENGTH_REMOVED, _K.MAX_LENGTH_RAISED, _K.MAX_LENGTH_LOWERED),
    "minItems": (_K.MIN_ITEMS_ADDED, _K.MIN_ITEMS_REMOVED, _K.MIN_ITEMS_RAISED, _K.MIN_ITEMS_LOWERED),
    "maxItems": (_K.MAX_ITEMS_ADDED, _K.MAX_ITEMS_REMOVED, _K.MAX_ITEMS_RAISED, _K.MAX_ITEMS_LOWERED),
    "minProperties": (
        _K.MIN_PROPERTIES_ADDED, _K.MIN_PROPERTIES_REMOVED, _K.MIN_PROPERTIES_RAISED, _K.MIN_PROPERTIES_LOWERED,
    ),
    "maxProperties": (
        _K.MAX_PROPERTIES_ADDED, _K.MAX_PROPERTIES_REMOVED, _K.MAX_PROPERTIES_RAISED, _K.MAX_PROPERTIES_LOWERED,
    ),
}  # fmt: skip
"""Added, removed, raised, lowered."""

_PLAIN: Final = {
    "multipleOf": (_K.MULTIPLE_OF_ADDED, _K.MULTIPLE_OF_REMOVED, _K.MULTIPLE_OF_CHANGED),
    "pattern": (_K.PATTERN_ADDED, _K.PATTERN_REMOVED, _K.PATTERN_CHANGED),
    "format": (_K.FORMAT_ADDED, _K.FORMAT_REMOVED, _K.FORMAT_CHANGED),
    "const": (_K.CONST_ADDED, _K.CONST_REMOVED, _K.CONST_CHANGED),
}
"""Added, removed, changed."""


def shown(value: JsonValue) -> str:
    """A value for a message."""
    text = canonical_json(value)
    return text if len(text) <= _MAX_SHOWN else text[:_MAX_SHOWN] + "…"


def assertion_changes(terms: Terms, place: Place) -> Iterator[Draft]:
    """What differs between the assertions of the two subschemas, members of objects aside."""
    old, new = terms[place.old.term].assertions, terms[place.new.term].assertions
    for keyword in sorted({*old, *new}):
        before, after = old.get(keyword), new.get(keyword)
        if keyword in old and keyword in new and value_text(before) == value_text(after):
            continue
        kind = _kind(keyword, before, after, is_old=keyword in old, is_new=keyword in new)
        if kind is not None:
            yield Draft(
                kind=kind,
                place=place,
                tokens=(keyword,),
                edited=with_keyword_of(terms[place.old.term], terms[place.new.term], keyword),
                message=_message(keyword, before, after, is_old=keyword in old, is_new=keyword in new),
            )


def _message(keyword: str, before: JsonValue, after: JsonValue, *, is_old: bool, is_new: bool) -> str:
    if not is_old:
        return f"`{keyword}` {shown(after)} was added"
    if not is_new:
        return f"`{keyword}` {shown(before)} was removed"
    return f"`{keyword}` was {shown(before)} and is {shown(after)}"


def _kind(keyword: str, before: JsonValue, after: JsonValue, *, is_old: bool, is_new: bool) -> ChangeKind | None:
    if keyword in _GRADED:
        added, removed, raised, lowered = _GRADED[keyword]
        if not (is_old and is_new):
            return added if is_new else removed
        assert isinstance(before, int | Decimal)
        assert isinstance(after, int | Decimal)
        return raised if after > before else lowered
    if keyword in _PLAIN:
        added, removed, changed = _PLAIN[keyword]
        return changed if is_old and is_new else added if is_new else removed
    match keyword:
        case "type":
            return _type_kind(before, after, is_old=is_old, is_new=is_new)
        case "enum":
            return _enum_kind(before, after, is_old=is_old, is_new=is_new)
        case "uniqueItems":
            return _K.UNIQUE_ITEMS_ADDED if after is True else _K.UNIQUE_ITEMS_REMOVED
        case "minContains" | "maxContains":
            return _K.MIN_CONTAINS_CHANGED if keyword == "minContains" else _K.MAX_CONTAINS_CHANGED
        case _:
            return None


def _type_kind(before: JsonValue, after: JsonValue, *, is_old: bool, is_new: bool) -> ChangeKind:
    if not (is_old and is_new):
        return _K.TYPE_CONSTRAINT_ADDED if is_new else _K.TYPE_CONSTRAINT_REMOVED
    old, new = _names(before), _names(after)
    lost, won = old - new, new - old
    match sorted(lost), sorted(won):
        case [], ["null"]:
            return _K.NULL_ALLOWED
        case ["null"], []:
            return _K.NULL_FORBIDDEN
        case (["integer"], ["number"]):
            return _K.INTEGER_TO_NUMBER
        case (["number"], ["integer"]):
            return _K.NUMBER_TO_INTEGER
        case [], _:
            return _K.TYPE_ADDED
        case _, []:
            return _K.TYPE_REMOVED
        case _:
            return _K.TYPE_CHANGED


def _names(types: JsonValue) -> frozenset[str]:
    return frozenset(map(str, types if isinstance(types, list) else [types]))


def _enum_kind(before: JsonValue, after: JsonValue, *, is_old: bool, is_new: bool) -> ChangeKind:
    if not (is_old and is_new):
        return _K.ENUM_ADDED if is_new else _K.ENUM_REMOVED
    old, new = ({value_text(v) for v in values} if isinstance(values, list) else set() for values in (before, after))
    if old < new:
        return _K.ENUM_MEMBERS_ADDED
    return _K.ENUM_MEMBERS_REMOVED if new < old else _K.ENUM_MEMBERS_REPLACED
