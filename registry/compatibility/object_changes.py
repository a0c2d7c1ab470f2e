"""Changes of an object's members: declared, required, others, and what one brings along."""

from collections.abc import Iterator
from typing import Final

from registry.algebra.terms import Term, Terms
from registry.compatibility.assertion_changes import shown
from registry.compatibility.changes import ChangeKind
from registry.compatibility.places import (
    Draft,
    Place,
    with_assertion,
    with_child,
    with_keyword_of,
    without_assertion,
    without_child,
)
from registry.contract import JsonValue

_K: Final = ChangeKind
_OPEN, _PARTLY, _CLOSED = range(3)

_ADDED: Final = {
    (False, _OPEN): _K.OPTIONAL_PROPERTY_ADDED_TO_OPEN,
    (False, _PARTLY): _K.OPTIONAL_PROPERTY_ADDED_TO_PARTLY_OPEN,
    (False, _CLOSED): _K.OPTIONAL_PROPERTY_ADDED_TO_CLOSED,
    (True, _OPEN): _K.REQUIRED_PROPERTY_ADDED_TO_OPEN,
    (True, _PARTLY): _K.REQUIRED_PROPERTY_ADDED_TO_PARTLY_OPEN,
    (True, _CLOSED): _K.REQUIRED_PROPERTY_ADDED_TO_CLOSED,
}
_REMOVED: Final = {
    (False, _OPEN): _K.OPTIONAL_PROPERTY_REMOVED_FROM_OPEN,
    (False, _PARTLY): _K.OPTIONAL_PROPERTY_REMOVED_FROM_PARTLY_OPEN,
    (False, _CLOSED): _K.OPTIONAL_PROPERTY_REMOVED_FROM_CLOSED,
    (True, _OPEN): _K.REQUIRED_PROPERTY_REMOVED_FROM_OPEN,
    (True, _PARTLY): _K.REQUIRED_PROPERTY_REMOVED_FROM_PARTLY_OPEN,
    (True, _CLOSED): _K.REQUIRED_PROPERTY_REMOVED_FROM_CLOSED,
}
_OTHERS: Final = {
    (_OPEN, _CLOSED): (_K.OBJECT_CLOSED, "members of other names are no longer allowed"),
    (_CLOSED, _OPEN): (_K.OBJECT_OPENED, "members of other names are now allowed"),
    (_OPEN, _PARTLY): (_K.OTHER_MEMBERS_RESTRICTED, "members of other names must now satisfy a schema"),
    (_PARTLY, _OPEN): (_K.OTHER_MEMBERS_FREED, "members of other names may now be anything"),
    (_CLOSED, _PARTLY): (_K.OTHER_MEMBERS_OPENED_PARTLY, "members of other names are now allowed by a schema"),
    (_PARTLY, _CLOSED): (_K.OTHER_MEMBERS_CLOSED, "members of other names are no longer allowed"),
}


def object_changes(terms: Terms, place: Place) -> Iterator[Draft]:
    """What differs at this place itself; members that both declare are places of their own."""
    old, new = terms[place.old.term], terms[place.new.term]
    yield from _declared(terms, place, old, new)
    yield from _required(place, old, new)
    yield from _others(terms, place, old, new)
    yield from _dependent(place, old, new)
    before, after = (list(term.of("properties")) for term in (old, new))
    common = [name for name in before if name in after]
    # The terms forget the order of members, so the schemas themselves are asked.
    if _written_order(place.old.schema, common) != _written_order(place.new.schema, common):
        message = "the order in which members are generated was changed"
        yield Draft(kind=_K.PROPERTY_ORDER_CHANGED, place=place, tokens=("properties",), edited=old, message=message)


def _written_order(schema: JsonValue, common: list[str | int | None]) -> list[str]:
    members = schema.get("properties") if isinstance(schema, dict) else None
    return [name for name in members if name in common] if isinstance(members, dict) else []


def _openness(terms: Terms, term: Term) -> int:
    others = term.child("additionalProperties")
    if others is None:
        others = term.child("unevaluatedProperties")
    if others is None:
        return _OPEN
    return _CLOSED if terms[others].allows_nothing else _PARTLY


def _names(term: Term) -> list[str]:
    required = term.assertions.get("required")
    return list(map(str, required)) if isinstance(required, list) else []


def _with_names(term: Term, names: list[str]) -> Term:
    return with_assertion(term, "required", [*names]) if names else without_assertion(term, "required")


def _declared(terms: Terms, place: Place, old: Term, new: Term) -> Iterator[Draft]:
    before, after = old.of("properties"), new.of("properties")
    for name, child in after.items():
        if name not in before:
            is_required = name in _names(new)
            edited = with_child(old, "properties", name, child)
            if is_required:
                edited = _with_names(edited, sorted({*_names(old), str(name)}))
            kind = _ADDED[is_required, _openness(terms, old)]
            message = f"the {_word(is_required=is_required)} member {shown(str(name))} was added"
            yield Draft(kind=kind, place=place, tokens=("properties", str(name)), edited=edited, message=message)
    for name in before:
        if name not in after:
            is_required = name in _names(old)
            edited = without_child(old, "properties", name)
            if is_required and name not in _names(new):
                edited = _with_names(edited, [one for one in _names(old) if one != name])
            kind = _REMOVED[is_required, _openness(terms, new)]
            message = f"the {_word(is_required=is_required)} member {shown(str(name))} was removed"
            yield Draft(kind=kind, place=place, tokens=("properties", str(name)), edited=edited, message=message)


def _word(*, is_required: bool) -> str:
    return "required" if is_required else "optional"


def _required(place: Place, old: Term, new: Term) -> Iterator[Draft]:
    declared_before, declared_after = old.of("properties"), new.of("properties")
    for name in _names(new):
        is_added_whole = name in declared_after and name not in declared_before
        if name not in _names(old) and not is_added_whole:
            is_declared = name in declared_after
            kind = _K.PROPERTY_MADE_REQUIRED if is_declared else _K.UNDECLARED_NAME_REQUIRED
            edited = _with_names(old, sorted({*_names(old), name}))
            message = f"the member {shown(name)} is now required"
            yield Draft(kind=kind, place=place, tokens=("required",), edited=edited, message=message)
    for name in _names(old):
        is_removed_whole = name in declared_before and name not in declared_after
        if name not in _names(new) and not is_removed_whole:
            is_declared = name in declared_before
            kind = _K.PROPERTY_MADE_OPTIONAL if is_declared else _K.UNDECLARED_NAME_NOT_REQUIRED
            edited = _with_names(old, [one for one in _names(old) if one != name])
            message = f"the member {shown(name)} is no longer required"
            yield Draft(kind=kind, place=place, tokens=("required",), edited=edited, message=message)


def _others(terms: Terms, place: Place, old: Term, new: Term) -> Iterator[Draft]:
    keyword = "additionalProperties"
    before, after = (_openness_of(terms, term, keyword) for term in (old, new))
    if before != after:
        kind, message = _OTHERS[before, after]
        edited = with_keyword_of(old, new, keyword)
        yield Draft(kind=kind, place=place, tokens=(keyword,), edited=edited, message=message)


def _openness_of(terms: Terms, term: Term, keyword: str) -> int:
    others = term.child(keyword)
    if others is None:
        return _OPEN
    return _CLOSED if terms[others].allows_nothing else _PARTLY


def _dependent(place: Place, old: Term, new: Term) -> Iterator[Draft]:
    before, after = (_brought(term) for term in (old, new))
    for name in sorted({*before, *after}):
        if before.get(name) == after.get(name):
            continue
        kept = {other: needed for other, needed in before.items() if other != name}
        if name in after:
            kept[name] = after[name]
        asserted: dict[str, JsonValue] = {other: [*needed] for other, needed in kept.items()}
        edited = (
            with_assertion(old, "dependentRequired", asserted) if kept else without_assertion(old, "dependentRequired")
        )
        if name not in before:
            kind, message = _K.DEPENDENT_REQUIRED_ADDED, f"{shown(name)} now brings {shown([*after[name]])} along"
        elif name not in after:
            kind, message = _K.DEPENDENT_REQUIRED_REMOVED, f"{shown(name)} no longer brings other members along"
        else:
            kind, message = _K.DEPENDENT_REQUIRED_CHANGED, f"{shown(name)} now brings {shown([*after[name]])} along"
        yield Draft(kind=kind, place=place, tokens=("dependentRequired", name), edited=edited, message=message)


def _brought(term: Term) -> dict[str, tuple[str, ...]]:
    value = term.assertions.get("dependentRequired")
    if not isinstance(value, dict):
        return {}
    return {name: tuple(map(str, needed)) for name, needed in value.items() if isinstance(needed, list)}
