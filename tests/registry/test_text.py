from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.parsing import exact_number
from registry.text import canonical_json, canonical_number, member_order, value_text


@pytest.mark.parametrize(
    ("literal", "spelling"),
    [
        ("1", "1"), ("1.0", "1"), ("-0", "0"), ("-0.0", "0"), ("1.50", "1.5"), ("1e2", "100"), ("15e-1", "1.5"),
        ("0.000001", "0.000001"), ("1e-7", "0.0000001"), ("9007199254740993", "9007199254740993"),
        ("0.1", "0.1"), ("0.30000000000000004", "0.30000000000000004"), ("1e39", "1" + "0" * 39), ("1e40", "1e40"),
        ("12e40", "1.2e41"), ("1e400", "1e400"), ("-25e-60", "-2.5e-59"), ("1" * 41, "1." + "1" * 40 + "e40"),
        ("1234567890123456789012.5", "1234567890123456789012.5"),
    ],
)  # fmt: skip
def test_a_number_has_one_spelling(literal: str, spelling: str) -> None:
    value = exact_number(literal)
    assert value is not None
    assert canonical_number(value) == spelling


@given(st.integers(1, 10**40), st.integers(-380, 350), st.sampled_from(["", "-"]))
def test_equal_numbers_have_equal_spellings_and_spellings_keep_the_number(
    coefficient: int, exponent: int, sign: str
) -> None:
    value = exact_number(f"{sign}{coefficient}e{exponent}")
    padded = exact_number(f"{sign}{coefficient}000e{exponent - 3}")
    assert value is not None
    assert value == padded
    text = canonical_number(value)
    assert text == canonical_number(padded or 0)
    assert exact_number(text) == value


def test_strings_are_escaped_as_rfc_8785_has_it() -> None:
    assert canonical_json('€$\x0f\nA\'B"\\\\"/\x7f\u2028') == '"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/\x7f\u2028"'


def test_members_keep_their_order_unless_values_are_compared() -> None:
    value = {"b": 1, "a": [{"d": Decimal("1.5"), "c": None}]}
    assert canonical_json(value) == '{"b":1,"a":[{"d":1.5,"c":null}]}'  # type: ignore[arg-type]
    assert value_text(value) == '{"a":[{"c":null,"d":1.5}],"b":1}'  # type: ignore[arg-type]


def test_true_and_one_are_different_values() -> None:
    assert value_text(True) != value_text(1)
    assert value_text("1") != value_text(1)
    assert value_text(None) != value_text("null")


def test_member_order_is_by_utf_16_code_units() -> None:
    # RFC 8785, section 3.2.3: a surrogate pair sorts before U+FB33.
    names = ["\u20ac", "\r", "\ufb33", "1", "\U0001f600", "\u0080", "\u00f6"]
    assert sorted(names, key=member_order) == ["\r", "1", "\u0080", "\u00f6", "\u20ac", "\U0001f600", "\ufb33"]
