"""Multiples by regular expression, against division."""

import re
from fractions import Fraction

import pytest

from compiler_pool.form.number_texts import number_text
from compiler_pool.form.step_expressions import step_expressions


@pytest.mark.parametrize(
    "text",
    ["1", "2", "3", "4", "5", "6", "8", "10", "12", "15", "20", "25", "50", "60", "1000", "30000", "1000000",
     "0.01", "0.25", "0.5", "1.5", "2.5", "0.3", "0.0001", "1e-8", "1e-300", "0.12"],
)  # fmt: skip
def test_a_short_expression_matches_exactly_the_multiples(text: str) -> None:
    step = Fraction(text)
    expressions = step_expressions(step)
    assert expressions is not None
    counts = [*range(130), 10**6, 10**6 + 1, 123_456_789]
    near = {value for count in counts for value in (count * step, count * step + step / 2, Fraction(count, 10))}
    for value in near | {Fraction(count) for count in counts}:
        plain = number_text(value)
        for spelling in (plain, plain + ("00" if "." in plain else ".0")):
            is_matched = all(re.fullmatch(expression, spelling) for expression in expressions)
            assert is_matched == ((value / step).denominator == 1), spelling


@pytest.mark.parametrize("text", ["7", "9", "11", "0.07", "1001", "123456789", "9" * 2_000])
def test_steps_with_other_prime_factors_have_no_short_expression(text: str) -> None:
    assert step_expressions(Fraction(text)) is None


def test_a_short_expression_is_short() -> None:
    lengths = [len("".join(step_expressions(Fraction(text)) or ())) for text in ("0.01", "1000000", "1e-300", "12")]
    assert max(lengths) < 300
