"""Different values in any order, by rules with a parameter: one word that says which have been there."""

from dataclasses import dataclass
from functools import reduce
from typing import Final

from compiler_pool.form.nodes import DistinctItems
from compiler_pool.lark.constants import is_composite, write_constants
from compiler_pool.lark.grammar import LarkRules
from compiler_pool.lark.strings import literal

_WORD_BITS: Final = 63
"""Of a parameter: its conditions reach to the bit before the last."""


def write_distinct_items(name: str, node: DistinctItems, rules: LarkRules) -> None:
    """Add the rule of a pruned node.

    A comma is only taken where another value may come, and a value only where enough places are left for those that
    have to be found: no dead end.
    """
    counts = _counts(node)
    items = [_constant(f"{name}_v{at}", text, rules) for at, text in enumerate(node.texts)]
    bodies = ['"[" "]"'] if node.at_least == 0 and node.found_at_least == 0 else []
    if counts.most > 0:
        write = _write_bits if len(items) <= _WORD_BITS else _write_fields
        bodies.append(f'"[" {write(name, items, counts, rules)}::0x0')
    rules.rule(name, " | ".join(bodies))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Counts:
    """Bounds that can be met: of all items, and of those out of the first `num_found` values."""

    least: int
    most: int
    num_found: int
    found_least: int
    found_most: int


def _counts(node: DistinctItems) -> _Counts:
    found_most = node.num_found if node.found_at_most is None else min(node.num_found, node.found_at_most)
    most = found_most + len(node.texts) - node.num_found
    counts = _Counts(
        least=max(node.at_least, node.found_at_least),
        most=most if node.at_most is None else min(most, node.at_most),
        num_found=node.num_found,
        found_least=node.found_at_least,
        found_most=found_most,
    )
    assert counts.least <= counts.most, node
    assert counts.found_least <= counts.found_most, node
    return counts


def _constant(name: str, text: str, rules: LarkRules) -> str:
    if not is_composite(text):
        return rules.terminal(literal(text))
    write_constants(name, [text], rules)
    return rules.rule_name(name)


def _write_bits(name: str, items: list[str], counts: _Counts, rules: LarkRules) -> str:
    """A bit for each value."""
    found, other = f"[0:{counts.num_found}]", f"[{counts.num_found}:{len(items)}]"
    num_others = len(items) - counts.num_found
    # Others leave as many places as those need that have to be found.
    other_most = min(num_others, counts.most - counts.found_least)
    may_be_found = f"bit_count_lt({found}, {counts.found_most})" if counts.found_most > 0 else ""
    may_be_other = f"bit_count_lt({other}, {other_most})" if other_most > 0 else ""
    rest = rules.rule_name(f"{name}_r")
    picks: list[str] = []
    for at, item in enumerate(items):
        may_be = may_be_found if at < counts.num_found else may_be_other
        if may_be:
            picks.append(f"{item} {rest}::set_bit({at}){_all_of([f'bit_clear({at})', may_be])}")
    pick = _parametric(f"{name}_p", " | ".join(picks), rules)
    word = f"[0:{len(items)}]"
    enough = [f"bit_count_ge({word}, {max(counts.least, 1)})"]
    if counts.found_least > 0:
        enough.append(f"bit_count_ge({found}, {counts.found_least})")
    more = [f"bit_count_lt({word}, {counts.most})", _any_of([may_be_found, may_be_other])]
    _parametric(f"{name}_r", f'"]"{_all_of(enough)} | "," {pick}::_{_all_of(more)}', rules)
    return pick


def _write_fields(name: str, items: list[str], counts: _Counts, rules: LarkRules) -> str:
    """For few items out of many values: a field for each item before, with the number of its value."""
    assert counts.num_found == 0, "only where bits are too few, and then nothing is counted"
    least, most = counts.least, counts.most
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
    return f" %if {reduce(lambda whole, condition: f'and({whole}, {condition})', conditions)}"


def _any_of(conditions: list[str]) -> str:
    kept = [condition for condition in conditions if condition]
    return reduce(lambda whole, condition: f"or({whole}, {condition})", kept)


def _parametric(name: str, body: str, rules: LarkRules) -> str:
    """A rule with a parameter; answers its plain name."""
    rules.rule(f"{name}::_", body)
    return rules.rule_name(name)
