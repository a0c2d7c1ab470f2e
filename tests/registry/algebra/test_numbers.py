"""Numbers within bounds, on steps and off others: what is found fits, and where nothing is found there is nothing."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from registry.algebra.formulas import AtLeast, AtMost, Formula, Multiple, OneOf
from registry.algebra.numbers import exact_json, solve_number
from registry.algebra.outcomes import Empty, Found

_QUARTERS = st.integers(-12, 12).map(lambda n: Fraction(n, 4))
_STEPS = st.sampled_from([Fraction(n, d) for n in (1, 2, 3, 5) for d in (1, 2, 4)])
_ATOMS = st.lists(
    st.builds(AtLeast, bound=_QUARTERS, is_open=st.booleans())
    | st.builds(AtMost, bound=_QUARTERS, is_open=st.booleans())
    | st.builds(Multiple, step=_STEPS, positive=st.booleans()),
    max_size=5,
)


def _holds(atom: Formula, value: Fraction) -> bool:
    match atom:
        case AtLeast(bound=bound, is_open=is_open):
            return value > bound if is_open else value >= bound
        case AtMost(bound=bound, is_open=is_open):
            return value < bound if is_open else value <= bound
        case Multiple(step=step, positive=positive):
            return (value % step == 0) == positive
        case _:
            raise AssertionError(atom)


@given(_ATOMS)
def test_every_number_of_a_fine_grid_agrees_with_what_was_found(atoms: list[Formula]) -> None:
    outcome = solve_number(atoms)

    grid = [Fraction(n, 40) for n in range(-200, 201)]
    fitting = [value for value in grid if all(_holds(atom, value) for atom in atoms)]
    if isinstance(outcome, Found):
        assert isinstance(outcome.value, int) or not isinstance(outcome.value, str)
        value = Fraction(str(outcome.value))
        assert all(_holds(atom, value) for atom in atoms)
    else:
        assert isinstance(outcome, Empty)
        assert not fitting


def test_numbers_beyond_doubles_are_told_apart() -> None:
    bounds: list[Formula] = [
        AtLeast(bound=Fraction(2**53), is_open=True),
        AtMost(bound=Fraction(2**53 + 2), is_open=True),
    ]

    outcome = solve_number([*bounds, Multiple(step=Fraction(1), positive=True)])

    assert outcome == Found(value=2**53 + 1)


def test_excluding_every_number_that_is_left_is_seen() -> None:
    bounds: list[Formula] = [AtLeast(bound=Fraction(1), is_open=False), AtMost(bound=Fraction(2), is_open=False)]

    outcome = solve_number(
        [*bounds, Multiple(step=Fraction(1), positive=True), OneOf(texts=("1", "2"), positive=False)]
    )

    assert isinstance(outcome, Empty)


def test_a_fraction_without_finite_decimals_is_no_json_number() -> None:
    assert exact_json(Fraction(1, 3)) is None
    assert str(exact_json(Fraction(-1, 8))) == "-0.125"
