"""The texts of registered contracts that one contract refers to, and how they are pinned to it.

Two ways lead to a registered contract: a `schemagate:` URI in the text, and a URI of the author's choosing that is
registered beside the text as the name of a pinned revision (a Confluent reference). Either way the revision that was
found is remembered, and later readings ask for exactly that one: nothing that moves is asked twice.
"""

import asyncio
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial

from policy.limits import GOVERNED, TENANT, ReferenceLimits
from policy.rejection import Rejection, RejectionCode
from registry.canonical import read_canonical
from registry.contract import ContractKind, JsonValue
from registry.contract_references import ContractReference, contract_uri, is_contract_uri, read_contract_uri
from registry.dialects import Dialect
from registry.errors import ContractRejectedError, StaleRevisionError
from registry.identifiers import RevisionId, TenantId
from registry.naming import ByDigest, ByNumber
from registry.parsing import parse_json
from registry.reference_closure import FoundContract, ReferenceClosure, references_of
from registry.revision import Dependency, Revision, RevisionState
from registry.store.bounds import MAX_SOURCE_BYTES, MAX_SOURCE_NESTING
from registry.store.contracts import ContractStore
from registry.store.records import ServedRevision
from registry.turns import Turns

MAX_DEFINITION_BYTES = max(limits.contract.max_contract_bytes for limits in (TENANT, GOVERNED))
"""Of whichever class; the reader holds a contract against the limits of its own."""

_IN_TEXT = re.compile(r"schemagate:[A-Za-z0-9._/@:-]{1,320}", re.ASCII)

_USABLE = frozenset({RevisionState.ACTIVE, RevisionState.DEPRECATED})
"""What a new revision may lean on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Texts:
    """What the reader is handed beside a contract, by URI."""

    documents: Mapping[str, JsonValue]
    dialects: Mapping[str, Dialect]
    """Of documents that were registered in a dialect that their text does not say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """Texts for the reader, and the revision behind each."""

    texts: Texts
    pins: Mapping[str, Dependency]

    def used(self, uris: Iterable[str]) -> tuple[Dependency, ...]:
        """The pins of the texts that the reader has used."""
        return tuple(self.pins[uri] for uri in uris if uri in self.pins)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependencies:
    """Reads them from the store."""

    contracts: ContractStore
    turns: Turns

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
        Raises `ContractRejectedError`: a limit, or a name that means two revisions.
        """
        found = await self._named(viewer, references, limits)
        documents = {uri: await asyncio.to_thread(_document, uri, revision) for uri, revision in found.items()}
        closure = await self._aside(viewer, lambda: _closure(kind, definition, tuple(documents.values()), limits))
        while closure.wanted:
            texts: dict[ContractReference, FoundContract] = {}
            for wanted in closure.wanted:
                revision = await self._usable(viewer, wanted)
                if revision is not None:
                    uri = contract_uri(wanted)
                    found[uri] = revision
                    document = await asyncio.to_thread(_document, uri, revision)
                    texts[wanted] = FoundContract(document=document, num_bytes=len(_text(uri, revision)))
            closure = await self._aside(viewer, partial(closure.with_found, texts))
        return Gathered(
            texts=Texts(documents={**documents, **closure.documents}, dialects=_dialects(found)),
            pins={uri: _pin(uri, revision) for uri, revision in found.items()},
        )

    async def _aside(self, viewer: TenantId, walk: Callable[[], ReferenceClosure]) -> ReferenceClosure:
        """Looking through texts is processor time: not on the event loop, and tenants take turns."""
        async with self.turns.of(viewer):
            return await asyncio.to_thread(walk)

    async def stored(self, revision: Revision) -> Texts:
        """The texts that a stored revision was read with. Raises `StaleRevisionError` if one is gone."""
        found = {pin.uri: await self._pinned(pin.revision_id) for pin in revision.dependencies}
        documents = {uri: await asyncio.to_thread(_document, uri, pinned) for uri, pinned in found.items()}
        return Texts(documents=documents, dialects=_dialects(found))

    async def _named(
        self, viewer: TenantId, references: Mapping[str, ByNumber], limits: ReferenceLimits
    ) -> dict[str, Revision]:
        """The revisions that the author has named, each with those that it was read with itself."""
        if len(references) > limits.max_referenced_contracts:
            raise _over("max_referenced_contracts", limits.max_referenced_contracts, len(references))
        found: dict[str, Revision] = {}
        num_bytes = 0
        for uri, reference in references.items():
            if is_contract_uri(uri) or not uri or "#" in uri:
                raise _refused("A reference is named by a URI without fragment, not in the scheme `schemagate:`.")
            named = await self._usable(viewer, reference)
            if named is None:
                continue
            for pin in (_pin(uri, named), *named.dependencies):
                revision = await self._pinned(pin.revision_id)
                if revision.tenant != viewer and await self._usable(viewer, _number(revision)) is None:
                    continue  # a shared contract's private part is its owner's all the same
                if found.setdefault(pin.uri, revision).revision_id != pin.revision_id:
                    raise _refused(f"{pin.uri[:200]!r} names two different revisions.")
                num_bytes += len(revision.source_text)
                if num_bytes > limits.max_referenced_bytes:
                    raise _over("max_referenced_bytes", limits.max_referenced_bytes, num_bytes)
        return found

    async def _usable(self, viewer: TenantId, reference: ContractReference) -> Revision | None:
        served = await self.contracts.serving(viewer, reference)
        if not isinstance(served, ServedRevision):
            return None
        if served.status.tombstoned_at is not None or served.contract.tombstoned_at is not None:
            return None
        is_usable = served.status.state in _USABLE and served.revision.kind is ContractKind.JSON_SCHEMA
        return served.revision if is_usable else None

    async def _pinned(self, revision_id: RevisionId) -> Revision:
        stored = await self.contracts.revision_by_id(revision_id)
        if stored is None:
            raise StaleRevisionError("a contract that the revision refers to is no longer in the registry")
        return stored.revision


def _pin(uri: str, revision: Revision) -> Dependency:
    return Dependency(uri=uri, digest=revision.digest, revision_id=revision.revision_id)


def _number(revision: Revision) -> ByNumber:
    return ByNumber(owner=revision.tenant, name=revision.name, number=revision.number)


def _is_canonical(uri: str) -> bool:
    """A digest names the canonical text, whatever the author's spelling."""
    return isinstance(read_contract_uri(uri), ByDigest)


def _text(uri: str, revision: Revision) -> str:
    return revision.canonical_text if _is_canonical(uri) else revision.source_text


def _document(uri: str, revision: Revision) -> JsonValue:
    if _is_canonical(uri):
        return read_canonical(revision.canonical_text)
    return parse_json(revision.source_text, max_bytes=MAX_SOURCE_BYTES, max_nesting=MAX_SOURCE_NESTING)


def _dialects(found: Mapping[str, Revision]) -> Mapping[str, Dialect]:
    return {
        uri: Dialect(revision.dialect)
        for uri, revision in found.items()
        if revision.dialect is not None and not _is_canonical(uri)
    }


def _closure(
    kind: ContractKind, definition: JsonValue, documents: tuple[JsonValue, ...], limits: ReferenceLimits
) -> ReferenceClosure:
    if kind is ContractKind.JSON_SCHEMA and _is_longer(definition, MAX_DEFINITION_BYTES):
        # Whatever it refers to, the reader is going to refuse it, in its own words.
        definition = True
    return references_of({"allOf": [_schemas(kind, definition), *documents]}, limits)


def _is_longer(value: JsonValue, most: int) -> bool:
    """Whether a text is surely longer than `most` bytes; it is looked through no further than that takes."""
    num_bytes = 0
    pending = [value]
    while pending and num_bytes <= most:
        match pending.pop():
            case str() as text:
                num_bytes += len(text) + 2
            case dict() as members:
                num_bytes += 2 + sum(len(name) + 3 for name in members)
                pending.extend(members.values())
            case list() as items:
                num_bytes += 1 + len(items)
                pending.extend(items)
            case _:
                num_bytes += 1
    return num_bytes > most


def _schemas(kind: ContractKind, definition: JsonValue) -> JsonValue:
    """A schema that refers to all that the definition may refer to.

    Of other kinds, that is whatever stands where a `$ref` may stand, and in texts whatever looks like a contract's
    URI: too much is only read in vain, since the reader says what was used.
    """
    if kind is ContractKind.JSON_SCHEMA:
        return definition
    referring: list[JsonValue] = []
    pending = [definition]
    while pending:
        match pending.pop():
            case str() as text:
                referring.extend({"$ref": uri} for uri in _IN_TEXT.findall(text))
            case dict() as members:
                pending.extend(members.values())
            case list() as items:
                pending.extend(items)
            case _:
                pass
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
