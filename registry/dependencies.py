"""The texts of registered contracts that one contract refers to, and how they are pinned to it.

Two ways lead to a registered contract: a `schemagate:` URI in the text, and a URI of the author's choosing that is
registered beside the text as the name of a pinned revision (a Confluent reference). Either way the revision that was
found is remembered, and later readings ask for exactly that one: nothing that moves is asked twice.
"""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from policy.limits import ReferenceLimits
from policy.rejection import Rejection, RejectionCode
from registry.canonical import read_canonical
from registry.contract import ContractKind, JsonValue
from registry.contract_references import ContractReference, contract_uri, is_contract_uri, read_contract_uri
from registry.dialects import Dialect
from registry.errors import ContractRejectedError, StaleRevisionError
from registry.identifiers import RevisionId, TenantId
from registry.naming import ByDigest, ByNumber
from registry.parsing import parse_json
from registry.reference_closure import FoundContract, references_of
from registry.revision import Dependency, Revision, RevisionState
from registry.store.bounds import MAX_SOURCE_BYTES
from registry.store.contracts import ContractStore
from registry.store.records import ServedRevision

MAX_SOURCE_NESTING = 320
"""As deep as any canonical text."""

_USABLE = frozenset({RevisionState.ACTIVE, RevisionState.DEPRECATED})
"""What a new revision may lean on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """Texts for the reader, by URI, and the revision behind each."""

    documents: Mapping[str, JsonValue]
    pins: Mapping[str, Dependency]

    def used(self, uris: Iterable[str]) -> tuple[Dependency, ...]:
        """The pins of the texts that the reader has used."""
        return tuple(self.pins[uri] for uri in uris if uri in self.pins)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependencies:
    """Reads them from the store."""

    contracts: ContractStore

    async def gather(
        self,
        viewer: TenantId,
        kind: ContractKind,
        definition: JsonValue,
        *,
        references: Mapping[str, ByNumber],
        limits: ReferenceLimits,
    ) -> Gathered:
        """Whatever a definition may refer to and `viewer` may see. `references` are the author's own URIs.

        What is not there, or not visible, is left out: the reader refuses the reference to it, at its place.
        Raises `ContractRejectedError`: a limit, a name that means two revisions, a dialect that cannot be told.
        """
        documents: dict[str, JsonValue] = {}
        pins: dict[str, Dependency] = {}
        if len(references) > limits.max_referenced_contracts:
            raise _over("max_referenced_contracts", limits.max_referenced_contracts, len(references))
        num_bytes = 0
        for uri, reference in references.items():
            if is_contract_uri(uri) or not uri or "#" in uri:
                raise _refused("A reference is named by a URI without fragment, not in the scheme `schemagate:`.")
            revision = await self._usable(viewer, reference)
            if revision is None:
                continue
            for pin in (_pin(uri, revision), *revision.dependencies):
                if pins.setdefault(pin.uri, pin).revision_id != pin.revision_id:
                    raise _refused(f"{pin.uri[:200]!r} names two different revisions.")
                stored = await self._pinned(pin.revision_id)
                num_bytes += len(stored.source_text)
                if num_bytes > limits.max_referenced_bytes:
                    raise _over("max_referenced_bytes", limits.max_referenced_bytes, num_bytes)
                documents[pin.uri] = await asyncio.to_thread(_document, pin.uri, stored)
        closure = references_of({"allOf": [_schemas(kind, definition), *documents.values()]}, limits)
        while closure.wanted:
            found: dict[ContractReference, FoundContract] = {}
            for wanted in closure.wanted:
                revision = await self._usable(viewer, wanted)
                if revision is not None:
                    uri = contract_uri(wanted)
                    pins[uri] = _pin(uri, revision)
                    document = await asyncio.to_thread(_document, uri, revision)
                    found[wanted] = FoundContract(document=document, num_bytes=len(_text(uri, revision)))
            closure = closure.with_found(found)
        return Gathered(documents={**documents, **closure.documents}, pins=pins)

    async def stored(self, revision: Revision) -> Mapping[str, JsonValue]:
        """The texts that a stored revision was read with. Raises `StaleRevisionError` if one is gone."""
        documents: dict[str, JsonValue] = {}
        for pin in revision.dependencies:
            stored = await self._pinned(pin.revision_id)
            documents[pin.uri] = await asyncio.to_thread(_document, pin.uri, stored)
        return documents

    async def _usable(self, viewer: TenantId, reference: ContractReference) -> Revision | None:
        served = await self.contracts.serving(viewer, reference)
        if not isinstance(served, ServedRevision):
            return None
        if served.status.tombstoned_at is not None or served.contract.tombstoned_at is not None:
            return None
        return served.revision if served.status.state in _USABLE else None

    async def _pinned(self, revision_id: RevisionId) -> Revision:
        stored = await self.contracts.revision_by_id(revision_id)
        if stored is None:
            raise StaleRevisionError("a contract that the revision refers to is no longer in the registry")
        return stored.revision


def _pin(uri: str, revision: Revision) -> Dependency:
    return Dependency(uri=uri, digest=revision.digest, revision_id=revision.revision_id)


def _text(uri: str, revision: Revision) -> str:
    """The text that a URI means: a digest names the canonical one, whatever the author's spelling."""
    is_digest = isinstance(read_contract_uri(uri), ByDigest)
    return revision.canonical_text if is_digest else revision.source_text


def _document(uri: str, revision: Revision) -> JsonValue:
    text = _text(uri, revision)
    if text is revision.canonical_text:
        return read_canonical(text)
    document = parse_json(text, max_bytes=MAX_SOURCE_BYTES, max_nesting=MAX_SOURCE_NESTING)
    says_itself = isinstance(document, dict) and "$schema" in document
    if revision.dialect not in {None, Dialect.DRAFT_2020_12.value} and not says_itself:
        # Its text alone would be read as 2020-12, and mean something else.
        raise _refused(
            f"{revision.name}@{revision.number} was registered as {revision.dialect}, which its text does not say: "
            "refer to it by its digest."
        )
    return document


def _schemas(kind: ContractKind, definition: JsonValue) -> JsonValue:
    """A schema that refers to all that the definition refers to; for other kinds wherever a `$ref` may stand."""
    if kind is ContractKind.JSON_SCHEMA:
        return definition
    referring: list[JsonValue] = []
    pending = [definition]
    while pending:
        node = pending.pop()
        if isinstance(node, dict):
            if isinstance(node.get("$ref"), str):
                referring.append({"$ref": node["$ref"]})
            pending.extend(node.values())
        elif isinstance(node, list):
            pending.extend(node)
    return {"allOf": referring}


def _refused(message: str) -> ContractRejectedError:
    rejection = Rejection(code=RejectionCode.UNRESOLVED_REFERENCE, message=message, keyword="$ref")
    return ContractRejectedError((rejection,))


def _over(name: str, limit: int, observed: int) -> ContractRejectedError:
    message = "The contract brings in too much by references to other contracts."
    rejection = Rejection(
        code=RejectionCode.LIMIT_EXCEEDED, message=message, limit_name=name, limit=limit, observed=observed
    )
    return ContractRejectedError((rejection,))
