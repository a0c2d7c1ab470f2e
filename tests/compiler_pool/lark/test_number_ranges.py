"""Bounds as regular expressions of texts, against exact arithmetic."""

import re
from fractions import Fraction
from math import ceil, floor

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from compiler_pool.form.number_sets import NumberRange
from compiler_pool.form.number_texts import Spelling, number_text
from compiler_pool.lark.number_ranges import range_expressions


def _decimals() -> st.SearchStrategy[Fraction]:
    scales = st.sampled_from([1, 1, 10, 100, 10**5, 10**12])
    return st.builds(Fraction, st.integers(-(10**6), 10**6) | st.integers(-120, 120), scales)


@st.composite
def _bounds(draw: st.DrawFn) -> NumberRange:
    low = draw(_decimals())
    high = low + draw(st.just(Fraction(0)) | _decimals().map(abs))
    return NumberRange(
        low=None if draw(st.integers(0, 6)) == 0 else low,
        is_low_open=draw(st.booleans()),
        high=None if draw(st.integers(0, 6)) == 0 else high,
        is_high_open=draw(st.booleans()),
    )


def _near(part: NumberRange) -> set[Fraction]:
    marks = {Fraction(0), *(bound for bound in (part.low, part.high) if bound is not None)}
    scales = [Fraction(10) ** scale for scale in (-13, -6, -2, -1, 0, 1, 3)]
    shifts = [Fraction(0), *(digit * scale for scale in scales for digit in (-5, -1, 1, 5))]
    return {mark + shift for mark in marks for shift in shifts}


def _matches(part: NumberRange, spelling: Spelling, text: str) -> bool:
    return any(re.fullmatch(expression, text) for expression in range_expressions(part, spelling))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(part=_bounds(), has_idle_zeros=st.booleans(), max_decimals=st.sampled_from([None, 20]))
def test_the_texts_are_those_of_the_numbers_between_the_bounds(
    part: NumberRange, *, has_idle_zeros: bool, max_decimals: int | None
) -> None:
    spelling = Spelling(has_idle_zeros=has_idle_zeros, max_decimals=max_decimals)
    for value in _near(part):
        text = number_text(value)
        longer = text + ("0" if "." in text else ".0")
        assert _matches(part, spelling, text) == part.spans(value), text
        assert _matches(part, spelling, longer) == (part.spans(value) and has_idle_zeros), longer
        assert not _matches(part, spelling, f"-{text}") or (value > 0 and part.spans(-value)), text
        assert not _matches(part, spelling, f"0{text}"), text


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(part=_bounds())
def test_integers_have_no_fraction_and_no_idle_digit(part: NumberRange) -> None:
    low = None if part.low is None else Fraction(ceil(part.low))
    high = None if part.high is None else Fraction(floor(part.high))
    whole = NumberRange(low=low, high=high)
    for value in _near(whole):
        text = number_text(value)
        assert _matches(whole, Spelling(is_whole=True), text) == (value.denominator == 1 and whole.spans(value)), text
    for text in ("-0", "00", "01", "-01", "1.0", "1e1", "+1", ""):
        assert not _matches(whole, Spelling(is_whole=True), text), text


@pytest.mark.parametrize(
    ("low", "high", "within", "outside"),
    [
        ("0", "9223372036854775807", ["9223372036854775807", "0"], ["9223372036854775808", "10000000000000000000"]),
        ("0.1", "0.30000000000000004", ["0.3", "0.1", "0.30000000000000004"], ["0.30000000000000005", "0.09", "0.4"]),
        ("1e-10", "1e-9", ["0.0000000001", "0.00000000099"], ["0", "0.00000000009", "0.0000000011"]),
        ("-1e-300", "1e308", [f"1{'0' * 308}", f"-0.{'0' * 299}1"], [f"1{'0' * 307}1.5", f"-0.{'0' * 298}1"]),
        ("-9223372036854775808", "-1", ["-9223372036854775808", "-1"], ["-9223372036854775809", "0", "-0"]),
    ],
)
def test_bounds_of_many_digits_are_kept_exactly(low: str, high: str, within: list[str], outside: list[str]) -> None:
    part = NumberRange(low=Fraction(low), high=Fraction(high))
    assert [text for text in within if not _matches(part, Spelling(), text)] == []
    assert [text for text in outside if _matches(part, Spelling(), text)] == []


def test_an_expression_is_no_longer_than_the_square_of_its_bounds() -> None:
    digits = "3141592653589793238462643383279502884197169399375105820974944592" * 2
    for low, high in ((f"0.{digits}", None), (None, f"{digits}"), (digits, "9" + digits[1:])):
        part = NumberRange(
            low=None if low is None else Fraction(low), high=None if high is None else Fraction(high), is_low_open=True
        )
        num_digits = len(low or "") + len(high or "")
        assert sum(map(len, range_expressions(part, Spelling()))) < num_digits**2
