"""The canonical form: one text for a schema, however its author laid it out.

Subschemas are written depth first. A subschema stands in `$defs`, under a name by order of first use, if it is used
more than once and is recursive or more than `SMALL` long; or if it would stand more than `MAX_INLINE_HOPS` deep in
one definition, which keeps the text shallow. All of that is decided on the merged graph, so a definition and its
copies cannot be told apart.
"""

from dataclasses import dataclass
from typing import Final

from policy.limits import ContractLimits
from registry.contract import JsonValue
from registry.graph import Edge, Node
from registry.merge import MergedGraph
from registry.parsing import parse_json
from registry.pointer_sizes import PointerMeter
from registry.pointers import join
from registry.text import canonical_json, member_order

SMALL: Final = 64
"""Characters, about: what is shorter is repeated rather than referred to, which keeps grammars quick."""
MAX_INLINE_HOPS: Final = 12
MAX_CANONICAL_NESTING: Final = 320
"""JSON nesting of a canonical text: `MAX_INLINE_HOPS` applicators, and values as nested as any limits allow."""
MAX_CANONICAL_BYTES: Final = 64 * 1024 * 1024
"""Above any canonical text of a contract within any limits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CanonicalForm:
    """The canonical schema, its text, and where each part of it came from (`CanonicalContract.source_pointers`)."""

    schema: JsonValue
    text: str
    source_pointers: dict[str, str]
    num_references: int


def write_canonical(merged: MergedGraph, limits: ContractLimits) -> CanonicalForm:
    """Write a merged graph out. Raises `ContractRejectedError` if all pointers into it are too long together."""
    return _Writer(merged, PointerMeter(limits)).write()


def read_canonical(text: str) -> JsonValue:
    """The schema of a canonical text, exactly as it was written. Raises `ContractRejectedError` if it is not JSON."""
    return parse_json(text, max_bytes=MAX_CANONICAL_BYTES, max_nesting=MAX_CANONICAL_NESTING)


class _Writer:
    def __init__(self, merged: MergedGraph, meter: PointerMeter) -> None:
        self._merged = merged
        self._meter = meter
        self._shared = _shared(merged)
        self._names: dict[int, str] = {}
        self._queue: list[tuple[str, int]] = []
        self._sources: dict[str, str] = {}
        self._num_references = 0

    def write(self) -> CanonicalForm:
        root = self._merged.graph.root
        if self._merged.root in self._shared:
            schema: JsonValue = self._reference(root)
            # The caller's root may have been a reference itself, or the recursion's own first schema.
            was_reference = self._node(0).alias is not None
            self._sources["/$ref"] = (self._node(0).edges[0].reference if was_reference else None) or ""
            self._sources[""] = ""
        else:
            schema = self._body(root, "", 0)
        definitions: dict[str, JsonValue] = {}
        while len(definitions) < len(self._queue):
            name, number = self._queue[len(definitions)]
            definitions[name] = self._body(number, join("/$defs", name), 0)
        if definitions:
            assert isinstance(schema, dict)
            schema["$defs"] = {name: definitions[name] for name in sorted(definitions, key=member_order)}
            schema = {name: schema[name] for name in sorted(schema, key=member_order)}
        return CanonicalForm(
            schema=schema,
            text=canonical_json(schema),
            source_pointers=self._sources,
            num_references=self._num_references,
        )

    def _trace(self, pointer: str, source: str) -> None:
        self._meter.add(len(pointer))
        self._sources[pointer] = source

    def _node(self, number: int) -> Node:
        return self._merged.graph.nodes[number]

    def _child(self, edge: Edge, pointer: str, hops: int) -> JsonValue:
        number = self._merged.representative[edge.target]
        is_deep = hops > MAX_INLINE_HOPS and bool(self._node(number).edges)
        if number not in self._shared and not is_deep:
            return self._body(edge.target, pointer, hops)
        self._trace(pointer, edge.source)
        self._trace(join(pointer, "$ref"), edge.dissolved or edge.source)
        return self._reference(edge.target)

    def _reference(self, number: int) -> dict[str, JsonValue]:
        known = self._merged.representative[number]
        if known not in self._names:
            self._names[known] = f"d{len(self._names)}"
            self._queue.append((self._names[known], number))
        self._num_references += 1
        return {"$ref": f"#/$defs/{self._names[known]}"}

    def _body(self, number: int, pointer: str, hops: int) -> JsonValue:
        node = self._node(number)
        self._trace(pointer, node.source)
        if node.accepts_nothing:
            return False
        if not node.assertions and not node.edges:
            return True
        schema: dict[str, JsonValue] = {}
        keywords = {*node.assertions, *(edge.keyword for edge in node.edges)}
        for keyword in sorted(keywords, key=member_order):
            own = join(pointer, keyword)
            if node.pointer_of(keyword) != join(node.source, keyword):
                self._trace(own, node.pointer_of(keyword))
            if keyword in node.assertions:
                schema[keyword] = node.assertions[keyword]
            else:
                schema[keyword] = self._children(node.edges_of(keyword), pointer, hops)
        return schema

    def _children(self, edges: list[Edge], pointer: str, hops: int) -> JsonValue:
        children = [self._child(edge, join(pointer, *edge.path), hops + 1) for edge in edges]
        if edges[0].key is None:
            return children[0]
        if isinstance(edges[0].key, int):
            return children
        return {str(edge.key): child for edge, child in zip(edges, children, strict=True)}


def _shared(merged: MergedGraph) -> frozenset[int]:
    """The classes that stand in `$defs` wherever they are used."""
    uses = dict.fromkeys(merged.classes, 0)
    uses[merged.root] = 1  # every cycle has a class that is used from outside it, or is the root: so it has two uses
    for targets in merged.successors.values():
        for target in targets:
            uses[target] += 1
    lengths = _lengths(merged)
    return frozenset(
        number
        for number, count in uses.items()
        if count > 1 and (merged.is_recursive(number) or lengths[number] > SMALL)
    )


def _lengths(merged: MergedGraph) -> dict[int, int]:
    """How long each class would be with everything it uses written in place; above `SMALL`, some number above it."""
    lengths: dict[int, int] = {}
    for group, is_cyclic in zip(merged.components.groups, merged.components.is_cyclic, strict=True):
        for number in group:
            node = merged.graph.nodes[number]
            own = len(canonical_json(dict(node.assertions)))
            if not is_cyclic:
                own += sum(lengths[target] for target in merged.successors[number])
                own += sum(len(str(token)) + 4 for edge in node.edges for token in edge.path)
            lengths[number] = SMALL + 1 if is_cyclic else min(own, SMALL + 1)
    return lengths
