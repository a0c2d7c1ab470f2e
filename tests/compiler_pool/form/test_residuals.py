"""Residual formulas mean what their formulas mean, however they were simplified."""

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from compiler_pool.form.residuals import ALWAYS, NEVER, PARTS_PER_STEP, Claim, Residual, Residuals
from registry.algebra.formulas import All, Any, Formula, Has, MembersAtLeast, Wants
from registry.algebra.terms import TermId
from tests.compiler_pool.form.walks import spending

ATOMS = tuple(Has(name=name, positive=positive) for name in "abc" for positive in (True, False))
ASSIGNMENTS = [dict(zip("abc", truths, strict=True)) for truths in product((True, False), repeat=3)]

formulas = st.recursive(
    st.sampled_from(ATOMS),
    lambda inner: st.lists(inner, max_size=3).map(tuple).flatmap(
        lambda parts: st.sampled_from([All(parts=parts), Any(parts=parts)])
    ),
    max_leaves=12,
)  # fmt: skip


def holds(formula: Formula, truths: dict[str, bool]) -> bool:
    match formula:
        case All(parts=parts):
            return all(holds(part, truths) for part in parts)
        case Any(parts=parts):
            return any(holds(part, truths) for part in parts)
        case Has(name=name, positive=positive):
            return truths[name] == positive
        case _:
            raise AssertionError(formula)


@given(formulas)
def test_simplifying_changes_no_truth(formula: Formula) -> None:
    residuals = Residuals(spending())
    kept = residuals.formula(residuals.of(formula))
    assert all(holds(kept, truths) == holds(formula, truths) for truths in ASSIGNMENTS)


@given(formulas)
def test_deciding_all_atoms_leaves_a_truth(formula: Formula) -> None:
    residuals = Residuals(spending())
    residual = residuals.of(formula)
    for truths in ASSIGNMENTS:
        decided = {
            literal: ALWAYS if holds(atom, truths) else NEVER
            for literal in residuals.literals(residual)
            if isinstance(atom := residuals.shape(literal), Has)
        }
        assert residuals.replaced(residual, decided) == (ALWAYS if holds(formula, truths) else NEVER)


@given(formulas, formulas)
def test_what_is_implied_holds_wherever_the_other_does(one: Formula, other: Formula) -> None:
    residuals = Residuals(spending())
    if residuals.implies(residuals.of(one), residuals.of(other)):
        assert all(holds(other, truths) for truths in ASSIGNMENTS if holds(one, truths))


def test_equal_formulas_are_one_residual_in_any_order() -> None:
    residuals = Residuals(spending())
    a, b = (residuals.literal(Has(name=name, positive=True)) for name in "ab")
    assert residuals.all_of((a, b)) == residuals.all_of((b, a, ALWAYS, b))
    assert residuals.any_of((a, residuals.any_of((b, NEVER)))) == residuals.any_of((b, a))


def test_what_a_part_decides_within_the_others_is_gone() -> None:
    residuals = Residuals(spending())
    a, b, no_a = (
        residuals.literal(Has(name=name, positive=positive))
        for name, positive in (("a", True), ("b", True), ("a", False))
    )
    assert residuals.all_of((a, residuals.any_of((a, b)))) == a
    assert residuals.all_of((a, residuals.any_of((no_a, b)))) == residuals.all_of((a, b))
    assert residuals.any_of((no_a, a)) == ALWAYS
    assert residuals.all_of((no_a, a)) == NEVER


def test_a_claim_and_its_opposite_cover_every_value() -> None:
    residuals = Residuals(spending())
    claims = [residuals.literal(Claim(wanted=Wants(term=TermId(3), positive=positive))) for positive in (True, False)]
    assert residuals.any_of(claims) == ALWAYS
    assert residuals.all_of(claims) == NEVER


def test_residuals_are_paid_for() -> None:
    paying = spending()
    residuals = Residuals(paying)
    before = paying.num_steps
    counts = [residuals.literal(MembersAtLeast(count=count)) for count in range(1, 1_000)]
    residual = residuals.all_of(counts)
    assert paying.num_steps >= before + 1_000 // PARTS_PER_STEP
    before = paying.num_steps
    residuals.replaced(residual, {counts[0]: ALWAYS})
    assert paying.num_steps >= before + 1_000 // PARTS_PER_STEP


def test_a_literal_stands_for_itself() -> None:
    residuals = Residuals(spending())
    literal: Residual = residuals.literal(ATOMS[0])
    assert residuals.literals(literal) == {literal}
    assert residuals.conjuncts(literal) == residuals.disjuncts(literal) == (literal,)
