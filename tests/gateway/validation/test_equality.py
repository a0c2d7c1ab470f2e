"""JSON equality is by value and by type, at any depth."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.validation.equality import equal, identity
from registry.contract import JsonValue

_SCALARS: st.SearchStrategy[JsonValue] = (
    st.none() | st.booleans() | st.integers() | st.decimals(allow_nan=False, allow_infinity=False) | st.text()
)
_VALUES = st.recursive(
    _SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4), max_leaves=12
)


def _slowly_equal(one: JsonValue, two: JsonValue) -> bool:
    """The definition, pair by pair."""
    if isinstance(one, bool) or isinstance(two, bool) or one is None or two is None:
        return one is two
    if isinstance(one, int | Decimal) and isinstance(two, int | Decimal):
        return one == two
    if isinstance(one, list) and isinstance(two, list):
        return len(one) == len(two) and all(map(_slowly_equal, one, two))
    if isinstance(one, dict) and isinstance(two, dict):
        return one.keys() == two.keys() and all(_slowly_equal(value, two[name]) for name, value in one.items())
    return isinstance(one, str) and isinstance(two, str) and one == two


@pytest.mark.parametrize(
    ("one", "two", "are_equal"),
    [
        (1, Decimal("1.0"), True),
        (Decimal("0.10"), Decimal("0.1"), True),
        (9007199254740993, 9007199254740992, False),
        (Decimal("0.1"), Decimal("0.1000000000000000055511151231257827"), False),
        (True, 1, False),
        (False, 0, False),
        (None, False, False),
        ("1", 1, False),
        ([], {}, False),
        ([[True]], [[1]], False),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ([1, 2], [2, 1], False),
        ("\u00e9", "e\u0301", False),
    ],
)
def test_equality_follows_the_specification(one: JsonValue, two: JsonValue, are_equal: bool) -> None:  # noqa: FBT001
    assert equal(one, two) is are_equal


@given(_VALUES, _VALUES)
def test_identity_agrees_with_the_definition(one: JsonValue, two: JsonValue) -> None:
    assert (identity(one) == identity(two)) is _slowly_equal(one, two)


@given(_VALUES)
def test_equal_values_have_equal_identities(value: JsonValue) -> None:
    assert hash(identity(value)) == hash(identity([value])[1][0])  # type: ignore[index]
