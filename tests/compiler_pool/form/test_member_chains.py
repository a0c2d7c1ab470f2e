"""Objects in which no member hangs on another: a state for each member that may be there, and one for the end."""

from compiler_pool.form.nodes import MemberMachine
from compiler_pool.schema_grammar import SchemaForm, schema_form
from policy.enforcement import EnforcementPolicy
from policy.limits import UNLIMITED
from registry.contract import JsonValue


def _machine(schema: JsonValue) -> MemberMachine:
    made = schema_form(schema, limits=UNLIMITED, policy=EnforcementPolicy())
    assert isinstance(made, SchemaForm), made
    node = made.form.nodes[made.form.root]
    assert isinstance(node, MemberMachine), node
    return node


def test_optional_members_may_be_passed_and_required_ones_may_not() -> None:
    states = _machine(
        {
            "type": "object",
            "properties": {"a": {"type": "null"}, "b": {"type": "null"}, "c": False},
            "required": ["b"],
            "additionalProperties": False,
        }
    ).states
    assert [[move.names for move in state.moves] for state in states] == [["a"], ["b"], []]
    assert [state.skips for state in states] == [(1,), (), ()]
    assert [state.is_final for state in states] == [False, False, True]


def test_undeclared_members_come_last_in_any_number() -> None:
    *_, last = _machine({"type": "object", "properties": {"a": True}}).states
    assert last.is_final
    assert [move.target for move in last.moves] == [1]


def test_a_member_that_must_be_there_and_may_not_leaves_no_object() -> None:
    schema: JsonValue = {"type": "object", "properties": {"a": False}, "required": ["a"]}
    assert not isinstance(schema_form(schema, limits=UNLIMITED, policy=EnforcementPolicy()), SchemaForm)
