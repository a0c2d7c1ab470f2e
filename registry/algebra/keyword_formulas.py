"""What each keyword of 2020-12 says of a value of a given JSON type, as a formula. The one place of its semantics."""

from collections.abc import Callable, Iterator
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from typing import Final

from registry.algebra.evaluated import MAX_CONDITIONS, unevaluated_formula
from registry.algebra.formulas import (
    FALSE,
    TRUE,
    All,
    Any,
    AtLeast,
    AtMost,
    Cases,
    EachItem,
    EachMember,
    EachName,
    ExactlyOne,
    Formula,
    Has,
    InFormat,
    ItemsAtLeast,
    ItemsAtMost,
    LongerOrEqual,
    Matches,
    Matching,
    MembersAtLeast,
    MembersAtMost,
    Multiple,
    Named,
    OneOf,
    Others,
    ShorterOrEqual,
    Unique,
    Wants,
    negated,
)
from registry.algebra.terms import Term, TermId, Terms
from registry.contract import JsonValue
from registry.text import value_text


class JsonType(StrEnum):
    """The six types of a JSON value, in the order in which witnesses are tried."""

    OBJECT = "object"
    ARRAY = "array"
    STRING = "string"
    NUMBER = "number"
    BOOLEAN = "boolean"
    NULL = "null"


WHOLE: Final = Multiple(step=Fraction(1), positive=True)


def type_of(value: JsonValue) -> JsonType:
    """The type of a value."""
    match value:
        case None:
            return JsonType.NULL
        case bool():
            return JsonType.BOOLEAN
        case str():
            return JsonType.STRING
        case list():
            return JsonType.ARRAY
        case dict():
            return JsonType.OBJECT
        case _:
            return JsonType.NUMBER


def one_of_values(values: list[JsonValue]) -> OneOf:
    """The formula of an `enum`."""
    return OneOf(texts=tuple(sorted({value_text(value) for value in values})), positive=True)


class KeywordFormulas:
    """The formulas of terms, each made once."""

    def __init__(self, terms: Terms, *, max_member_conditions: int = MAX_CONDITIONS) -> None:
        """`unevaluatedProperties` is left unsettled where more conditional subschemas decide what it speaks of."""
        self._terms = terms
        self._max_member_conditions = max_member_conditions
        self._known: dict[tuple[TermId, JsonType], Formula] = {}
        self._refusals: dict[tuple[TermId, JsonType], Formula] = {}

    def of(self, number: TermId, json_type: JsonType) -> Formula:
        """What a value of the type must satisfy to be allowed by the term."""
        key = (number, json_type)
        if key not in self._known:
            self._known[key] = self._formula(number, json_type)
        return self._known[key]

    def of_refusal(self, number: TermId, json_type: JsonType) -> Formula:
        """What a value of the type must satisfy to be refused by the term."""
        key = (number, json_type)
        if key not in self._refusals:
            self._refusals[key] = negated(self.of(number, json_type))
        return self._refusals[key]

    def _formula(self, number: TermId, json_type: JsonType) -> Formula:
        term = self._terms[number]
        if term.allows_nothing:
            return FALSE
        parts: list[Formula] = []
        for part in self._parts(number, term, json_type):
            if isinstance(part, Any) and part == FALSE:
                return FALSE
            if not (isinstance(part, All) and part == TRUE):
                parts.append(part)
        return parts[0] if len(parts) == 1 else All(parts=tuple(parts))

    def _parts(self, number: TermId, term: Term, json_type: JsonType) -> Iterator[Formula]:
        if "type" in term.assertions:
            yield _type(term.assertions["type"], json_type)
        if "enum" in term.assertions:
            values = term.assertions["enum"]
            yield _values(values if isinstance(values, list) else [], json_type)
        if "const" in term.assertions:
            yield _values([term.assertions["const"]], json_type)
        yield from _in_place(term)
        match json_type:
            case JsonType.NUMBER:
                yield from _number(term)
            case JsonType.STRING:
                yield from _string(term)
            case JsonType.ARRAY:
                yield from _array(term)
                if "unevaluatedItems" in term.children:
                    yield unevaluated_formula(self._terms, number, "unevaluatedItems")
            case JsonType.OBJECT:
                yield from _object(term)
                if "unevaluatedProperties" in term.children:
                    yield unevaluated_formula(
                        self._terms, number, "unevaluatedProperties", max_conditions=self._max_member_conditions
                    )
            case _:
                return


def allows(term: TermId) -> Wants:
    """A term's own values."""
    return Wants(term=term, positive=True)


def _type(names: JsonValue, json_type: JsonType) -> Formula:
    listed = names if isinstance(names, list) else [names]
    if json_type.value in listed:
        return TRUE
    return WHOLE if json_type is JsonType.NUMBER and "integer" in listed else FALSE


def _values(values: list[JsonValue], json_type: JsonType) -> Formula:
    own = [value for value in values if type_of(value) is json_type]
    return one_of_values(own) if own else FALSE


def _in_place(term: Term) -> Iterator[Formula]:
    for target in term.of("allOf").values():
        yield allows(target)
    if "anyOf" in term.children:
        yield Any(parts=tuple(map(allows, term.of("anyOf").values())))
    if "oneOf" in term.children:
        yield ExactlyOne(terms=tuple(term.of("oneOf").values()), positive=True)
    refusing = term.child("not")
    if refusing is not None:
        yield Wants(term=refusing, positive=False)
    condition = term.child("if")
    if condition is not None:
        then, otherwise = term.child("then"), term.child("else")
        yield Cases(
            cases=(
                (allows(condition), TRUE if then is None else allows(then)),
                (Wants(term=condition, positive=False), TRUE if otherwise is None else allows(otherwise)),
            )
        )


def _count(value: JsonValue) -> int:
    assert isinstance(value, int)
    return value


def _exact(value: JsonValue) -> Fraction:
    assert isinstance(value, int | Decimal)
    return Fraction(value)


_NUMBER: Final[dict[str, Callable[[JsonValue], Formula]]] = {
    "minimum": lambda value: AtLeast(bound=_exact(value), is_open=False),
    "exclusiveMinimum": lambda value: AtLeast(bound=_exact(value), is_open=True),
    "maximum": lambda value: AtMost(bound=_exact(value), is_open=False),
    "exclusiveMaximum": lambda value: AtMost(bound=_exact(value), is_open=True),
    "multipleOf": lambda value: Multiple(step=_exact(value), positive=True),
}
_STRING: Final[dict[str, Callable[[JsonValue], Formula]]] = {
    "minLength": lambda value: LongerOrEqual(length=_count(value)),
    "maxLength": lambda value: ShorterOrEqual(length=_count(value)),
    "pattern": lambda value: Matches(pattern=str(value), positive=True),
    "format": lambda value: InFormat(name=str(value), positive=True),
}


def _number(term: Term) -> Iterator[Formula]:
    yield from (_NUMBER[keyword](value) for keyword, value in term.assertions.items() if keyword in _NUMBER)


def _string(term: Term) -> Iterator[Formula]:
    yield from (_STRING[keyword](value) for keyword, value in term.assertions.items() if keyword in _STRING)


def _array(term: Term) -> Iterator[Formula]:
    assertions = term.assertions
    if "minItems" in assertions:
        yield ItemsAtLeast(count=_count(assertions["minItems"]))
    if "maxItems" in assertions:
        yield ItemsAtMost(count=_count(assertions["maxItems"]))
    if assertions.get("uniqueItems") is True:
        yield Unique(positive=True)
    prefix = list(term.of("prefixItems").values())
    for index, target in enumerate(prefix):
        yield EachItem(start=index, stop=index + 1, wanted=allows(target))
    rest = term.child("items")
    if rest is not None:
        yield EachItem(start=len(prefix), stop=None, wanted=allows(rest))
    found = term.child("contains")
    if found is not None:
        yield ItemsAtLeast(count=_count(assertions.get("minContains", 1)), term=found)
        if "maxContains" in assertions:
            yield ItemsAtMost(count=_count(assertions["maxContains"]), term=found)


def _object(term: Term) -> Iterator[Formula]:
    assertions = term.assertions
    required = assertions.get("required", [])
    assert isinstance(required, list)
    yield from (Has(name=str(name), positive=True) for name in required)
    if "minProperties" in assertions:
        yield MembersAtLeast(count=_count(assertions["minProperties"]))
    if "maxProperties" in assertions:
        yield MembersAtMost(count=_count(assertions["maxProperties"]))
    for name, target in term.of("properties").items():
        yield EachMember(scope=Named(name=str(name)), wanted=allows(target))
    for pattern, target in term.of("patternProperties").items():
        yield EachMember(scope=Matching(pattern=str(pattern)), wanted=allows(target))
    others = term.child("additionalProperties")
    if others is not None:
        yield EachMember(scope=declared_others(term), wanted=allows(others))
    names = term.child("propertyNames")
    if names is not None:
        yield EachName(wanted=allows(names))
    brought = assertions.get("dependentRequired", {})
    assert isinstance(brought, dict)
    for name, needed in brought.items():
        assert isinstance(needed, list)
        if needed:
            all_there = All(parts=tuple(Has(name=str(other), positive=True) for other in needed))
            yield Any(parts=(Has(name=name, positive=False), all_there))
    for name, target in term.of("dependentSchemas").items():
        yield Any(parts=(Has(name=str(name), positive=False), allows(target)))


def declared_others(term: Term) -> Others:
    """What `additionalProperties` of the term speaks of."""
    return Others(
        names=frozenset(map(str, term.of("properties"))), patterns=frozenset(map(str, term.of("patternProperties")))
    )
