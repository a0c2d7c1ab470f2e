"""Kinds of undeclared names that lead to the same are one language, and no other name is in it."""

from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from compiler_pool.form.languages import Among, excluding
from compiler_pool.form.maker import Maker
from compiler_pool.form.name_classes import NameClass, name_classes
from compiler_pool.form.name_unions import NameUnions
from compiler_pool.form.nodes import MemberMachine
from compiler_pool.form.running import members
from compiler_pool.schema_grammar import SchemaForm, schema_form
from policy.enforcement import EnforcementPolicy
from policy.limits import UNLIMITED
from registry.algebra.budgeting import SolverBudget
from registry.algebra.formulas import Wants
from registry.algebra.terms import Terms
from registry.contract import JsonValue
from tests.compiler_pool.form.walks import spending

PATTERNS = ("^x", "1$", "^[ab]$", "^$", "^[^x]*$", "^.{2,}$", "[^a-z]", "^x1$", "^x?$", "a")
NAMES = ["".join(letters) for length in range(4) for letters in product("abx1-", repeat=length)]
SMALL = 3
"""Kinds of up to so many names are taken as listed one by one."""


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.sampled_from(PATTERNS), max_size=5, unique=True),
    st.lists(st.sampled_from(NAMES), max_size=4, unique=True),
    st.frozensets(st.sampled_from(PATTERNS), max_size=2),
    st.integers(min_value=0, max_value=5),
    st.lists(st.integers(min_value=0, max_value=2), max_size=1),
)
def test_each_outcome_has_the_names_of_its_kinds(
    patterns: list[str], declared: list[str], denied: frozenset[str], told_by: int, lengths: list[int]
) -> None:
    terms = Terms()
    short: list[JsonValue] = [{"maxLength": length} for length in lengths]
    wishes = [Wants(term=term, positive=True) for term in terms.read(*short)]
    maker = Maker(terms, spending=spending(), solving=SolverBudget(max_steps=UNLIMITED.expansion.max_steps))
    outside: list[NameClass] = []

    def is_allowed(one: NameClass) -> bool:
        if denied.isdisjoint(one.patterns):
            return True
        outside.append(one)
        return False

    found = name_classes(patterns, wishes, declared=declared, making=maker, is_allowed=is_allowed)
    listed = [one for one in found if isinstance(one.language, Among) and len(one.language.texts) <= SMALL]
    kinds = [one for one in found if one not in listed]
    unions = NameUnions(kinds, [*outside, *listed], declared, maker)
    telling = frozenset(patterns[:told_by])
    outcomes = [(one, (one.patterns & telling, at % 2 if told_by == 5 else 0)) for at, one in enumerate(kinds)]
    united = list(unions.by_outcome(outcomes))
    assert len({outcome for _, outcome in united}) == len(united)
    for language, outcome in united:
        own = [one.language for one, theirs in outcomes if theirs == outcome]
        expected = {name for each in own for name in members(NAMES, each, spending())}
        assert set(members(NAMES, language, spending())) == expected


def test_patterns_that_change_nothing_any_more_are_not_looked_at() -> None:
    maker = Maker(Terms(), spending=spending(), solving=SolverBudget(max_steps=1_000))
    kinds = name_classes(["^x", "1$", "a"], [], declared=["a"], making=maker, is_allowed=lambda _: True)
    unions = NameUnions(kinds, [], ["a"], maker)
    assert list(unions.by_outcome((one, 0) for one in kinds)) == [(excluding(Among(texts=("a",))), 0)]
    by_last = {last: language for language, last in unions.by_outcome((one, "1$" in one.patterns) for one in kinds)}
    assert set(members(NAMES, by_last[True], spending())) == {name for name in NAMES if name.endswith("1")}


def test_where_patterns_say_nothing_an_object_has_one_language_of_names() -> None:
    # With one for each kind, the engine's fuel for a step ended at the first undeclared name.
    patterns = [".{2}", "^a", "[ab]", "1", "^x", "^[a-c]+$"]
    schema: JsonValue = {
        "type": "object",
        "if": {"required": ["c"]},
        "then": {"patternProperties": {pattern: {"minimum": at} for at, pattern in enumerate(patterns)}},
    }
    made = schema_form(schema, limits=UNLIMITED, policy=EnforcementPolicy())
    assert isinstance(made, SchemaForm)
    machine = made.form.nodes[made.form.root]
    assert isinstance(machine, MemberMachine)
    (without,) = machine.states[0].skips
    assert [move.names for move in machine.states[without].moves] == [excluding(Among(texts=("c",)))]
    (there,) = machine.states[0].moves
    assert len(machine.states[there.target].moves) > 10
