"""Weights of values: near the length of the text, and found without walking shared parts again."""

from hypothesis import given

from registry.algebra.weights import Weights
from registry.contract import JsonValue
from registry.text import canonical_json
from tests.registry.reading import parsed
from tests.registry.strategies import VALUES


@given(VALUES)
def test_a_weight_lies_between_half_the_text_and_twice_the_text(value: JsonValue) -> None:
    exact = parsed(value)
    # Numbers weigh one, and characters are counted as they are, not as they are escaped.
    shortest = canonical_json(_without_spelling(exact))

    assert len(shortest) / 2 <= Weights().of(exact) <= len(shortest) * 2


def test_shared_parts_are_measured_once() -> None:
    value: JsonValue = ["leaf"]
    for _ in range(200):
        value = [value, value]

    assert Weights().of(value) > 2**200


def _without_spelling(value: JsonValue) -> JsonValue:
    match value:
        case str():
            return "x" * len(value)
        case list():
            return [_without_spelling(item) for item in value]
        case dict():
            return {
                f"{number:0{len(name)}}"[: len(name)]: _without_spelling(m) for number, (name, m) in _members(value)
            }
        case _:
            return 0


def _members(value: dict[str, JsonValue]) -> list[tuple[int, tuple[str, JsonValue]]]:
    return list(enumerate(value.items()))
