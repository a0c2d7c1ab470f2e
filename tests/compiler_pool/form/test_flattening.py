"""Flat formulas hold for exactly the values that the schema allows."""

import itertools

import pytest

from compiler_pool.form.cases import cases_of, is_contradiction, listed_values
from compiler_pool.form.flattening import Flattening, every, some
from compiler_pool.form.spending import ExpansionSpending, ExpansionSpentError
from policy.limits import ExpansionBudget
from registry.algebra.budgeting import SolverBudget, Spending
from registry.algebra.formulas import FALSE, TRUE, All, Any, Formula, Has, OneOf, Wants, negated
from registry.algebra.keyword_formulas import JsonType, KeywordFormulas
from registry.algebra.solver import Solver
from registry.algebra.terms import Terms
from registry.algebra.truth import Truth, format_not_known
from registry.contract import JsonValue

A, B, C = (Has(name=name, positive=True) for name in "abc")


def budget(max_disjuncts: int = 64, max_steps: int = 100_000) -> ExpansionSpending:
    return ExpansionSpending(
        ExpansionBudget(
            max_disjuncts=max_disjuncts, max_nodes=1_000, max_states=1_000, max_steps=max_steps,
            max_expression_bytes=10_000,
        )
    )  # fmt: skip


class World:
    """One schema, its flat formulas, and the judge of formulas."""

    def __init__(self, schema: JsonValue) -> None:
        terms = Terms()
        (self.root,) = terms.read(schema)
        formulas = KeywordFormulas(terms)
        self.truth = Truth(terms, formulas, format_not_known)
        solver = Solver(terms, formulas, self.truth, Spending(SolverBudget()))
        self.flattening = Flattening(solver, formulas, budget())

    def flat(self, json_type: JsonType) -> Formula:
        return self.flattening.flat([Wants(term=self.root, positive=True)], json_type)


def atoms_of(formula: Formula) -> set[Formula]:
    if isinstance(formula, All | Any):
        return set().union(*map(atoms_of, formula.parts)) if formula.parts else set()
    return {formula}


OBJECTS: list[JsonValue] = [
    dict[str, JsonValue](dict.fromkeys(names, value))
    for size in range(4)
    for names in itertools.combinations("abc", size)
    for value in (1, 5)
]


@pytest.mark.parametrize(
    "schema",
    [
        {"oneOf": [{"required": ["a"]}, {"required": ["b"]}, {"required": ["c"]}]},
        {"not": {"oneOf": [{"required": ["a"]}, {"required": ["b"]}, {"required": ["c"]}]}},
        {"oneOf": [{"required": ["a"]}, {"required": ["a"]}]},
        {"if": {"required": ["a"]}, "then": {"required": ["b"]}, "else": {"required": ["c"]}},
        {"if": {"required": ["a"]}, "then": {"required": ["b"]}},
        {"if": {"required": ["a"]}, "else": {"required": ["b"]}},
        {"not": {"if": {"required": ["a"]}, "then": {"required": ["b"]}}},
        {"dependentRequired": {"a": ["b", "c"]}},
        {"not": {"enum": [{"a": 1}, {"b": 5}]}},
        {"anyOf": [{"properties": {"a": {"const": 1}}, "required": ["a"]}, {"not": {"required": ["b"]}}]},
        {
            "required": ["a"],
            "oneOf": [{"properties": {"a": {"const": 1}}}, {"properties": {"a": {"const": 5}}}],
        },
        {
            "properties": {"a": True},
            "unevaluatedProperties": False,
            "anyOf": [{"properties": {"b": {"const": 1}}}, True],
        },
    ],
)
def test_a_flat_formula_holds_for_what_the_schema_allows(schema: JsonValue) -> None:
    world = World(schema)
    flat = world.flat(JsonType.OBJECT)
    for value in OBJECTS:
        assert world.truth.of(flat, value) == world.truth.allows(world.root, value), value


def test_only_atoms_are_left() -> None:
    world = World({"oneOf": [{"required": ["a"]}, {"not": {"if": {"required": ["b"]}, "then": False}}]})
    assert all(isinstance(atom, Has) for atom in atoms_of(world.flat(JsonType.OBJECT)))


def test_alternatives_that_are_apart_need_no_opposites() -> None:
    branches: list[JsonValue] = [{"properties": {"k": {"const": at}}, "required": ["k"]} for at in range(12)]
    flat = World({"oneOf": branches}).flat(JsonType.OBJECT)
    assert isinstance(flat, Any)
    assert len(flat.parts) == 12
    assert all(isinstance(part, All) and len(part.parts) == 2 for part in flat.parts)


def test_what_lies_beside_tells_alternatives_apart() -> None:
    branches: list[JsonValue] = [{"properties": {"k": {"const": at}}} for at in range(4)]
    flat = World({"required": ["k"], "oneOf": branches}).flat(JsonType.OBJECT)
    # Has(k), and one of four; without `required`, an object without k satisfies all of them.
    assert len(atoms_of(flat)) == 5


def test_conjunctions_and_disjunctions_are_simplified() -> None:
    assert every([A, negated(A)]) == FALSE
    assert some([A, negated(A)]) == TRUE
    assert every([A, TRUE, All(parts=(B, A))]) == All(parts=(A, B))
    assert some([A, FALSE]) == A
    assert every([]) == TRUE
    assert some([]) == FALSE


def test_cases_leave_out_contradictions_and_what_is_contained() -> None:
    formula = every([some([A, B]), some([negated(A), C])])
    assert {frozenset(case) for case in cases_of(formula, budget())} == {
        frozenset({A, C}),
        frozenset({B, negated(A)}),
        frozenset({B, C}),
    }
    assert {frozenset(case) for case in cases_of(some([A, every([A, B])]), budget())} == {frozenset({A})}
    assert is_contradiction([OneOf(texts=("1",), positive=True), OneOf(texts=("2",), positive=True)])


def test_too_many_cases_are_a_named_limit() -> None:
    pairs = [
        some([Has(name=f"a{at}", positive=True), Has(name=f"b{at}", positive=True)])
        for at in range(12)
    ]  # fmt: skip
    with pytest.raises(ExpansionSpentError) as caught:
        cases_of(every(pairs), budget())
    assert caught.value.limit_name == "max_disjuncts"


def test_effort_is_a_named_limit() -> None:
    world = World({"allOf": [{"required": [f"n{at}"]} for at in range(50)]})
    world.flattening.spending = budget(max_steps=10)
    with pytest.raises(ExpansionSpentError) as caught:
        world.flat(JsonType.OBJECT)
    assert caught.value.limit_name == "max_steps"


def test_listed_values_are_taken_out() -> None:
    listed = OneOf(texts=('{"a":1}',), positive=True)
    assert listed_values(every([listed, A]), budget()) == (('{"a":1}',), FALSE)
    assert listed_values(some([listed, A]), budget()) == (('{"a":1}',), A)
    assert listed_values(every([some([listed, A]), B]), budget()) == (('{"a":1}',), every([A, B]))
    assert listed_values(A, budget()) == ((), A)


def tagged(*constants: int, required: bool = True) -> World:
    branches: list[JsonValue] = [
        {"properties": {"k": {"enum": [constant]}}, **({"required": ["k"]} if required else {})}
        for constant in constants
    ]
    return World({"oneOf": branches})


def test_constants_of_a_member_tell_alternatives_apart_only_where_it_must_be_there() -> None:
    assert len(atoms_of(tagged(1, 2, 3).flat(JsonType.OBJECT))) == 4
    world = tagged(1, 2, required=False)
    flat = world.flat(JsonType.OBJECT)
    cases: list[tuple[dict[str, JsonValue], bool]] = [({"k": 1}, True), ({}, False), ({"k": 3}, False)]
    for value, is_allowed in cases:
        assert world.truth.of(flat, value) is is_allowed


def test_a_constant_that_two_alternatives_share_does_not_tell_them_apart() -> None:
    world = tagged(1, 1, 2)
    flat = world.flat(JsonType.OBJECT)
    assert world.truth.of(flat, {"k": 1}) is False
    assert world.truth.of(flat, {"k": 2}) is True
