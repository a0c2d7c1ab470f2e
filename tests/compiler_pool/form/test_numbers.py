"""Formulas of numbers as nodes: constants as literals, everything else as exact sets."""

from fractions import Fraction

import pytest

from compiler_pool.form.nodes import Literals, Numbers
from compiler_pool.form.number_sets import EVERY_NUMBER, NumberRange, NumberSet, StepTooLongError
from compiler_pool.form.numbers import number_nodes, number_set
from compiler_pool.form.spending import ExpansionSpentError
from compiler_pool.form.steps import StepWay, step_way
from registry.algebra.formulas import TRUE, All, Any, AtLeast, AtMost, Formula, Multiple, OneOf
from registry.parsing import parse_json
from tests.compiler_pool.form.number_making import NumberMaking

_WHOLE = Multiple(step=Fraction(1), positive=True)


def _free(_count: int) -> None:
    """Work that nobody counts."""


def _set(*parts: NumberRange) -> NumberSet:
    return NumberSet(parts=parts)


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        (TRUE, EVERY_NUMBER),
        (Any(parts=(_WHOLE, Multiple(step=Fraction(1), positive=False))), EVERY_NUMBER),
        (
            All(parts=(_WHOLE, AtLeast(bound=Fraction(1, 2), is_open=False), AtMost(bound=Fraction(7), is_open=True))),
            _set(NumberRange(low=Fraction(1), high=Fraction(6), step=Fraction(1))),
        ),
        (
            All(parts=(Multiple(step=Fraction(4), positive=True), Multiple(step=Fraction(6), positive=True))),
            _set(NumberRange(step=Fraction(12))),
        ),
        (
            All(parts=(OneOf(texts=("3", '"3"', "null"), positive=False),)),
            _set(NumberRange(excluded=(Fraction(3),))),
        ),
    ],
)
def test_a_formula_becomes_the_plainest_set(formula: Formula, expected: NumberSet) -> None:
    assert number_set(formula, _free) == expected


def test_constants_are_written_with_all_their_digits_and_no_exponent() -> None:
    formula = OneOf(texts=("1e41", "-0.5", "9007199254740993", "1e-7", "0"), positive=True)
    [node] = number_nodes(formula, NumberMaking())
    assert node == Literals(texts=("-0.5", "0", "0.0000001", "9007199254740993", f"1{'0' * 41}"))


def test_few_multiples_of_a_long_step_are_constants() -> None:
    formula = All(
        parts=(
            Multiple(step=Fraction(97), positive=True),
            AtLeast(bound=Fraction(0), is_open=True),
            AtMost(bound=Fraction(300), is_open=False),
        )
    )
    assert number_nodes(formula, NumberMaking()) == [Literals(texts=("97", "194", "291"))]


def test_a_long_list_meets_a_long_list_without_comparing_each_with_each() -> None:
    first = OneOf(texts=tuple(map(str, range(8_000))), positive=True)
    second = OneOf(texts=tuple(map(str, range(4_000, 12_000))), positive=False)
    [node] = number_nodes(All(parts=(first, second, _WHOLE)), NumberMaking())
    assert isinstance(node, Literals)
    assert len(node.texts) == 4_000


def test_a_formula_of_too_many_cases_spends_its_budget() -> None:
    def either(step: int) -> Formula:
        return Any(parts=tuple(Multiple(step=Fraction(each), positive=True) for each in (step, 2 * step + 3)))

    with pytest.raises(ExpansionSpentError):
        number_nodes(All(parts=tuple(map(either, range(100, 160)))), NumberMaking())


def test_steps_whose_common_multiple_has_thousands_of_digits_are_not_multiplied_out() -> None:
    steps = tuple(Multiple(step=Fraction(10**60 + odd), positive=True) for odd in range(1, 160, 2))
    with pytest.raises(StepTooLongError):
        number_set(All(parts=steps), _free)


@pytest.mark.parametrize(
    ("values", "way"),
    [
        (EVERY_NUMBER, StepWay.EXPRESSIONS),
        (_set(NumberRange(step=Fraction(1, 100), avoided_steps=(Fraction(1),))), StepWay.EXPRESSIONS),
        (_set(NumberRange(step=Fraction(7))), StepWay.MULTIPLES),
        (_set(NumberRange(step=Fraction(7), low=Fraction(7 * 10**18))), StepWay.AUTOMATON),
        (_set(NumberRange(step=Fraction(7)), NumberRange(low=Fraction(10))), StepWay.AUTOMATON),
        (_set(NumberRange(step=Fraction(7, 100))), StepWay.AUTOMATON),
        (_set(NumberRange(step=Fraction(123_456_789, 10**9))), StepWay.NONE),
    ],
)
def test_steps_are_counted_on_in_the_plainest_way(values: NumberSet, way: StepWay) -> None:
    assert step_way(values, _free) is way


def test_what_cannot_be_counted_on_is_named_and_what_is_left_still_holds_every_number() -> None:
    making = NumberMaking()
    formula = All(
        parts=(
            Multiple(step=Fraction(100_003), positive=True),
            AtLeast(bound=Fraction(0), is_open=False),
            Multiple(step=Fraction(200_006), positive=False),
        )
    )
    [node] = number_nodes(formula, making)
    assert making.said == ["multiples of 200006 have too many remainders to be counted on"]
    assert node == Numbers(values=_set(NumberRange(low=Fraction(0), step=Fraction(1))))


@pytest.mark.parametrize("text", ["1e300", "-1e300", "1.5e-200", "1e128", "1234567890123456789e-160"])
def test_a_listed_number_of_too_many_digits_has_an_exponent(text: str) -> None:
    (node,) = number_nodes(OneOf(texts=(text, "7"), positive=True), NumberMaking())
    assert isinstance(node, Literals)
    read = {parse_json(each, max_bytes=999, max_nesting=1) for each in node.texts}
    assert read == {parse_json(text, max_bytes=999, max_nesting=1), 7}


@pytest.mark.parametrize(
    "formula",
    [
        AtLeast(bound=Fraction(10**128), is_open=False),
        AtMost(bound=Fraction(-(10**128)), is_open=False),
        All(parts=(AtLeast(bound=Fraction(0), is_open=True), AtMost(bound=Fraction(1, 10**127), is_open=True))),
        All(parts=(Multiple(step=Fraction(10**130), positive=True), OneOf(texts=("0",), positive=False))),
    ],
)
def test_a_range_in_which_no_number_is_short_enough_to_be_read_is_refused_by_name(formula: Formula) -> None:
    with pytest.raises(ExpansionSpentError) as raised:
        number_nodes(formula, NumberMaking())
    assert (raised.value.limit_name, raised.value.limit) == ("max_generated_digits", 128)


@pytest.mark.parametrize(
    "formula",
    [
        AtLeast(bound=Fraction(10**127), is_open=False),
        AtLeast(bound=Fraction(10**127 - 1), is_open=True),
        AtMost(bound=Fraction(1, 10**300), is_open=True),
        All(parts=(AtLeast(bound=Fraction(0), is_open=True), AtMost(bound=Fraction(1, 10**127), is_open=False))),
        Multiple(step=Fraction(10**130), positive=True),
        Multiple(step=Fraction(1, 10**200), positive=True),
    ],
)
def test_a_range_with_a_number_that_can_be_read_is_taken(formula: Formula) -> None:
    (node,) = number_nodes(formula, NumberMaking())
    assert isinstance(node, Numbers)
