"""Sizes of the graph as a whole: how deep, how large, how large once unfolded."""

from collections.abc import Iterator
from dataclasses import dataclass

from policy.limits import ContractLimits
from policy.rejection import Rejection, RejectionCode
from registry.merge import MergedGraph

SATURATED = 10**15
"""Counts stop here: doublings make numbers that no report can carry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphSizes:
    """`num_hops` is the longest path through applicators and references; inside a recursion, the longest found."""

    num_subschemas: int
    num_hops: int
    deepest: str
    """The caller's pointer at the end of the longest path."""
    num_unfolded: int
    is_recursive: bool


def graph_sizes(merged: MergedGraph) -> GraphSizes:
    """Measure a merged graph. Linear."""
    hops: dict[int, int] = {}
    unfolded: dict[int, int] = {}
    leads_to: dict[int, int | None] = {}
    parts = merged.components
    for index, group in enumerate(parts.groups):
        leaving = [target for number in group for target in merged.successors[number] if parts.of[target] != index]
        deepest = max(leaving, key=hops.__getitem__, default=None)
        below = 0 if deepest is None else 1 + hops[deepest]
        own = _hops_within(merged, group) if len(group) > 1 else 0
        count = min(SATURATED, len(group) + sum(unfolded[target] for target in leaving))
        for number in group:
            hops[number] = own + below
            unfolded[number] = count
            leads_to[number] = deepest
    end = merged.root
    while (following := leads_to[end]) is not None:
        end = following
    return GraphSizes(
        num_subschemas=len(merged.classes),
        num_hops=hops[merged.root],
        deepest=merged.graph.nodes[end].source,
        num_unfolded=unfolded[merged.root],
        is_recursive=any(parts.is_cyclic),
    )


def size_rejections(sizes: GraphSizes, limits: ContractLimits) -> Iterator[Rejection]:
    """The limits on the whole graph that `sizes` breaks."""
    checks = (
        ("max_path", limits.max_path, sizes.num_hops, sizes.deepest, "Subschemas are applied too deep in each other."),
        ("max_subschemas", limits.max_subschemas, sizes.num_subschemas, "", "There are too many subschemas."),
        (
            "max_unfolded_subschemas", limits.max_unfolded_subschemas, sizes.num_unfolded, "",
            "With its references followed, the contract is too large.",
        ),
    )  # fmt: skip
    for name, limit, observed, pointer, message in checks:
        if observed > limit:
            yield Rejection(
                code=RejectionCode.LIMIT_EXCEEDED,
                message=message,
                pointer=pointer,
                limit_name=name,
                limit=limit,
                observed=observed,
            )


def _hops_within(merged: MergedGraph, group: tuple[int, ...]) -> int:
    """The longest way of a depth-first walk through a recursion: what a compiler that recurses would go down."""
    inside = set(group)
    entered = {group[0]}
    stack = [iter(merged.successors[group[0]])]
    longest = 0
    while stack:
        target = next(stack[-1], None)
        if target is None:
            stack.pop()
        elif target in inside and target not in entered:
            entered.add(target)
            stack.append(iter(merged.successors[target]))
            longest = max(longest, len(stack) - 1)
    return longest
