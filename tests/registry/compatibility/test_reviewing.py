"""A review: every change once, each with what it alone does."""

from typing import Any

import pytest

from registry.compatibility.changes import ChangeKind, Effect, Example, NoExample
from registry.compatibility.reviewing import MAX_LISTED, review_lines
from registry.compatibility.verdicts import Direction, Safe, Unsafe
from tests.registry.compatibility.comparing import compared


def _order(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "additionalProperties": False}


def test_several_changes_are_listed_apart_each_with_its_own_effect() -> None:
    old = _order(id={"type": "integer"}, state={"enum": ["new", "paid"]}, note={"type": "string"})
    new = _order(id={"type": "integer", "minimum": 1}, state={"enum": ["new", "paid", "sent"]}, note={"type": "string"})

    changes = compared(old, new).changes

    assert [(change.kind, change.effect) for change in changes] == [
        (ChangeKind.MINIMUM_ADDED, Effect.NARROWS),
        (ChangeKind.ENUM_MEMBERS_ADDED, Effect.WIDENS),
    ]
    assert changes[0].example == Example(document={"id": 0}, is_allowed=False)
    assert changes[1].example == Example(document={"state": "sent"}, is_allowed=True)
    assert (changes[0].old_pointer, changes[0].new_pointer) == ("/properties/id", "/properties/id/minimum")


def test_what_takes_something_away_comes_first_and_says_whom_it_breaks() -> None:
    old = _order(a={"type": "integer"}, b={"type": "string", "maxLength": 3}, c={"type": "string"})
    new = _order(a={"type": "number"}, b={"type": "string", "maxLength": 2}, c={"type": "boolean"})

    lines = review_lines(compared(old, new).changes)

    assert [(line.change.effect, line.speaks_against) for line in lines] == [
        (Effect.BOTH, (Direction.CONSUMER_SAFE, Direction.PRODUCER_SAFE)),
        (Effect.NARROWS, (Direction.PRODUCER_SAFE,)),
        (Effect.WIDENS, (Direction.CONSUMER_SAFE,)),
    ]


def test_a_change_in_a_shared_definition_is_listed_once_and_shown_where_it_is_met_first() -> None:
    address = {"type": "object", "properties": {"zip": {"type": "string", "maxLength": 5}, "city": {"type": "string"}}}
    wider = {"type": "object", "properties": {"zip": {"type": "string", "maxLength": 9}, "city": {"type": "string"}}}

    def with_address(schema: Any) -> Any:
        reference = {"$ref": "#/$defs/address"}
        return _order(home=reference, work=reference) | {"$defs": {"address": schema}}

    changes = compared(with_address(address), with_address(wider)).changes

    assert [change.kind for change in changes] == [ChangeKind.MAX_LENGTH_RAISED]
    assert changes[0].example == Example(document={"home": {"zip": "aaaaaa"}}, is_allowed=True)
    assert changes[0].old_pointer == "/$defs/d0/properties/zip/maxLength"


def test_an_order_of_members_alone_changes_no_document() -> None:
    comparison = compared(_order(a=True, b={"type": "null"}), _order(b={"type": "null"}, a=True))

    assert isinstance(comparison.consumer_safe, Safe)
    assert isinstance(comparison.producer_safe, Safe)
    assert [(c.kind, c.effect) for c in comparison.changes] == [(ChangeKind.PROPERTY_ORDER_CHANGED, Effect.NEITHER)]
    assert isinstance(comparison.changes[0].example, NoExample)


def test_branches_that_moved_are_recognised() -> None:
    def tagged(tag: str, **properties: Any) -> Any:
        return {"type": "object", "properties": {"t": {"const": tag}, **properties}, "required": ["t"]}

    old = {"oneOf": [tagged("x", v={"type": "integer"}), tagged("y"), tagged("z")]}
    new = {"oneOf": [tagged("z"), tagged("x", v={"type": "number"}), tagged("w")]}

    changes = compared(old, new).changes

    assert [(change.kind, change.effect) for change in changes] == [
        (ChangeKind.ONE_OF_BRANCH_ADDED, Effect.WIDENS),
        (ChangeKind.ONE_OF_BRANCH_REMOVED, Effect.NARROWS),
        (ChangeKind.INTEGER_TO_NUMBER, Effect.WIDENS),
    ]


def test_a_long_review_says_how_much_it_leaves_out() -> None:
    old = {"anyOf": [_order(**{f"a{n}_{m}": {"maxLength": 3} for m in range(80)}) for n in range(3)]}
    new = {"anyOf": [_order(**{f"a{n}_{m}": {"maxLength": 4} for m in range(80)}) for n in range(3)]}

    comparison = compared(old, new)

    assert len(comparison.changes) == MAX_LISTED
    assert comparison.changes_left_out == 240 - MAX_LISTED
    assert comparison.changes[-1].effect is Effect.UNKNOWN


@pytest.mark.parametrize(
    ("old", "new", "old_pointer", "new_pointer", "place"),
    [
        (_order(a={"type": "string"}), _order(a={"type": "null"}), "/properties/a/type", "/properties/a/type", "at /a"),
        (_order(), _order(a={"type": "null"}), "/additionalProperties", "/properties/a", "at /a"),
        (
            _order(a={"type": "array", "prefixItems": [True, {"minimum": 3}]}),
            _order(a={"type": "array", "prefixItems": [True, {"minimum": 2}]}),
            "/properties/a/prefixItems/1/minimum",
            "/properties/a/prefixItems/1/minimum",
            "at /a/1",
        ),
        (
            {"type": "object", "patternProperties": {"^x~": {"type": "integer"}}},
            {"type": "object", "patternProperties": {"^x~": {"type": "number"}}},
            "/patternProperties/^x~0/type",
            "/patternProperties/^x~0/type",
            "at /x~0",
        ),
    ],
)
def test_a_witness_comes_with_the_places_that_speak_of_it(
    old: Any, new: Any, old_pointer: str, new_pointer: str, place: str
) -> None:
    answer = compared(old, new).consumer_safe

    assert isinstance(answer, Unsafe)
    assert (answer.old_pointer, answer.new_pointer) == (old_pointer, new_pointer)
    assert place in answer.message
