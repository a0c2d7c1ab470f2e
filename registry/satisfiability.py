"""Whether a contract has an instance at all, and how short the shortest can be.

A least fixpoint over the merged graph: every subschema starts with no value of any type, and gains values as its
parts do; what never gains one has none, recursion without a base included. The estimate is optimistic (it ignores
`not`, patterns, and how keywords of different subschemas act together), so a refusal is always right, and a contract
that passes may still be found empty by the compiler.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence

from policy.limits import ContractLimits
from policy.rejection import Rejection, RejectionCode
from registry.bounds import FREE, IMPOSSIBLE, LARGE, NONE, Sizes
from registry.errors import ContractRejectedError
from registry.instance_rules import Constraint, InstanceRules
from registry.merge import MergedGraph
from registry.name_search import NameSearch


def least_instance_bytes(merged: MergedGraph, limits: ContractLimits) -> int:
    """A lower bound for the contract's shortest instance.

    Raises `ContractRejectedError`: no instance (`unsatisfiable`), or only ones above the limit.
    """
    sizes, rules = shortest_instances(merged)
    least = min(sizes[merged.root])
    if least >= NONE:
        raise ContractRejectedError((_explanation(merged, sizes, rules),))
    if least > limits.max_shortest_instance_bytes:
        rejection = Rejection(
            code=RejectionCode.LIMIT_EXCEEDED,
            message="The shortest instance of the contract is too long.",
            limit_name="max_shortest_instance_bytes",
            limit=limits.max_shortest_instance_bytes,
            observed=least,
        )
        raise ContractRejectedError((rejection,))
    return least


def shortest_instances(merged: MergedGraph) -> tuple[dict[int, Sizes], dict[int, InstanceRules]]:
    """A lower bound for the shortest value of each type, for every class; and the rules it came from."""
    sizes: dict[int, Sizes] = dict.fromkeys(merged.classes, IMPOSSIBLE)
    search = NameSearch()
    rules = {number: InstanceRules(merged, number, search) for number in merged.classes}
    for group, is_cyclic in zip(merged.components.groups, merged.components.is_cyclic, strict=True):
        if not is_cyclic:
            sizes[group[0]] = _combined(rules[group[0]].constraints(sizes))
            continue
        inside = set(group)
        users: defaultdict[int, set[int]] = defaultdict(set)
        for number in group:
            for target in inside.intersection(merged.successors[number]):
                users[target].add(number)
        pending = dict.fromkeys(group)
        while pending:
            number = next(iter(pending))
            del pending[number]
            gained = _combined(rules[number].constraints(sizes))
            if gained != sizes[number]:
                sizes[number] = gained
                pending.update(dict.fromkeys(sorted(users[number])))
    return sizes, rules


def _combined(constraints: Sequence[Constraint]) -> Sizes:
    """All of them at once: a value must be at least as long as each demands."""
    least: Callable[..., int] = max
    combined = tuple(map(least, FREE, *(constraint.sizes for constraint in constraints))) if constraints else FREE
    return tuple(NONE if size >= NONE else min(size, LARGE) for size in combined)


def _explanation(merged: MergedGraph, sizes: dict[int, Sizes], rules: dict[int, InstanceRules]) -> Rejection:
    """The deepest keyword that alone leaves no value, going down from the root."""
    number = merged.root
    seen: set[int] = set()
    while True:
        seen.add(number)
        node = merged.graph.nodes[number]
        if node.accepts_nothing:
            return _unsatisfiable("The schema `false` allows nothing.", node.source, None)
        culprit = _culprit(rules[number].constraints(sizes))
        pointer = node.pointer_of(culprit.keyword)
        if culprit.blames is None or min(sizes[culprit.blames]) < NONE:
            return _unsatisfiable(culprit.reason, pointer, culprit.keyword)
        if culprit.blames in seen:
            reason = "Every instance would have to contain another one, without end"
            return _unsatisfiable(reason, pointer, culprit.keyword)
        if merged.graph.nodes[culprit.blames].accepts_nothing:
            return _unsatisfiable(culprit.reason, pointer, culprit.keyword)
        number = culprit.blames


def _culprit(constraints: Sequence[Constraint]) -> Constraint:
    """Of the keywords that each take the last value of some type, the one an author would look at."""
    takes: dict[int, Constraint] = {}
    for constraint in constraints:
        for index, size in enumerate(constraint.sizes):
            if size >= NONE:
                takes.setdefault(index, constraint)
    others = [constraint for constraint in takes.values() if constraint.keyword != "type"]
    blaming = [constraint for constraint in others if constraint.blames is not None]
    return (blaming or others or list(takes.values()))[0]


def _unsatisfiable(reason: str, pointer: str, keyword: str | None) -> Rejection:
    return Rejection(
        code=RejectionCode.UNSATISFIABLE,
        message=f"{reason.rstrip('.')}: no instance can satisfy the contract.",
        pointer=pointer,
        keyword=keyword,
    )
