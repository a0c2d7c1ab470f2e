"""Equal subschemas become one: the coarsest bisimulation of a schema's graph.

Two subschemas are equal if their own keywords are and their children are, however deep and through whatever cycles.
Acyclic parts are shared bottom-up in one pass; the rest by partition refinement in which the largest part of a split
keeps its block (Hopcroft's rule), so that a node changes its block a logarithmic number of times.
"""

from collections import defaultdict
from collections.abc import Hashable
from dataclasses import dataclass

from registry.components import Components, components
from registry.graph import Edge, SchemaGraph
from registry.text import canonical_json


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedGraph:
    """Classes of equal nodes, each named by one of its nodes: the one that the root reaches first, depth first."""

    graph: SchemaGraph
    representative: dict[int, int]
    classes: tuple[int, ...]
    """In depth-first order from the root."""
    successors: dict[int, tuple[int, ...]]
    """Class to the classes of its edges, in order, with repetitions."""
    components: Components

    @property
    def root(self) -> int:
        """The class of the root."""
        return self.representative[self.graph.root]

    def edges(self, number: int) -> tuple[Edge, ...]:
        """The edges of a class, as its representative has them; their targets are nodes, not classes."""
        return self.graph.nodes[number].edges

    def is_recursive(self, number: int) -> bool:
        """Whether a class leads back to itself."""
        return self.components.is_cyclic[self.components.of[number]]


def merge(graph: SchemaGraph) -> MergedGraph:
    """Share equal subschemas among those that the root reaches."""
    successors = graph.successors
    raw = components(graph.root, successors)
    block = _share_acyclic(graph, raw)
    _refine(graph, raw, block)
    first: dict[int, int] = {}
    order = _depth_first(graph.root, successors)
    for number in order:
        first.setdefault(block[number], number)
    representative = {number: first[block[number]] for number in order}
    classes = tuple(dict.fromkeys(representative[number] for number in order))
    merged = {number: tuple(representative[target] for target in successors[number]) for number in classes}
    table = [merged.get(number, ()) for number in range(len(graph.nodes))]
    return MergedGraph(
        graph=graph,
        representative=representative,
        classes=classes,
        successors=merged,
        components=components(representative[graph.root], table),
    )


def _label(graph: SchemaGraph, number: int) -> Hashable:
    node = graph.nodes[number]
    return node.accepts_nothing, canonical_json(dict(node.assertions)), tuple(edge.path for edge in node.edges)


def _share_acyclic(graph: SchemaGraph, raw: Components) -> dict[int, int]:
    """Blocks of the nodes that reach no cycle; children come first, so that one look at each is enough."""
    block: dict[int, int] = {}
    known: dict[Hashable, int] = {}
    for group, is_cyclic in zip(raw.groups, raw.is_cyclic, strict=True):
        number = group[0]
        edges = graph.nodes[number].edges
        if is_cyclic or any(edge.target not in block for edge in edges):
            continue
        signature = (_label(graph, number), tuple(block[edge.target] for edge in edges))
        block[number] = known.setdefault(signature, len(known))
    return block


def _refine(graph: SchemaGraph, raw: Components, block: dict[int, int]) -> None:
    """Add the blocks of the nodes that reach a cycle."""
    open_nodes = [number for group in raw.groups for number in group if number not in block]
    settled = dict(block)
    predecessors: defaultdict[int, set[int]] = defaultdict(set)
    by_label: defaultdict[Hashable, set[int]] = defaultdict(set)
    for number in open_nodes:
        edges = graph.nodes[number].edges
        by_label[_label(graph, number), tuple(settled.get(edge.target) for edge in edges)].add(number)
        for edge in edges:
            predecessors[edge.target].add(number)
    members: dict[int, set[int]] = {}
    fresh = len(set(block.values()))
    for nodes in by_label.values():
        members[fresh] = nodes
        block.update(dict.fromkeys(nodes, fresh))
        fresh += 1

    def signature(number: int) -> tuple[int, ...]:
        return tuple(block[edge.target] for edge in graph.nodes[number].edges)

    dirty = set(open_nodes)
    while dirty:
        touched: defaultdict[int, set[int]] = defaultdict(set)
        for number in dirty:
            touched[block[number]].add(number)
        dirty = set()
        for name, nodes in touched.items():
            parts: defaultdict[tuple[int, ...], set[int]] = defaultdict(set)
            for number in nodes:
                parts[signature(number)].add(number)
            untouched = members[name] - nodes
            if untouched:
                parts[signature(next(iter(untouched)))] |= untouched
            for part in sorted(parts.values(), key=len)[:-1]:
                members[name] -= part
                members[fresh] = part
                block.update(dict.fromkeys(part, fresh))
                fresh += 1
                dirty.update(*(predecessors[number] for number in part))


def _depth_first(root: int, successors: list[list[int]]) -> list[int]:
    order: dict[int, None] = {}
    stack = [root]
    while stack:
        number = stack.pop()
        if number not in order:
            order[number] = None
            stack.extend(reversed(successors[number]))
    return list(order)
