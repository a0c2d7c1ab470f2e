"""Formulas whose parts are shared: looked up and compared in the time of their parts, not of their ways."""

from registry.algebra.formulas import All, Any, Formula, Has, negated


def _doubled(times: int) -> Formula:
    """So many wholes, each twice in the next: as a tree it would have two to that power leaves."""
    formula: Formula = Has(name="a", positive=True)
    for at in range(times):
        formula = All(parts=(formula, formula)) if at % 2 else Any(parts=(formula, formula))
    return formula


def test_shared_parts_are_looked_up_once() -> None:
    assert {_doubled(200): "found"}[_doubled(200)] == "found"


def test_formulas_are_compared_by_what_they_say() -> None:
    assert _doubled(200) == _doubled(200)
    assert _doubled(200) != _doubled(199)
    assert All(parts=()) != Any(parts=())
    assert All(parts=(Has(name="a", positive=True),)) != All(parts=(Has(name="a", positive=False),))


def test_the_opposite_of_an_opposite_is_the_formula() -> None:
    formula = All(parts=(Any(parts=(Has(name="a", positive=True), Has(name="b", positive=False))), _doubled(3)))
    assert negated(negated(formula)) == formula
