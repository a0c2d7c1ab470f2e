"""A schema as a graph: subschemas are nodes, applicators are edges, references are followed.

What depends on how a caller laid the text out ends here: a schema that is only a reference *is* its target, and a
reference with siblings is one more member of `allOf`, which is what 2020-12 makes of it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from policy.enforcement import ReportEntry
from policy.limits import ContractLimits
from registry.contract import JsonValue
from registry.pointer_sizes import PointerMeter
from registry.pointers import join
from registry.text import canonical_json, sorted_members

Path: TypeAlias = tuple[str | int, ...]
"""Where a child hangs: keyword, and index or name if it has several."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """One child. `source` is where the caller wrote it; pointers are the caller's."""

    path: Path
    target: int
    source: str
    reference: str | None = None
    """The reference that this edge is."""
    dissolved: str | None = None
    """The reference that the caller wrote in the child's place, when the child was only that."""

    @property
    def keyword(self) -> str:
        """The applicator."""
        return str(self.path[0])

    @property
    def key(self) -> str | int | None:
        """Index or name beneath the applicator; `None` where it takes one schema."""
        return self.path[1] if len(self.path) > 1 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One subschema as the caller wrote it, without annotations.

    `source` is its pointer in the caller's text; for a subschema of another document, the pointer of the reference
    that led out of the caller's text (`is_remote`).
    """

    source: str
    is_remote: bool
    accepts_nothing: bool
    assertions: Mapping[str, JsonValue]
    edges: tuple[Edge, ...]
    annotations: Mapping[str, JsonValue]

    @property
    def alias(self) -> int | None:
        """The target of a schema that is only a reference."""
        if self.assertions or len(self.edges) != 1 or self.edges[0].reference is None:
            return None
        return self.edges[0].target

    def edges_of(self, keyword: str) -> list[Edge]:
        """The edges of one keyword, in order."""
        return [edge for edge in self.edges if edge.keyword == keyword]

    def pointer_of(self, keyword: str, *rest: str | int) -> str:
        """The caller's pointer of a keyword, or of something in it."""
        if self.is_remote:
            return self.source
        references = [edge.reference for edge in self.edges_of(keyword) if edge.reference is not None]
        if references and not rest:
            return references[0] if len(references) == len(self.edges_of(keyword)) else join(self.source, keyword)
        return join(self.source, keyword, *rest)


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaGraph:
    """All subschemas that the root reaches, and some that only stood on the way (they are no edge's target)."""

    nodes: tuple[Node, ...]
    root: int
    report: tuple[ReportEntry, ...]
    """The keywords that are in no node: annotations, names and references."""
    written: tuple[Node, ...]
    """The same nodes before edges were led past schemas that are only a reference."""
    num_dynamic_names: int
    """Names of `$dynamicAnchor`s that `$dynamicRef`s depend on."""
    num_scoped: int
    """Further copies of subschemas, for other scopes than the first."""

    @property
    def successors(self) -> list[list[int]]:
        """Each node's targets, in the order of its edges."""
        return [[edge.target for edge in node.edges] for node in self.nodes]

    def annotation_text(self, limits: ContractLimits) -> str:
        """The annotations by their way from the root; references are no step, so several schemas may share a way.

        Raises `ContractRejectedError` if all ways together are too long.
        """
        meter = PointerMeter(limits)
        found: dict[str, JsonValue] = {}
        seen = {0}
        # Most ways lead to nothing that is annotated, and are never written.
        stack: list[tuple[int, _Way]] = [(0, ())]
        while stack:
            number, way = stack.pop()
            node = self.written[number]
            if node.annotations:
                written = _written(way)
                meter.add(len(written))
                entries = found.setdefault(written, [])
                assert isinstance(entries, list)
                entries.append(dict(node.annotations))
            for edge in reversed(node.edges):
                if edge.target not in seen:
                    seen.add(edge.target)
                    stack.append((edge.target, way if edge.reference is not None else (way, edge.path)))
        return canonical_json(sorted_members(found))


_Way: TypeAlias = "tuple[()] | tuple[_Way, Path]"


def _written(way: _Way) -> str:
    steps: list[Path] = []
    while way:
        way, step = way
        steps.append(step)
    return "".join(join("", *step) for step in reversed(steps))


def without_aliases(nodes: list[Node]) -> tuple[tuple[Node, ...], int]:
    """The same nodes with every edge leading past aliases, and the root. Chains of aliases must end."""
    target: dict[int, int] = {}
    for start in range(len(nodes)):
        chain = [start]
        while chain[-1] not in target and (step := nodes[chain[-1]].alias) is not None:
            chain.append(step)
        end = target.get(chain[-1], chain[-1])
        target.update(dict.fromkeys(chain, end))
    short = tuple(replace(node, edges=tuple(_shortened(edge, nodes, target) for edge in node.edges)) for node in nodes)
    return short, target[0]


def _shortened(edge: Edge, nodes: list[Node], target: Mapping[int, int]) -> Edge:
    if nodes[edge.target].alias is None:
        return edge
    return replace(edge, target=target[edge.target], dissolved=nodes[edge.target].edges[0].reference)
