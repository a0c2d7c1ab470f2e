"""Arrays as rules: places in a row, states, and different values."""

from collections.abc import Callable

from compiler_pool.form.nodes import DistinctItems, ItemMachine, Items, NodeId
from compiler_pool.lark.distinct_items import write_distinct_items
from compiler_pool.lark.grammar import LarkRules
from compiler_pool.lark.item_states import MAX_BACKWARD, places_as_states, write_item_machine
from compiler_pool.lark.repeats import repeat

Naming = Callable[[NodeId], str]
"""What stands for a node in a rule."""


def write_items(name: str, node: Items | ItemMachine | DistinctItems, rules: LarkRules, of: Naming) -> None:
    """Add the rule of a pruned node of arrays, and rules of its own named from it."""
    match node:
        case Items() if len(node.prefix) - node.at_least > MAX_BACKWARD:
            write_item_machine(name, places_as_states(node), rules, of)
        case Items():
            _write_places(name, node, rules, of)
        case ItemMachine():
            write_item_machine(name, node, rules, of)
        case DistinctItems():
            write_distinct_items(name, node, rules)


def _write_places(name: str, node: Items, rules: LarkRules, of: Naming) -> None:
    """One place after the other. Each that may be left out is a rule, so that groups never lie deep in each other."""
    num_prefix = len(node.prefix)
    tail = _rest(node, of)
    for place in reversed(range(max(node.at_least, 1), num_prefix)):
        # A tail stands behind a place that may be missing, and is then missing too.
        body = " ".join(filter(None, ('","', of(node.prefix[place]), tail)))
        tail = f"{rules.rule(f'{name}_{place}', body)}?"
    fixed = [of(item) for item in node.prefix[: max(node.at_least, 1)]]
    if not fixed and node.rest is not None and node.at_most != 0:
        fixed = [of(node.rest)]
    if not fixed:
        rules.rule(name, '"[" "]"')
        return
    items = " ".join(filter(None, (' "," '.join(fixed), tail)))
    rules.rule(name, f'"[" {items} "]"' if node.at_least > 0 else f'"[" ({items})? "]"')


def _rest(node: Items, of: Naming) -> str:
    """What comes after the prefix, or after the first item where there is none."""
    before = max(len(node.prefix), 1)
    if node.rest is None or (node.at_most is not None and node.at_most <= before):
        return ""
    least = max(node.at_least - before, 0)
    most = None if node.at_most is None else node.at_most - before
    return f'("," {of(node.rest)}){repeat(least, most)}'
