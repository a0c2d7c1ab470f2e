"""Different values in any order, by rules with a parameter: one word that says which have been there."""

from typing import Final

from compiler_pool.form.nodes import DistinctItems
from compiler_pool.lark.constants import is_composite, write_constants
from compiler_pool.lark.grammar import LarkRules
from compiler_pool.lark.strings import literal

_WORD_BITS: Final = 63
"""Of a parameter: its conditions reach to the bit before the last."""


def write_distinct_items(name: str, node: DistinctItems, rules: LarkRules) -> None:
    """Add the rule of a pruned node.

    A comma is only taken where another value is left, and enough values are left for any minimum: no dead end.
    """
    most = len(node.texts) if node.at_most is None else min(node.at_most, len(node.texts))
    assert node.at_least <= most, node
    if most == 0:
        rules.rule(name, '"[" "]"')
        return
    items = [_constant(f"{name}_v{at}", text, rules) for at, text in enumerate(node.texts)]
    ends = ['"[" "]"'] if node.at_least == 0 else []
    write = _write_bits if len(items) <= _WORD_BITS else _write_fields
    rules.rule(name, " | ".join([*ends, f'"[" {write(name, items, max(node.at_least, 1), most, rules)}::0x0']))


def _constant(name: str, text: str, rules: LarkRules) -> str:
    if not is_composite(text):
        return rules.terminal(literal(text))
    write_constants(name, [text], rules)
    return rules.rule_name(name)


def _write_bits(name: str, items: list[str], least: int, most: int, rules: LarkRules) -> str:
    """A bit for each value."""
    word, rest = f"[0:{len(items)}]", rules.rule_name(f"{name}_r")
    picks = (f"{item} {rest}::set_bit({at}) %if bit_clear({at})" for at, item in enumerate(items))
    pick = _parametric(f"{name}_p", " | ".join(picks), rules)
    end = f'"]" %if bit_count_ge({word}, {least})'
    more = f'"," {pick}::_ %if bit_count_lt({word}, {most})'
    _parametric(f"{name}_r", f"{end} | {more}", rules)
    return pick


def _write_fields(name: str, items: list[str], least: int, most: int, rules: LarkRules) -> str:
    """For few items out of many values: a field for each item before, with the number of its value."""
    width = (len(items) - 1).bit_length()
    assert (most - 1) * width <= _WORD_BITS, (len(items), most)
    for place in range(most):
        is_last = place == most - 1
        rest = '"]"' if is_last else rules.rule_name(f"{name}_r{place}")
        picks: list[str] = []
        for at, item in enumerate(items):
            kept = "" if is_last else f"::bit_or({hex(at << place * width)})"
            fresh = _all_of([f"ne([{field * width}:{(field + 1) * width}], {at})" for field in range(place)])
            picks.append(f"{item} {rest}{kept}{fresh}")
        pick = _parametric(f"{name}_p{place}", " | ".join(picks), rules)
        if place > 0:
            ends = ['"]"'] if place >= least else []
            _parametric(f"{name}_r{place - 1}", " | ".join([*ends, f'"," {pick}::_']), rules)
    return rules.rule_name(f"{name}_p0")


def _all_of(conditions: list[str]) -> str:
    if not conditions:
        return ""
    whole = conditions[0]
    for condition in conditions[1:]:
        whole = f"and({whole}, {condition})"
    return f" %if {whole}"


def _parametric(name: str, body: str, rules: LarkRules) -> str:
    """A rule with a parameter; answers its plain name."""
    rules.rule(f"{name}::_", body)
    return rules.rule_name(name)
