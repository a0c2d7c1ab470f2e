"""Numbers that a grammar generates, asked of the real engine, against exact arithmetic."""

from decimal import Decimal
from fractions import Fraction
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from llguidance import LLMatcher

from compiler_pool.form.nodes import Literals, Numbers
from compiler_pool.form.number_sets import NumberRange, NumberSet
from compiler_pool.form.number_texts import number_text
from compiler_pool.form.numbers import number_nodes
from compiler_pool.lark.grammar import LarkGrammar, LarkRules
from compiler_pool.lark.numbers import number_body
from registry.algebra.formulas import FALSE, All, Any, AtLeast, AtMost, Formula, Multiple, OneOf
from tests.compiler_pool.form.number_making import NumberMaking
from tests.compiler_pool.lark.form_texts import generates, matcher_of, walk
from tests.compiler_pool.lark.schema_numbers import SchemaNumbers

_STEPS = tuple(map(Fraction, ("1", "1", "1", "0.5", "0.01", "3", "7", "1.5", "0.07", "2", "10", "12", "25", "1000")))

_WHOLE = Multiple(step=Fraction(1), positive=True)


def _grammar(values: NumberSet, *, max_digits: int | None = None, has_idle_zeros: bool = False) -> str:
    rules = LarkRules()
    start = number_body(values, rules, name="n", max_digits=max_digits, has_idle_zeros=has_idle_zeros)
    return LarkGrammar(start=start, rules=tuple(rules.entries())).text()


def _matcher(
    formula: Formula, making: NumberMaking, *, max_digits: int | None, has_idle_zeros: bool
) -> LLMatcher | None:
    nodes = number_nodes(formula, making)
    match nodes:
        case []:
            return None
        case [Literals(texts=texts)]:
            return matcher_of("start: T\nT: " + " | ".join(f'"{text}"' for text in texts) + "\n")
        case [Numbers(values=values)]:
            return matcher_of(_grammar(values, max_digits=max_digits, has_idle_zeros=has_idle_zeros))
        case _:
            raise AssertionError(nodes)


def _holds(formula: Formula, value: Fraction) -> bool:
    match formula:
        case All(parts=parts):
            return all(_holds(part, value) for part in parts)
        case Any(parts=parts):
            return any(_holds(part, value) for part in parts)
        case AtLeast(bound=bound, is_open=is_open):
            return value > bound or (value == bound and not is_open)
        case AtMost(bound=bound, is_open=is_open):
            return value < bound or (value == bound and not is_open)
        case Multiple(step=step, positive=positive):
            return ((value / step).denominator == 1) == positive
        case OneOf(texts=texts, positive=positive):
            return (value in map(Fraction, texts)) == positive
        case _:
            raise AssertionError(formula)


def _marks(formula: Formula) -> set[Fraction]:
    match formula:
        case All(parts=parts) | Any(parts=parts):
            return {Fraction(0)}.union(*map(_marks, parts))
        case AtLeast(bound=bound) | AtMost(bound=bound):
            return {bound}
        case OneOf(texts=texts):
            return set(map(Fraction, texts))
        case Multiple(step=step):
            return {step, 2 * step, 3 * step}
        case _:
            raise AssertionError(formula)


def _decimals() -> st.SearchStrategy[Fraction]:
    digits = st.integers(-12, 12) | st.integers(-1000, 1000) | st.integers(-(10**5), 10**5)
    return st.builds(Fraction, digits, st.sampled_from([1, 1, 1, 10, 100, 1000]))


def _formulas() -> st.SearchStrategy[Formula]:
    atoms: st.SearchStrategy[Formula] = st.one_of(
        st.builds(AtLeast, bound=_decimals(), is_open=st.booleans()),
        st.builds(AtMost, bound=_decimals(), is_open=st.booleans()),
        st.builds(Multiple, step=st.sampled_from(_STEPS), positive=st.sampled_from([True, True, False])),
        st.builds(
            OneOf,
            texts=st.lists(_decimals().map(number_text), min_size=1, max_size=4).map(tuple),
            positive=st.booleans(),
        ),
    )
    return st.recursive(
        atoms,
        lambda inner: (
            st.builds(All, parts=st.lists(inner, max_size=3).map(tuple))
            | st.builds(Any, parts=st.lists(inner, max_size=3).map(tuple))
        ),
        max_leaves=6,
    )


_SHIFTS = tuple(map(Fraction, ("0", "1", "-1", "0.1", "-0.1", "0.5", "0.001", "-0.001", "7", "0.07", "100", "21")))


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(formula=_formulas(), max_digits=st.sampled_from([None, None, 9]), has_idle_zeros=st.booleans())
def test_exactly_the_numbers_that_satisfy_a_formula_are_generated(
    formula: Formula, max_digits: int | None, *, has_idle_zeros: bool
) -> None:
    making = NumberMaking()
    matcher = _matcher(formula, making, max_digits=max_digits, has_idle_zeros=has_idle_zeros)
    values = sorted({mark + shift for mark in _marks(formula) for shift in _SHIFTS})
    for value in Random(0).sample(values, min(40, len(values))):
        text = number_text(value)
        is_generated = matcher is not None and generates(matcher, text)
        assert is_generated >= _holds(formula, value), text
        assert is_generated == _holds(formula, value) or making.said, text
        for other in (text + ("0" if "." in text else ".0"), f"-{text}", f"{text}e1", "-0", "-0.0"):
            if matcher is not None and generates(matcher, other):
                assert _holds(formula, Fraction(Decimal(other))) or making.said, other
        assert matcher is None or not generates(matcher, f"0{text}")


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(formula=_formulas(), max_digits=st.sampled_from([3, 12]), has_idle_zeros=st.booleans())
def test_random_choices_end_in_a_number_of_few_digits(
    formula: Formula, max_digits: int, *, has_idle_zeros: bool
) -> None:
    making = NumberMaking()
    matcher = _matcher(formula, making, max_digits=max_digits, has_idle_zeros=has_idle_zeros)
    random = Random(1)
    if matcher is None:
        return
    for _ in range(8):
        text = walk(matcher, random, longest=10**6)
        assert text is not None
        assert _holds(formula, Fraction(Decimal(text))) or making.said, text
        # Bounds have up to 6 digits before the point and 3 behind it, steps up to 4; an exponent is no more than e+299.
        assert len(text) <= 2 * max(max_digits, 7) + 3 + 8, text


@pytest.mark.parametrize("max_digits", [None, 15, 40])
@pytest.mark.parametrize(
    ("schema", "within", "outside"),
    [
        ('{"type":"integer","minimum":0,"maximum":18446744073709551615}', ["18446744073709551615", "0"],
         ["18446744073709551616", "-1", "-0", "1.0"]),
        ('{"const":9007199254740993}', ["9007199254740993"], ["9007199254740992"]),
        ('{"type":"integer","exclusiveMinimum":9007199254740992}', ["9007199254740993"], ["9007199254740992"]),
        ('{"type":"integer","not":{"const":9007199254740993}}', ["9007199254740992"], ["9007199254740993"]),
        ('{"type":"number","exclusiveMinimum":0,"exclusiveMaximum":1e-10}', ["0.00000000001"], ["0", "0.0", "-0"]),
        ('{"type":"number","minimum":0.1,"exclusiveMaximum":0.3000000004}', ["0.3", "0.30000000039"], ["0.3000000004"]),
        ('{"type":"number","exclusiveMinimum":0,"maximum":1}', ["0.1", "1", "0.000001"], ["0", "0.0", "1.01", "5.7"]),
        ('{"type":"number","multipleOf":0.01,"minimum":0}', ["19.99", "0.07", "4.35", "0"], ["0.005", "19.999"]),
        ('{"type":"number","minimum":0}', ["0", "0.5"], ["-0", "-0.0", "-1"]),
        ('{"type":"number","minimum":-0.9,"exclusiveMaximum":0}', ["-0.5"], ["0", "-0", "-0.91"]),
        ('{"type":"integer","multipleOf":7}', ["0", "7", "-7", "700"], ["8", "7.0", "1"]),
        ('{"type":"integer","multipleOf":7,"minimum":9007199254740993}', ["9007199254740995"], ["9007199254740993"]),
        ('{"type":"integer","multipleOf":7,"maximum":9223372036854775807,"minimum":0}', ["9223372036854775807", "0"],
         ["9223372036854775806", "-7"]),
        ('{"type":"integer","multipleOf":11,"not":{"multipleOf":22}}', ["11", "-33"], ["22", "0", "12"]),
        ('{"type":"number","multipleOf":0.07}', ["0.07", "-0.14", "7", "0"], ["0.08", "0.071"]),
        ('{"type":"number","multipleOf":0.0001}', ["0.0075"], ["0.00751"]),
        ('{"type":"integer","multipleOf":1e-8}', ["12391239123"], ["1.5"]),
        ('{"type":"integer","multipleOf":1000000}', ["1000000", "0", "-7000000"], ["100000", "10000001"]),
        ('{"type":"number","not":{"type":"integer"}}', ["0.5", "-3.25"], ["0", "5", "-2"]),
        ('{"type":"number","not":{"multipleOf":7}}', ["0.5", "6", "-8"], ["0", "14", "-7", "14.0"]),
        ('{"type":"number","not":{"enum":[1,2.5]}}', ["1.5", "2", "25"], ["1", "2.5", "1.0", "2.50", "1e0"]),
        ('{"anyOf":[{"type":"integer","multipleOf":11},{"type":"number","minimum":100}]}', ["11", "100.5", "121", "0"],
         ["12", "99.5"]),
        ('{"type":"integer","multipleOf":0.123,"minimum":0,"maximum":100000}', ["123", "0", "99999"], ["124", "1"]),
    ],
)  # fmt: skip
def test_named_numbers(schema: str, within: list[str], outside: list[str], max_digits: int | None) -> None:
    texts = SchemaNumbers(schema, max_digits=max_digits)
    assert texts.reasons == []
    assert [text for text in within if not texts.generates(text)] == []
    assert [text for text in outside if texts.generates(text)] == []


def test_numbers_without_bounds_may_have_an_exponent_that_doubles_hold() -> None:
    matcher = matcher_of(_grammar(NumberSet(parts=(NumberRange(),))))
    for text in ("0", "-12.50", "1e299", "1E-7", "-0", "1.0"):
        assert generates(matcher, text), text
    for text in ("01", ".5", "1.", "+1", "1e", "e1", "NaN", "1e300"):
        assert not generates(matcher, text), text


def test_an_exponent_under_a_policy_keeps_numbers_that_doubles_hold() -> None:
    matcher = matcher_of(_grammar(NumberSet(parts=(NumberRange(),)), max_digits=5))
    assert generates(matcher, "12345.54321e-299")
    for text in ("123456", "0.123456", "1e300", "1e1000"):
        assert not generates(matcher, text), text


@pytest.mark.parametrize(
    ("part", "text"),
    [
        (NumberRange(low=Fraction(10**30)), f"1{'0' * 30}"),
        (NumberRange(low=Fraction(999), is_low_open=True, step=Fraction(1)), "1000"),
        (NumberRange(low=Fraction(1), step=Fraction(10**6)), "1000000"),
        (NumberRange(low=Fraction(5), step=Fraction(7, 10**4)), "5.0001"),
        (
            NumberRange(low=Fraction(1, 10**9), high=Fraction(2, 10**9), is_low_open=True, is_high_open=True),
            "0.0000000015",
        ),
    ],
)
def test_a_policy_on_digits_leaves_numbers_where_a_bound_or_a_step_needs_more(part: NumberRange, text: str) -> None:
    matcher = matcher_of(_grammar(NumberSet(parts=(part,)), max_digits=3))
    assert generates(matcher, text)


def test_idle_zeros_are_written_where_they_are_granted_and_do_not_hide_an_exception() -> None:
    values = NumberSet(
        parts=(NumberRange(low=Fraction(0), high=Fraction(20), excluded=(Fraction(12), Fraction(5, 2))),)
    )
    plain, idle = matcher_of(_grammar(values)), matcher_of(_grammar(values, has_idle_zeros=True))
    for text in ("1.50", "0.0", "20.000", "13.0"):
        assert generates(idle, text), text
        assert not generates(plain, text), text
    for text in ("12", "12.0", "12.00", "2.5", "2.50", "20.01"):
        assert not generates(idle, text), text


def test_a_step_of_many_remainders_is_named_and_left_out_unless_few_multiples_lie_between_the_bounds() -> None:
    making = NumberMaking()
    step = Multiple(step=Fraction("0.123456789"), positive=True)
    wide = _matcher(All(parts=(step, _WHOLE)), making, max_digits=None, has_idle_zeros=False)
    assert making.said == ["multiples of 123456789 have too many remainders to be counted on"]
    assert wide is not None
    assert generates(wide, "1")
    few = All(parts=(step, AtLeast(bound=Fraction(0), is_open=True), AtMost(bound=Fraction(100), is_open=False)))
    making = NumberMaking()
    matcher = _matcher(few, making, max_digits=None, has_idle_zeros=False)
    assert making.said == []
    assert matcher is not None
    assert generates(matcher, "0.123456789")
    assert not generates(matcher, "0.123456788")


def test_numbers_beyond_any_machine_word_are_exact() -> None:
    making = NumberMaking()
    low, high = Fraction("0.1"), Fraction("0.30000000000000004")
    between = _matcher(
        All(parts=(AtLeast(bound=low, is_open=True), AtMost(bound=high, is_open=False))),
        making,
        max_digits=None,
        has_idle_zeros=False,
    )
    large = _matcher(
        All(parts=(AtMost(bound=Fraction("1e308"), is_open=False), Multiple(step=Fraction(10**9), positive=True))),
        making,
        max_digits=None,
        has_idle_zeros=False,
    )
    assert between is not None
    assert large is not None
    assert making.said == []
    assert [text for text in ("0.3", "0.30000000000000004", "0.1000001") if not generates(between, text)] == []
    assert [text for text in ("0.1", "0.30000000000000005", "0.09") if generates(between, text)] == []
    assert generates(large, f"1{'0' * 308}")
    assert not generates(large, f"1{'0' * 307}1")
    assert not generates(large, f"2{'0' * 308}")


def test_many_steps_that_hold_together_are_named_and_left_out_before_they_are_multiplied_out() -> None:
    making = NumberMaking()
    steps = tuple(Multiple(step=Fraction(10**60 + odd), positive=True) for odd in range(1, 160, 2))
    matcher = _matcher(All(parts=(*steps, _WHOLE)), making, max_digits=None, has_idle_zeros=False)
    assert making.said == ["the common multiple of its steps has thousands of digits"]
    assert matcher is not None
    assert generates(matcher, "1")
    assert not generates(matcher, "1.5")


def test_no_number_is_left_of_a_contradiction() -> None:
    making = NumberMaking()
    none: list[Formula] = [
        FALSE,
        All(parts=(AtLeast(bound=Fraction(1), is_open=True), AtMost(bound=Fraction(1), is_open=False))),
        All(parts=(Multiple(step=Fraction(6), positive=True), Multiple(step=Fraction(3), positive=False))),
        All(parts=(OneOf(texts=("1", "2"), positive=True), Multiple(step=Fraction(1), positive=False))),
    ]
    assert [number_nodes(formula, making) for formula in none] == [[], [], [], []]


@pytest.mark.parametrize("step", ["1", "0.5", "7", "0.07"])
def test_a_listed_number_of_too_many_digits_stands_beside_a_range_with_an_exponent(step: str) -> None:
    short = (Multiple(step=Fraction(step), positive=True), AtLeast(bound=Fraction(0), is_open=False))
    listed = OneOf(texts=("1e300", "-2.5e-200", "1e127"), positive=True)
    formula = Any(parts=(listed, All(parts=(*short, AtMost(bound=Fraction(10**18), is_open=False)))))
    matcher = _matcher(formula, NumberMaking(), max_digits=None, has_idle_zeros=False)
    assert matcher is not None
    texts = {"1e300": True, "1" + "0" * 300: False, "-2.5e-200": True, "1" + "0" * 127: True, "7": True, "7e1": False}
    assert {text: generates(matcher, text) for text in texts} == texts
