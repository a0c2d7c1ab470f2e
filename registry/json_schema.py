"""Reading a JSON Schema contract: from parsed JSON to a contract with a name, or a refusal by name.

The order is that of the faults an author should see first, and of what later stages may rely on: size, wording of
every subschema, references, limits, and only then what the whole contract allows.
"""

from collections.abc import Iterator, Mapping
from itertools import islice
from types import MappingProxyType
from typing import Final

from policy.enforcement import EnforcementPolicy
from policy.limits import ContractLimits
from policy.rejection import Rejection, RejectionCode
from registry.canonical import CanonicalForm, write_canonical
from registry.contract import CanonicalContract, ContractKind, JsonValue, Profile
from registry.dialects import Dialect
from registry.digests import annotation_digest, contract_digest
from registry.errors import MAX_REJECTIONS, ContractRejectedError
from registry.graph_builder import build_graph
from registry.measures import node_rejections, observed_limits, patterns_of
from registry.merge import MergedGraph, merge
from registry.pointer_sizes import check_pointers
from registry.references import CONTRACT, Bundle
from registry.satisfiability import least_instance_bytes
from registry.sizes import GraphSizes, graph_sizes, size_rejections
from registry.survey import Survey, survey_document
from registry.text import canonical_json
from registry.translation.mixture import mixture_rejections
from registry.translation.translated import transformation_lines

_NO_DOCUMENTS: Final[Mapping[str, JsonValue]] = MappingProxyType({})
_NO_DIALECTS: Final[Mapping[str, Dialect]] = MappingProxyType({})


def read_json_schema(
    schema: JsonValue,
    *,
    limits: ContractLimits,
    policy: EnforcementPolicy,
    documents: Mapping[str, JsonValue] = _NO_DOCUMENTS,
    dialect: Dialect | None = None,
    document_dialects: Mapping[str, Dialect] = _NO_DIALECTS,
) -> CanonicalContract:
    """The contract that `schema` is. `documents` are approved for references, by absolute URI; nothing is fetched.

    `dialect`, and `document_dialects` by URI, say what is written in texts without a `$schema`; where a text has one,
    the two must agree. Without either it is 2020-12. Raises `ContractRejectedError`, with several rejections where one
    stage found several.
    """
    nesting = _check_text(schema, limits)
    survey = survey_document(schema, document=CONTRACT, policy=policy, dialect=dialect)
    _raise_any(iter(survey.rejections))
    try:
        return _read(survey, documents, document_dialects, limits=limits, policy=policy, nesting=nesting)
    except ContractRejectedError as error:
        raise ContractRejectedError(tuple(map(survey.translation.retold, error.rejections))) from error


def _read(
    survey: Survey,
    documents: Mapping[str, JsonValue],
    dialects: Mapping[str, Dialect],
    *,
    limits: ContractLimits,
    policy: EnforcementPolicy,
    nesting: int,
) -> CanonicalContract:
    """The contract, by its translation. Refusals have pointers into that."""
    translation = survey.translation
    bundle = Bundle(survey, documents, policy, dialects)
    graph = build_graph(bundle, limits)
    _raise_any(mixture_rejections(bundle))
    merged = merge(graph)
    sizes = graph_sizes(merged)
    _raise_any(size_rejections(sizes, limits))
    _raise_any(_keyword_rejections(merged, limits))
    form = write_canonical(merged, limits)
    _check_bytes(len(form.text.encode()), limits)
    least_bytes = least_instance_bytes(merged, limits)
    return CanonicalContract(
        kind=ContractKind.JSON_SCHEMA,
        text=form.text,
        schema=form.schema,
        digest=contract_digest(ContractKind.JSON_SCHEMA, form.text),
        annotation_digest=annotation_digest(graph.annotation_text(limits)),
        profile=_profile(merged, sizes, form, nesting=nesting, least_bytes=least_bytes),
        source_pointers=MappingProxyType(translation.traced(form.source_pointers)),
        annotations=tuple(map(translation.reported, graph.report)),
        documents=bundle.documents,
        transformations=transformation_lines({uri: read.translation for uri, read in bundle.surveys.items()}),
    )


def _check_text(schema: JsonValue, limits: ContractLimits) -> int:
    """The nesting of a text within its limits."""
    nesting = _nesting(schema, limits.max_nesting)
    if nesting > limits.max_nesting:
        message = "Arrays and objects are nested too deeply."
        raise _limit("max_nesting", limits.max_nesting, nesting, message)
    _check_bytes(len(canonical_json(schema).encode()), limits)
    check_pointers(schema, limits)
    return nesting


def _check_bytes(observed: int, limits: ContractLimits) -> None:
    if observed > limits.max_contract_bytes:
        message = "The contract is too long, written compactly."
        raise _limit("max_contract_bytes", limits.max_contract_bytes, observed, message)


def _nesting(value: JsonValue, enough: int) -> int:
    """How deep arrays and objects are nested; stops counting just past `enough`."""
    depth = 0
    level = [value]
    while level and depth <= enough:
        level = [
            child
            for parent in level
            if isinstance(parent, list | dict)
            for child in (parent.values() if isinstance(parent, dict) else parent)
            if isinstance(child, list | dict)
        ]
        depth += 1
    return depth if isinstance(value, list | dict) else 0


def _limit(name: str, limit: int, observed: int, message: str) -> ContractRejectedError:
    rejection = Rejection(
        code=RejectionCode.LIMIT_EXCEEDED, message=message, limit_name=name, limit=limit, observed=observed
    )
    return ContractRejectedError((rejection,))


def _keyword_rejections(merged: MergedGraph, limits: ContractLimits) -> Iterator[Rejection]:
    for number in merged.classes:
        yield from node_rejections(merged.graph.nodes[number], limits)


def _raise_any(rejections: Iterator[Rejection]) -> None:
    found = tuple(islice(rejections, MAX_REJECTIONS))
    if found:
        raise ContractRejectedError(found)


def _profile(merged: MergedGraph, sizes: GraphSizes, form: CanonicalForm, *, nesting: int, least_bytes: int) -> Profile:
    contract_bytes = len(form.text.encode())
    nodes = [merged.graph.nodes[number] for number in merged.classes]
    enums = [node.assertions.get("enum") for node in nodes]
    return Profile(
        contract_bytes=contract_bytes,
        depth=sizes.num_hops,
        num_subschemas=sizes.num_subschemas,
        num_enum_members=sum(len(values) for values in enums if isinstance(values, list)),
        max_pattern_bytes=max(
            (len(pattern.encode()) for node in nodes for _, pattern, _ in patterns_of(node)), default=0
        ),
        num_references=form.num_references,
        is_recursive=sizes.is_recursive,
        observed=MappingProxyType(
            observed_limits(nodes)
            | {
                "max_contract_bytes": contract_bytes,
                "max_nesting": nesting,
                "max_path": sizes.num_hops,
                "max_subschemas": sizes.num_subschemas,
                "max_unfolded_subschemas": sizes.num_unfolded,
                "max_dynamic_names": merged.graph.num_dynamic_names,
                "max_scoped_subschemas": merged.graph.num_scoped,
                "max_shortest_instance_bytes": least_bytes,
            }
        ),
    )
