"""From surveyed documents to a graph: every subschema that the root reaches becomes a node."""

from collections.abc import Iterator
from itertools import pairwise

from policy.enforcement import EnforcementPolicy, KeywordStatus, ReportEntry
from policy.rejection import Rejection, RejectionCode
from registry.components import depth_first_edges
from registry.contract import JsonValue
from registry.errors import MAX_REJECTIONS, ContractRejectedError
from registry.graph import Edge, Node, Path, SchemaGraph, without_aliases
from registry.keywords import ANNOTATIONS, APPLICATORS, ASSERTIONS, IN_PLACE, KNOWN_FORMATS, SHAPES, Shape
from registry.normal import normal_assertion
from registry.pointers import join
from registry.references import CONTRACT, Bundle
from registry.survey import Location, SchemaObject
from registry.text import canonical_json, member_order, sorted_members

_REFERENCES = ("$ref", "$dynamicRef")
# Keywords that say nothing without another one beside them.
_COMPANIONS = {"then": "if", "else": "if", "minContains": "contains", "maxContains": "contains"}
_APPLICATORS = tuple(sorted(APPLICATORS))


def build_graph(bundle: Bundle, policy: EnforcementPolicy) -> SchemaGraph:
    """Raises `ContractRejectedError`, with several rejections at once: references, and cycles of them."""
    return _GraphBuilder(bundle, policy).build()


class _GraphBuilder:
    def __init__(self, bundle: Bundle, policy: EnforcementPolicy) -> None:
        self._bundle = bundle
        self._policy = policy
        self._numbers: dict[tuple[str, str], int] = {}
        self._places: list[tuple[Location, str]] = []
        self._rejections: list[Rejection] = []
        self._report: list[ReportEntry] = []
        self._dynamic: list[tuple[str, str, str]] = []

    def build(self) -> SchemaGraph:
        self._number(self._bundle.root, "")
        nodes: list[Node] = []
        while len(nodes) < len(self._places) and len(self._rejections) < MAX_REJECTIONS:
            nodes.append(self._node(*self._places[len(nodes)]))
        for reference, base, pointer in self._dynamic:
            # Again, now that every document is known: another may have brought a second place of that name.
            self._target("$dynamicRef", reference, base, pointer)
        if self._rejections:
            raise ContractRejectedError(tuple(dict.fromkeys(self._rejections)))
        _refuse_idle_cycles(nodes)
        short, root = without_aliases(nodes)
        return SchemaGraph(nodes=short, root=root, report=tuple(self._report), annotation_text=_annotation_text(nodes))

    def _number(self, location: Location, source: str) -> int:
        key = (location.document, location.pointer)
        if key not in self._numbers:
            self._numbers[key] = len(self._places)
            self._places.append((location, location.pointer if location.document == CONTRACT else source))
        return self._numbers[key]

    def _node(self, location: Location, source: str) -> Node:
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
                self._report.append(ReportEntry(pointer=pointer, keyword=keyword, status=status))
        return Node(
            source=source,
            is_remote=is_remote,
            accepts_nothing=False,
            assertions=assertions,
            edges=tuple(self._edges(location, source, annotations)),
            annotations=annotations,
        )

    @staticmethod
    def _says_nothing(keyword: str, value: JsonValue, schema: SchemaObject) -> bool:
        if keyword == "format":
            return value not in KNOWN_FORMATS
        if keyword in _COMPANIONS:
            return _COMPANIONS[keyword] not in schema
        return keyword in ANNOTATIONS or keyword not in SHAPES

    def _edges(self, location: Location, source: str, idle: dict[str, JsonValue]) -> Iterator[Edge]:
        schema = location.schema
        assert not isinstance(schema, bool)
        references = list(self._reference_edges(location, schema, source))
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
                yield Edge(path=path, target=self._number(child, source), source=place)

    def _reference_edges(self, location: Location, schema: SchemaObject, source: str) -> Iterator[Edge]:
        is_remote = location.document != CONTRACT
        index = 0
        for keyword in _REFERENCES:
            reference = schema.get(keyword)
            if not isinstance(reference, str):
                continue
            pointer = source if is_remote else join(source, keyword)
            if keyword == "$dynamicRef":
                self._dynamic.append((reference, location.base, pointer))
            target = self._target(keyword, reference, location.base, pointer)
            if target is not None:
                number = self._number(target, pointer)
                yield Edge(path=("allOf", index), target=number, source=pointer, reference=pointer)
                index += 1

    def _target(self, keyword: str, reference: str, base: str, pointer: str) -> Location | None:
        find = self._bundle.resolve if keyword == "$ref" else self._bundle.dynamic_target
        try:
            return find(reference, base=base, pointer=pointer)
        except ContractRejectedError as error:
            self._rejections.extend(error.rejections)
            return None


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
    for way, back in depth_first_edges(start, successors):
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
                Rejection(code=RejectionCode.UNGUARDED_REF_CYCLE, message=message, pointer=pointer, keyword="$ref")
                for pointer in pointers
            )
        )


def _annotation_text(nodes: list[Node]) -> str:
    """The annotations by their way from the root; references are no step, so several schemas may share a way."""
    found: dict[str, JsonValue] = {}
    seen = {0}
    stack: list[tuple[int, str]] = [(0, "")]
    while stack:
        number, way = stack.pop()
        node = nodes[number]
        if node.annotations:
            entries = found.setdefault(way, [])
            assert isinstance(entries, list)
            entries.append(dict(node.annotations))
        for edge in reversed(node.edges):
            if edge.target not in seen:
                seen.add(edge.target)
                stack.append((edge.target, way if edge.reference is not None else join(way, *edge.path)))
    return canonical_json(sorted_members(found))
