"""From surveyed documents to a graph: every subschema that the root reaches becomes a node."""

from collections.abc import Iterator, Mapping
from itertools import islice, pairwise

from policy.enforcement import KeywordStatus, ReportEntry
from policy.limits import ContractLimits
from policy.rejection import Rejection, RejectionCode
from registry.components import depth_first_edges
from registry.contract import JsonValue
from registry.dynamic_scope import OUTSIDE, Place, Scope, entered, place_of
from registry.errors import MAX_REJECTIONS, ContractRejectedError
from registry.graph import Edge, Node, Path, SchemaGraph, without_aliases
from registry.keywords import ANNOTATIONS, APPLICATORS, ASSERTIONS, IN_PLACE, KNOWN_FORMATS, SHAPES, Shape
from registry.normal import normal_assertion
from registry.pointers import join
from registry.references import CONTRACT, Bundle, dynamic_name
from registry.schema_positions import SchemaObject
from registry.survey import Location
from registry.text import member_order

_REFERENCES = ("$ref", "$dynamicRef")
# Keywords that say nothing without another one beside them.
_COMPANIONS = {"then": "if", "else": "if", "minContains": "contains", "maxContains": "contains"}
_APPLICATORS = tuple(sorted(APPLICATORS))
_MAX_CYCLES = 64
"""Cycles that are looked at for the references that close them."""


def build_graph(bundle: Bundle, limits: ContractLimits) -> SchemaGraph:
    """Raises `ContractRejectedError`, with several rejections at once: references, and cycles of them.

    Which names of `$dynamicAnchor`s matter is known only when the `$dynamicRef`s that are reached have been seen. So
    the graph is built again with the names that were found, until there are no more: rarely more than twice.
    """
    names: frozenset[str] = frozenset()
    while True:
        builder = _GraphBuilder(bundle, limits, names)
        nodes = builder.nodes()
        if builder.names == names:
            return builder.finished(nodes)
        names = builder.names


class _GraphBuilder:
    def __init__(self, bundle: Bundle, limits: ContractLimits, names: frozenset[str]) -> None:
        self._bundle = bundle
        self._limits = limits
        self._tracked = names
        self.names = names
        self._numbers: dict[tuple[Place, Scope], int] = {}
        self._places: list[tuple[Location, str, Scope]] = []
        self._known: set[Place] = set()
        self._rejections: dict[Rejection, None] = {}
        self._report: dict[ReportEntry, None] = {}

    def nodes(self) -> list[Node]:
        """A node for each subschema that is reached, in each scope it is reached in. The root is the first."""
        self._number(self._bundle.root, "", OUTSIDE)
        nodes: list[Node] = []
        while len(nodes) < len(self._places) and len(self._rejections) < MAX_REJECTIONS:
            nodes.append(self._node(*self._places[len(nodes)]))
            self._check("max_dynamic_names", self._limits.max_dynamic_names, len(self.names))
            self._check("max_scoped_subschemas", self._limits.max_scoped_subschemas, self._num_scoped)
        return nodes

    @property
    def _num_scoped(self) -> int:
        return len(self._places) - len(self._known)

    @staticmethod
    def _check(name: str, limit: int, observed: int) -> None:
        if observed > limit:
            rejection = Rejection(
                code=RejectionCode.LIMIT_EXCEEDED,
                message="What `$dynamicRef`s mean depends on too many ways.",
                keyword="$dynamicRef",
                limit_name=name,
                limit=limit,
                observed=observed,
            )
            raise ContractRejectedError((rejection,))

    def finished(self, nodes: list[Node]) -> SchemaGraph:
        """The graph of all nodes, if no reference was refused."""
        if self._rejections:
            raise ContractRejectedError(tuple(self._rejections))
        _refuse_idle_cycles(nodes)
        short, root = without_aliases(nodes)
        return SchemaGraph(
            nodes=short,
            root=root,
            report=tuple(self._report),
            written=tuple(nodes),
            num_dynamic_names=len(self.names),
            num_scoped=self._num_scoped,
        )

    def _number(self, location: Location, source: str, scope: Scope) -> int:
        """The node of a subschema that is reached in `scope`, its own resource not yet entered."""
        if self._tracked:
            scope = entered(scope, self._bundle.dynamic_anchors(location), self._tracked)
        place = (location.document, location.pointer)
        key = (place, scope)
        if key not in self._numbers:
            self._numbers[key] = len(self._places)
            self._known.add(place)
            self._places.append((location, location.pointer if location.document == CONTRACT else source, scope))
        return self._numbers[key]

    def _node(self, location: Location, source: str, scope: Scope) -> Node:
        is_remote = location.document != CONTRACT
        schema = location.schema
        if isinstance(schema, bool):
            return Node(
                source=source, is_remote=is_remote, accepts_nothing=not schema, assertions={}, edges=(), annotations={}
            )
        assertions: dict[str, JsonValue] = {}
        annotations: dict[str, JsonValue] = {}
        for keyword in sorted(schema, key=member_order):
            value = schema[keyword]
            if self._says_nothing(keyword, value, schema):
                annotations[keyword] = value
            elif keyword in ASSERTIONS:
                assertions[keyword] = normal_assertion(keyword, value)
            elif keyword in APPLICATORS and not _is_empty(keyword, value):
                continue
            if keyword not in assertions and not is_remote:
                is_kept = keyword in _REFERENCES or (keyword in APPLICATORS and keyword not in annotations)
                status = KeywordStatus.ENFORCED if is_kept else KeywordStatus.ANNOTATION
                pointer = join(source, keyword)
                self._report[ReportEntry(pointer=pointer, keyword=keyword, status=status)] = None
        return Node(
            source=source,
            is_remote=is_remote,
            accepts_nothing=False,
            assertions=assertions,
            edges=tuple(self._edges(location, source, scope, annotations)),
            annotations=annotations,
        )

    @staticmethod
    def _says_nothing(keyword: str, value: JsonValue, schema: SchemaObject) -> bool:
        if keyword == "format":
            return value not in KNOWN_FORMATS
        if keyword in _COMPANIONS:
            return _COMPANIONS[keyword] not in schema
        return keyword in ANNOTATIONS or keyword not in SHAPES

    def _edges(self, location: Location, source: str, scope: Scope, idle: Mapping[str, JsonValue]) -> Iterator[Edge]:
        schema = location.schema
        assert not isinstance(schema, bool)
        references = list(self._reference_edges(location, schema, source, scope))
        for keyword in _APPLICATORS:
            if keyword == "allOf":
                yield from references
            if keyword not in schema or keyword in idle:
                continue
            shift = len(references) if keyword == "allOf" else 0
            for path, token in _child_paths(keyword, schema[keyword], shift):
                pointer = join(location.pointer, *token)
                child = self._bundle.location(location.document, pointer)
                place = source if location.document != CONTRACT else pointer
                yield Edge(path=path, target=self._number(child, source, scope), source=place)

    def _reference_edges(self, location: Location, schema: SchemaObject, source: str, scope: Scope) -> Iterator[Edge]:
        is_remote = location.document != CONTRACT
        index = 0
        for keyword in _REFERENCES:
            reference = schema.get(keyword)
            if not isinstance(reference, str):
                continue
            pointer = source if is_remote else join(source, keyword)
            try:
                target = self._bundle.resolve(reference, at=location, pointer=pointer)
            except ContractRejectedError as error:
                self._rejections.update(dict.fromkeys(error.rejections))
                continue
            if keyword == "$dynamicRef":
                target = self._on_this_way(reference, target, scope)
            number = self._number(target, pointer, scope)
            yield Edge(path=("allOf", index), target=number, source=pointer, reference=pointer)
            index += 1

    def _on_this_way(self, reference: str, target: Location, scope: Scope) -> Location:
        """Where a `$dynamicRef` leads in `scope`, that initially leads to `target`."""
        name = dynamic_name(reference, target)
        if name is None:
            return target
        self.names |= {name}
        place = place_of(scope, name)
        return target if place is None else self._bundle.location(*place)


def _is_empty(keyword: str, value: JsonValue) -> bool:
    """Whether an applicator has no subschema at all: it asserts nothing, and leaves no trace in the graph."""
    return SHAPES[keyword] is Shape.SCHEMAS_BY_NAME and not value


def _child_paths(keyword: str, value: JsonValue, shift: int) -> Iterator[tuple[Path, tuple[str | int, ...]]]:
    """Each child's canonical path and its place in the text; sorted, but for `properties`, where order counts."""
    match SHAPES[keyword], value:
        case Shape.SCHEMAS, list():
            yield from (((keyword, index + shift), (keyword, index)) for index in range(len(value)))
        case Shape.SCHEMAS_BY_NAME, dict():
            names = value if keyword == "properties" else sorted(value, key=member_order)
            yield from (((keyword, name), (keyword, name)) for name in names)
        case _:
            yield (keyword,), (keyword,)


def _refuse_idle_cycles(nodes: list[Node]) -> None:
    """A cycle of references and in-place applicators never comes to look at a smaller part of the instance."""
    if not any(edge.reference for node in nodes for edge in node.edges):
        return
    in_place = [[edge for edge in node.edges if edge.keyword in IN_PLACE] for node in nodes]
    start = len(nodes)
    successors = [[edge.target for edge in edges] for edges in in_place]
    successors.append(list(range(len(nodes))))
    pointers: dict[str, None] = {}
    # Each cycle is as long as its author likes, and many may be closed by one reference.
    for way, back in islice(depth_first_edges(start, successors), _MAX_CYCLES):
        cycle = [*way[way.index(back) :], back]
        steps = [next(e for e in in_place[node] if e.target == follower) for node, follower in pairwise(cycle)]
        closing = [edge.reference for edge in steps if edge.reference is not None]
        pointers[closing[-1]] = None
        if len(pointers) == MAX_REJECTIONS:
            break
    if pointers:
        message = "The reference closes a cycle that never moves on to a part of the instance; no validator could end."
        raise ContractRejectedError(
            tuple(
                Rejection(
                    code=RejectionCode.UNGUARDED_REF_CYCLE,
                    message=message,
                    pointer=pointer,
                    keyword="$dynamicRef" if pointer.endswith("/$dynamicRef") else "$ref",
                )
                for pointer in pointers
            )
        )
