"""Changes of the keywords that apply subschemas: added, removed, or a place to go on at."""

from collections.abc import Iterator
from typing import Final, TypeAlias

from registry.algebra.terms import Term, TermId, Terms
from registry.compatibility.changes import ChangeKind
from registry.compatibility.places import (
    Draft,
    Place,
    with_child,
    with_keyword_of,
    without_child,
)
from registry.contract import JsonValue

_K: Final = ChangeKind

_SINGLE: Final = {
    "items": (_K.ITEMS_ADDED, _K.ITEMS_REMOVED),
    "contains": (_K.CONTAINS_ADDED, _K.CONTAINS_REMOVED),
    "propertyNames": (_K.PROPERTY_NAMES_ADDED, _K.PROPERTY_NAMES_REMOVED),
    "unevaluatedItems": (_K.UNEVALUATED_ITEMS_ADDED, _K.UNEVALUATED_ITEMS_REMOVED),
    "unevaluatedProperties": (_K.UNEVALUATED_PROPERTIES_ADDED, _K.UNEVALUATED_PROPERTIES_REMOVED),
    "if": (_K.CONDITION_ADDED, _K.CONDITION_REMOVED),
    "not": (_K.NOT_ADDED, _K.NOT_REMOVED),
}
_BRANCHES: Final = {
    "then": (_K.THEN_ADDED, _K.THEN_REMOVED),
    "else": (_K.ELSE_ADDED, _K.ELSE_REMOVED),
}
_COMPANIONS: Final = {"contains": ("minContains", "maxContains"), "if": ("then", "else")}
"""Keywords that mean nothing without the other, so they come and go with it."""

_KEYED: Final = {
    "patternProperties": (_K.PATTERN_PROPERTY_ADDED, _K.PATTERN_PROPERTY_REMOVED),
    "dependentSchemas": (_K.DEPENDENT_SCHEMA_ADDED, _K.DEPENDENT_SCHEMA_REMOVED),
    "prefixItems": (_K.PREFIX_ITEM_ADDED, _K.PREFIX_ITEM_REMOVED),
}
_LISTS: Final = {
    "anyOf": (_K.ANY_OF_BRANCH_ADDED, _K.ANY_OF_BRANCH_REMOVED, _K.ANY_OF_ADDED, _K.ANY_OF_REMOVED),
    "oneOf": (_K.ONE_OF_BRANCH_ADDED, _K.ONE_OF_BRANCH_REMOVED, _K.ONE_OF_ADDED, _K.ONE_OF_REMOVED),
    "allOf": (_K.ALL_OF_BRANCH_ADDED, _K.ALL_OF_BRANCH_REMOVED, _K.ALL_OF_BRANCH_ADDED, _K.ALL_OF_BRANCH_REMOVED),
}

_Step: TypeAlias = Draft | Place


def applicator_changes(terms: Terms, place: Place) -> Iterator[_Step]:
    """Changes at this place, and the places beneath it that both contracts have and that differ."""
    old, new = terms[place.old.term], terms[place.new.term]
    for name in old.of("properties"):
        if name in new.of("properties"):
            yield place.child(terms, "properties", name)
    yield from _others(terms, place, old, new)
    swapped = _swapped(old, new)
    if swapped is not None:
        kind, message = swapped
        edited = with_keyword_of(old, new, "anyOf", "oneOf")
        yield Draft(kind=kind, place=place, tokens=("anyOf",), edited=edited, message=message)
    for keyword in _SINGLE:
        yield from _single(terms, place, keyword, old, new)
    for keyword in _KEYED:
        yield from _keyed(terms, place, keyword, old, new)
    for keyword in _LISTS:
        if swapped is None or keyword == "allOf":
            yield from _listed(terms, place, keyword, old, new)


def _others(terms: Terms, place: Place, old: Term, new: Term) -> Iterator[_Step]:
    before, after = old.child("additionalProperties"), new.child("additionalProperties")
    if before is not None and after is not None and not (terms[before].allows_nothing or terms[after].allows_nothing):
        yield place.child(terms, "additionalProperties", None)


def _swapped(old: Term, new: Term) -> tuple[ChangeKind, str] | None:
    for before, after, kind in (("oneOf", "anyOf", _K.ONE_OF_TO_ANY_OF), ("anyOf", "oneOf", _K.ANY_OF_TO_ONE_OF)):
        is_gone = before in old.children and before not in new.children
        if is_gone and after in new.children and after not in old.children:
            return kind, f"`{before}` became `{after}`"
    return None


def _single(terms: Terms, place: Place, keyword: str, old: Term, new: Term) -> Iterator[_Step]:
    before, after = old.child(keyword), new.child(keyword)
    if before == after and keyword != "if":
        return
    added, removed = _SINGLE[keyword]
    group = (keyword, *_COMPANIONS.get(keyword, ()))
    if before is None or after is None:
        if before is None and after is None:
            return
        kind = added if before is None else removed
        if keyword == "items" and after is not None and terms[after].allows_nothing:
            kind = _K.ITEMS_CLOSED
        if keyword == "items" and before is not None and terms[before].allows_nothing:
            kind = _K.ITEMS_OPENED
        edited = with_keyword_of(old, new, *group)
        message = f"`{keyword}` was {'added' if before is None else 'removed'}"
        yield Draft(kind=kind, place=place, tokens=(keyword,), edited=edited, message=message)
    elif keyword == "if":
        yield from _conditional(terms, place, old, new)
    elif keyword == "not":
        edited = with_keyword_of(old, new, "not")
        message = "what `not` refuses was changed"
        yield Draft(kind=_K.NOT_CHANGED, place=place, tokens=("not",), edited=edited, message=message)
    else:
        yield place.child(terms, keyword, None)


def _conditional(terms: Terms, place: Place, old: Term, new: Term) -> Iterator[_Step]:
    """Both have an `if`."""
    if old.child("if") != new.child("if"):
        edited = with_keyword_of(old, new, "if")
        message = "the condition of `if` was changed"
        yield Draft(kind=_K.CONDITION_CHANGED, place=place, tokens=("if",), edited=edited, message=message)
    for keyword, (added, removed) in _BRANCHES.items():
        before, after = old.child(keyword), new.child(keyword)
        if before is not None and after is not None:
            if before != after:
                yield place.child(terms, keyword, None)
        elif before != after:
            edited = with_keyword_of(old, new, keyword)
            message = f"`{keyword}` was {'added' if before is None else 'removed'}"
            kind = added if before is None else removed
            yield Draft(kind=kind, place=place, tokens=(keyword,), edited=edited, message=message)


def _keyed(terms: Terms, place: Place, keyword: str, old: Term, new: Term) -> Iterator[_Step]:
    before, after = old.of(keyword), new.of(keyword)
    added, removed = _KEYED[keyword]
    for key, child in after.items():
        if key not in before:
            edited = with_child(old, keyword, key, child)
            yield Draft(
                kind=added,
                place=place,
                tokens=_tokens(keyword, key),
                edited=edited,
                message=_said(keyword, key, "added"),
            )
        else:
            yield place.child(terms, keyword, key)
    for key in before:
        if key not in after:
            edited = without_child(old, keyword, key)
            yield Draft(
                kind=removed,
                place=place,
                tokens=_tokens(keyword, key),
                edited=edited,
                message=_said(keyword, key, "removed"),
            )


def _tokens(keyword: str, key: str | int | None) -> tuple[str | int, ...]:
    return (keyword,) if key is None else (keyword, key)


def _said(keyword: str, key: str | int | None, what: str) -> str:
    return f"{key if isinstance(key, int) else repr(key)} in `{keyword}` was {what}"


def _listed(terms: Terms, place: Place, keyword: str, old: Term, new: Term) -> Iterator[_Step]:
    before, after = (list(term.of(keyword).values()) for term in (old, new))
    branch_added, branch_removed, all_added, all_removed = _LISTS[keyword]
    if not before or not after:
        if before or after:
            kind = all_removed if before else all_added
            message = f"`{keyword}` was {'removed' if before else 'added'}"
            edited = with_keyword_of(old, new, keyword)
            yield Draft(kind=kind, place=place, tokens=(keyword,), edited=edited, message=message)
        return
    pairs, lost, won = aligned(terms, before, after)
    for one, two in pairs:
        yield place.child(terms, keyword, one, two)
    for index in won:
        edited = with_child(old, keyword, len(before), after[index])
        message = f"a branch of `{keyword}` was added"
        yield Draft(kind=branch_added, place=place, tokens=(keyword, index), edited=edited, message=message)
    for index in lost:
        edited = without_child(old, keyword, index)
        message = f"a branch of `{keyword}` was removed"
        yield Draft(kind=branch_removed, place=place, tokens=(keyword, index), edited=edited, message=message)


def aligned(
    terms: Terms, before: list[TermId], after: list[TermId]
) -> tuple[list[tuple[int, int]], list[int], list[int]]:
    """Which branches became which: equal ones, then those most alike; and the indexes of the lost and the won."""
    lost, won = list(range(len(before))), list(range(len(after)))
    for one in tuple(lost):
        two = next((index for index in won if after[index] == before[one]), None)
        if two is not None:
            lost.remove(one)
            won.remove(two)
    scores = sorted(
        ((_likeness(terms, before[one], after[two]), -abs(one - two), one, two) for one in lost for two in won),
        reverse=True,
    )
    pairs: list[tuple[int, int]] = []
    for score, _, one, two in scores:
        if score > 0 and one in lost and two in won:
            pairs.append((one, two))
            lost.remove(one)
            won.remove(two)
    return pairs, lost, won


def _likeness(terms: Terms, one: TermId, two: TermId) -> int:
    """How many features two branches share; none if they are told apart by a constant or a type."""
    left, right = _features(terms, one), _features(terms, two)
    for feature in left.keys() & right.keys():
        if left[feature] != right[feature] and feature.startswith("="):
            return 0
    return sum(1 for feature in left.keys() & right.keys() if left[feature] == right[feature])


def _features(terms: Terms, number: TermId) -> dict[str, object]:
    term = terms[number]
    features: dict[str, object] = {keyword: str(value) for keyword, value in term.assertions.items()}
    features["=type"] = str(term.assertions.get("type"))
    features["=const"] = str(_constant(term))
    for name, child in term.of("properties").items():
        features[f"member {name}"] = True
        constant = _constant(terms[child])
        if constant is not None:
            features[f"={name}"] = str(constant)
    return features


def _constant(term: Term) -> JsonValue:
    value = term.assertions.get("const", term.assertions.get("enum"))
    return value if not isinstance(value, list) or len(value) == 1 else None
