"""References from one registered contract to another: `schemagate:` URIs that can never come to mean something else.

    schemagate:sha256:<64 hex>            the canonical text of that digest
    schemagate:<name>@<number>            a revision of the owner of the text that the reference stands in
    schemagate:<tenant>/<name>@<number>   a revision of another owner

Each may carry a fragment: a JSON Pointer or an anchor. An alias moves, so a reference to one is refused: a contract's
meaning would move with it. A digest stands for many texts; a fragment behind it leads into the canonical one.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final, TypeAlias

from registry.contract import JsonValue
from registry.naming import ByAlias, ByDigest, ByNumber, read_reference
from registry.schema_positions import subschemas

SCHEME: Final = "schemagate:"

_OLDER_POSITIONS: Final = ("items", "additionalItems", "dependencies")
"""Where older dialects have schemas (in arrays, by name, or alone) that 2020-12 does not look for."""

ContractReference: TypeAlias = ByDigest | ByNumber
"""A contract that is meant for ever."""


def is_contract_uri(reference: str) -> bool:
    """Whether a URI reference is written in the scheme of registered contracts, well or not."""
    return reference[: len(SCHEME)].lower() == SCHEME


def read_contract_uri(uri: str) -> ContractReference | ByAlias | None:
    """What a URI without fragment refers to: pinned, by a name that moves, or (`None`) nothing in the grammar.

    One contract has one spelling: lower case in scheme and digest, no percent escapes, no leading zeros.
    """
    if not uri.startswith(SCHEME):
        return None
    reference = read_reference(uri.removeprefix(SCHEME))
    if isinstance(reference, ByDigest) and reference.name is not None:
        return None
    return reference


def contract_uri(reference: ContractReference) -> str:
    """The one spelling of a reference."""
    match reference:
        case ByDigest():
            return f"{SCHEME}{reference.digest}"
        case ByNumber():
            owner = "" if reference.owner is None else f"{reference.owner}/"
            return f"{SCHEME}{owner}{reference.name}@{reference.number}"


def seen_from(document: str, reference: ContractReference) -> ContractReference:
    """The reference as the first contract's reader would write it, where `document` is the URI it stands in.

    A name without an owner is one of its text's own owner: in a text of another tenant, of that tenant.
    """
    within = read_contract_uri(document)
    if isinstance(reference, ByNumber) and reference.owner is None and isinstance(within, ByNumber):
        return replace(reference, owner=within.owner)
    return reference


def referenced_contracts(schema: JsonValue, *, document: str = "") -> tuple[ContractReference, ...]:
    """Every contract that a schema refers to, each once, in the order of the text; `document` is the schema's own URI.

    Only schema positions count, those of older dialects included. References that are not pinned are left out: the
    reader refuses them where they are reached. Linear, and without recursion.
    """
    found: dict[ContractReference, None] = {}
    for written in _written_references(schema):
        uri, _, _ = written.partition("#")
        reference = read_contract_uri(uri)
        if isinstance(reference, ByDigest | ByNumber):
            found[seen_from(document, reference)] = None
    return tuple(found)


def _written_references(schema: JsonValue) -> Iterator[str]:
    pending = [schema]
    while pending:
        node = pending.pop()
        if not isinstance(node, dict):
            continue
        for keyword in ("$ref", "$dynamicRef"):
            value = node.get(keyword)
            if isinstance(value, str):
                yield value
        pending.extend(reversed([*(child for _, child in subschemas(node)), *_older_subschemas(node)]))


def _older_subschemas(node: dict[str, JsonValue]) -> Iterator[JsonValue]:
    for keyword in _OLDER_POSITIONS:
        match node.get(keyword):
            case list() as several:
                yield from several
            case dict() as one if keyword == "additionalItems":
                yield one
            case dict() as named if keyword == "dependencies":
                yield from named.values()
    components = node.get("components")
    schemas = components.get("schemas") if isinstance(components, dict) else None
    if isinstance(schemas, dict):  # an OpenAPI document with the references into it
        yield from schemas.values()
