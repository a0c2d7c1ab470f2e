"""Large objects stay small: choices become states or machines, whichever are fewer, and do not multiply."""

from typing import Any

import pytest

from compiler_pool.form.maker import Maker
from compiler_pool.form.nodes import MemberMachine
from compiler_pool.form.spending import ExpansionSpending
from policy.limits import TENANT
from registry.algebra.budgeting import SolverBudget
from registry.algebra.terms import Terms


def sizes(schema: Any) -> tuple[int, int]:
    """Machines of the schema's own objects, and their states, made within a tenant's budget."""
    terms = Terms()
    [root] = terms.read(schema)
    maker = Maker(terms, spending=ExpansionSpending(TENANT.expansion), solving=SolverBudget(max_steps=20_000))
    form = maker.form(root)
    assert not maker.inabilities
    machines = [node for node in form.nodes if isinstance(node, MemberMachine)]
    return len(machines), sum(len(machine.states) for machine in machines)


def flags(count: int) -> dict[str, Any]:
    return {f"p{at}": {"type": "boolean"} for at in range(count)}


def closed(count: int, **keywords: Any) -> dict[str, Any]:
    return {"type": "object", "properties": flags(count), "additionalProperties": False, **keywords}


@pytest.mark.parametrize(
    ("schema", "max_states"),
    [
        (closed(100), 101),
        (closed(100, required=[f"p{at}" for at in range(100)]), 101),
        (closed(100, minProperties=1), 201),
        (closed(100, maxProperties=5), 600),
        (closed(40, dependentRequired={f"p{2 * at}": [f"p{2 * at + 1}"] for at in range(20)}), 80),
        (closed(40, dependentRequired={f"p{at}": ["p39"] for at in range(20)}), 90),
        (closed(40, dependentRequired={f"p{at}": [f"p{at + 1}"] for at in range(20)}), 80),
        (closed(40, dependentRequired={f"p{at}": [f"p{39 - at}"] for at in range(20)}), 80),
        (closed(40, dependentRequired={f"p{39 - at}": [f"p{at}"] for at in range(20)}), 80),
        (closed(10, anyOf=[{"required": [f"p{at}"]} for at in range(10)]), 21),
        (closed(10, oneOf=[{"required": [f"p{at}"]} for at in range(10)]), 21),
        (closed(10, **{"not": {"required": ["p1", "p7"]}}), 20),
    ],
)
def test_conditions_on_presence_are_states_of_one_machine(schema: dict[str, Any], max_states: int) -> None:
    num_machines, num_states = sizes(schema)
    assert num_machines == 1
    assert num_states <= max_states


def alternative(number: int, *, is_told_last: bool) -> dict[str, Any]:
    kind = {"kind": {"const": f"k{number}"}}
    own = {f"p{number}_{at}": {"type": ["string", "integer", "boolean"][(number + at) % 3]} for at in range(4)}
    return {
        "type": "object",
        "properties": own | kind if is_told_last else kind | own,
        "required": ["kind"],
        "additionalProperties": False,
    }


@pytest.mark.parametrize("keyword", ["oneOf", "anyOf"])
@pytest.mark.parametrize("is_told_last", [True, False])
def test_sixty_alternatives_told_apart_by_a_constant_are_a_machine_each(keyword: str, is_told_last: bool) -> None:  # noqa: FBT001
    schema = {keyword: [alternative(number, is_told_last=is_told_last) for number in range(60)]}
    assert sizes(schema) == (60, 60 * 6)


@pytest.mark.parametrize("is_told_last", [True, False])
def test_twelve_conditions_on_one_constant_are_twelve_cases_of_it(is_told_last: bool) -> None:  # noqa: FBT001
    kind: dict[str, Any] = {"kind": {"enum": [f"k{at}" for at in range(12)]}}
    others: dict[str, Any] = {f"m{at}": {"type": "boolean"} for at in range(10)}
    conditions = [
        {
            "if": {"properties": {"kind": {"const": f"k{at}"}}},
            "then": {"properties": {f"m{at % 10}": {"const": True}}, "required": [f"m{(at + 1) % 10}"]},
        }
        for at in range(12)
    ]
    properties = others | kind if is_told_last else kind | others
    asked = {"type": "object", "required": ["kind"], "additionalProperties": False, "allOf": conditions}
    num_machines, num_states = sizes(asked | {"properties": properties})
    assert num_machines <= 12
    assert num_states <= 12 * 12


def test_choices_on_different_members_do_not_multiply() -> None:
    choices = [
        {"anyOf": [{"properties": {f"a{at}": {"type": one}, f"b{at}": {"type": one}}} for one in ("null", "boolean")]}
        for at in range(6)
    ]
    num_machines, num_states = sizes({"type": "object", "allOf": choices})
    # One of the machines is that of any object at all, which is a member's value.
    assert num_machines == 2
    assert num_states <= 40
