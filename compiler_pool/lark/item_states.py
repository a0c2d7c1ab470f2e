"""Arrays by states as rules, in the one of three ways that costs the engine least."""

from collections.abc import Callable
from typing import Final

from compiler_pool.form.item_burden import MAX_AT_ONCE, longest_chain, num_lasting, size_of
from compiler_pool.form.nodes import ItemMachine, ItemMove, Items, ItemState, NodeId
from compiler_pool.lark.grammar import LarkRules
from compiler_pool.lark.item_halves import Steps, write_halves
from compiler_pool.lark.repeats import one_of

MAX_BACKWARD: Final = 100
"""States in a row that are written backward although they could be written by halves: fewer rules, and simpler."""


def write_item_machine(name: str, node: ItemMachine, rules: LarkRules, of: Callable[[NodeId], str]) -> None:
    """Add the rule of a pruned machine."""
    steps = [_step(state, of) for state in node.states]
    if node.at_least > 0 or node.at_most is not None:
        write_halves(name, node, steps, rules)
    elif size_of(node) <= MAX_AT_ONCE:
        _write_forward(name, node, steps, rules)
    elif longest_chain(node) <= MAX_BACKWARD or num_lasting(node) > 1:
        _write_backward(name, node, steps, rules)
    else:
        write_halves(name, node, steps, rules)


def places_as_states(node: Items) -> ItemMachine:
    """Items of a long prefix as states."""
    num_prefix = len(node.prefix)
    states = [
        ItemState(is_final=place >= node.at_least, moves=(ItemMove(item=item, target=place + 1),))
        for place, item in enumerate(node.prefix)
    ]
    repeated = () if node.rest is None else (ItemMove(item=node.rest, target=num_prefix),)
    states.append(ItemState(is_final=True, moves=repeated))
    return ItemMachine(
        states=tuple(states),
        at_least=node.at_least if node.at_least > num_prefix else 0,
        at_most=None if node.rest is None else node.at_most,
    )


def _step(state: ItemState, of: Callable[[NodeId], str]) -> dict[int, str]:
    items: dict[int, list[str]] = {}
    for move in state.moves:
        items.setdefault(move.target, []).append(of(move.item))
    return {target: one_of(listed) for target, listed in items.items()}


def _write_forward(name: str, node: ItemMachine, steps: Steps, rules: LarkRules) -> None:
    """A rule for a state is all ways into it: however many of them a text takes at once, they are one to the engine."""
    ways: dict[int, list[str]] = {target: [f'"[" {item}'] for target, item in steps[0].items()}
    pending = list(ways)
    for state in pending:
        for target, item in steps[state].items():
            if target not in ways:
                ways[target] = []
                pending.append(target)
            ways[target].append(f'{rules.rule_name(f"{name}_{state}")} "," {item}')
    for state, bodies in ways.items():
        rules.rule(f"{name}_{state}", " | ".join(bodies))
    ends = [rules.rule_name(f"{name}_{state}") for state in ways if node.states[state].is_final]
    alternatives = ['"[" "]"'] if node.states[0].is_final else []
    alternatives += [f'{one_of(ends)} "]"'] if ends else []
    rules.rule(name, " | ".join(alternatives))


def _write_backward(name: str, node: ItemMachine, steps: Steps, rules: LarkRules) -> None:
    """A rule for a state is what may still come, the bracket included. What changes nothing is a repeat."""
    for state in range(len(steps)):
        after = {target: item for target, item in steps[state].items() if target != state}
        loop = f'("," {steps[state][state]})* ' if state in steps[state] else ""
        ends = ['"]"'] if node.states[state].is_final else []
        ends += [f'"," {item} {rules.rule_name(f"{name}_{target}")}' for target, item in after.items()]
        rules.rule(f"{name}_{state}", loop + one_of(ends))
    firsts = ['"]"'] if node.states[0].is_final else []
    firsts += [f"{item} {rules.rule_name(f'{name}_{target}')}" for target, item in steps[0].items()]
    rules.rule(name, f'"[" {one_of(firsts)}')
