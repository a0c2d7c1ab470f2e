"""Where references lead, within the contract and the documents that were approved beside it. Nothing is fetched."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from referencing.exceptions import NoSuchResource

from policy.enforcement import EnforcementPolicy
from policy.rejection import Rejection, RejectionCode
from registry.approved import approved_document, approved_documents
from registry.contract import JsonValue
from registry.contract_references import contract_uri, is_contract_uri, read_contract_uri, seen_from
from registry.dialects import Dialect
from registry.dynamic_scope import Place
from registry.errors import ContractRejectedError
from registry.naming import ByAlias, ByDigest, ByNumber
from registry.pointers import join, percent_decoded, tokens_of
from registry.survey import Location, Survey, survey_document
from registry.uris import resolve_uri

CONTRACT = ""
"""The document that the caller sent; its URI is empty until an `$id` gives it one."""

_SHOWN = 200
_NO_ANCHORS: Final[Mapping[str, Place]] = MappingProxyType({})
_NO_DIALECTS: Final[Mapping[str, Dialect]] = MappingProxyType({})


class Bundle:
    """The contract and its approved documents, each surveyed when a reference first needs it.

    Names (`$id`) count for the contract and the plain documents together. A registered contract (`schemagate:`) keeps
    its names to itself: neither can two revisions with one `$id` collide, nor can whoever refers to a contract, or is
    referred to by it, give a name in it another meaning.
    """

    def __init__(
        self,
        contract: Survey,
        documents: Mapping[str, JsonValue],
        policy: EnforcementPolicy,
        dialects: Mapping[str, Dialect] = _NO_DIALECTS,
    ) -> None:
        self._policy = policy
        self._declared = dialects
        self._approved = approved_documents(documents)
        self._surveys: dict[str, Survey] = {CONTRACT: contract}
        self._resources: dict[tuple[str, str], tuple[Survey, str]] = {}
        self._dynamic_anchors: dict[tuple[str, str], dict[str, Place]] = {}
        self._enter(contract, "")

    @property
    def root(self) -> Location:
        """The contract's own root schema."""
        return self._surveys[CONTRACT].locations[""]

    @property
    def surveys(self) -> Mapping[str, Survey]:
        """All documents in use by URI, the contract's own first, under an empty one."""
        return MappingProxyType(self._surveys)

    @property
    def documents(self) -> tuple[str, ...]:
        """The URIs of the approved documents that were read, in the order in which references led to them."""
        return tuple(uri for uri in self._surveys if uri != CONTRACT)

    def location(self, document: str, pointer: str) -> Location:
        """A subschema by its place."""
        return self._surveys[document].locations[pointer]

    def dynamic_anchors(self, location: Location) -> Mapping[str, Place]:
        """The places of all `$dynamicAnchor`s in the resource that `location` belongs to; not in those within it."""
        return self._dynamic_anchors.get((location.document, location.base), _NO_ANCHORS)

    def resolve(self, reference: str, *, at: Location, pointer: str) -> Location:
        """What `reference` means where it stands (`at`). `pointer` is the caller's, for refusals.

        A `$dynamicRef` means this before the way to it counts. Raises `ContractRejectedError`: outside the bundle,
        pointing at nothing, or at something that is no schema.
        """
        uri, fragment = resolve_uri(at.base, reference)
        survey, root = self._resource(uri, reference, at, pointer)
        name = percent_decoded(fragment)
        if name is None:
            raise _unresolved(reference, "its fragment is not UTF-8", pointer)
        target: str | None
        source = ""
        if not name:
            target = root
        elif name.startswith("/"):
            # Pointers are the author's: where the document was translated, things may stand elsewhere now.
            source = join(survey.translation.source_pointer(root), *tokens_of(name))
            target = survey.translation.place(source)
        else:
            target = survey.anchors.get((uri, name)) or survey.anchors.get((_own_base(survey, root), name))
            if target is None:
                raise _unresolved(reference, "there is no such anchor", pointer)
        location = None if target is None else survey.locations.get(target)
        if location is None:
            reason = "that is not a schema" if _exists(survey.value, source) else "there is nothing"
            raise _unresolved(reference, reason, pointer)
        return location

    def has_read(self, reference: str, *, at: Location) -> bool:
        """Whether a reference leads into a document that is in use: then following it brings in no other one."""
        uri, _ = resolve_uri(at.base, reference)
        if is_contract_uri(reference):
            meant = read_contract_uri(reference.partition("#")[0])
            return (
                isinstance(meant, ByDigest | ByNumber) and contract_uri(seen_from(at.document, meant)) in self._surveys
            )
        return (_namespace(at.document), uri) in self._resources or (uri != CONTRACT and uri in self._surveys)

    def _resource(self, uri: str, reference: str, at: Location, pointer: str) -> tuple[Survey, str]:
        """The document that holds a resource, and the pointer of the resource's root in it."""
        if is_contract_uri(reference):
            uri = _contract_document(reference, at, pointer)
        elif (known := self._resources.get((_namespace(at.document), uri))) is not None:
            return known
        elif is_contract_uri(uri):
            raise _remote(reference, "another registered contract is named in full, from `schemagate:` on", pointer)
        if uri == CONTRACT or uri not in self._surveys:
            self._load(uri, reference, pointer)
        return self._surveys[uri], ""

    def _load(self, uri: str, reference: str, pointer: str) -> None:
        try:
            document = approved_document(self._approved, uri)
        except NoSuchResource as error:
            reason = "nothing is fetched, and it is not approved"
            if is_contract_uri(uri):
                reason = "it is no JSON Schema in this registry that is served and yours to use"
            raise _remote(reference, reason, pointer) from error
        survey = survey_document(document, document=uri, policy=self._policy, dialect=self._declared.get(uri))
        if survey.rejections:
            raise ContractRejectedError(
                tuple(
                    Rejection(
                        code=fault.code,
                        message=f"In {uri[:_SHOWN]!r} at {fault.pointer or 'its root'!r}: {fault.message}",
                        pointer=pointer,
                        keyword=fault.keyword,
                        suggestion=fault.suggestion,
                    )
                    for fault in survey.rejections
                )
            )
        self._enter(survey, pointer)
        self._surveys[uri] = survey

    def _enter(self, survey: Survey, pointer: str) -> None:
        entries: dict[tuple[str, str], tuple[Survey, str]] = {}
        for uri, root in survey.resources.items():
            place = pointer or (join(root, "$id") if survey.document == CONTRACT else "")
            if is_contract_uri(uri) and uri != survey.document:
                _refuse_borrowed_name(survey, uri, root, place)
            key = (_namespace(survey.document), uri)
            known = self._resources.get(key)
            if known is not None and (known[0] is not survey or known[1] != root):
                message = f"Two resources are called {uri[:_SHOWN]!r}."
                raise _refused(RejectionCode.INVALID_SCHEMA, message, place, "$id")
            entries[key] = (survey, root)
        self._resources.update(entries)
        for name, pointers in survey.dynamic_anchors.items():
            for place in pointers:
                resource = (survey.document, survey.locations[place].base)
                self._dynamic_anchors.setdefault(resource, {})[name] = (survey.document, place)


def dynamic_name(reference: str, target: Location) -> str | None:
    """The name that decides where a `$dynamicRef` leads, if it initially leads to `target`.

    `None` if it is an ordinary reference: its fragment is not the name of a `$dynamicAnchor` at the target.
    """
    _, _, fragment = reference.partition("#")
    name = percent_decoded(fragment)
    if isinstance(target.schema, bool) or not name or target.schema.get("$dynamicAnchor") != name:
        return None
    return name


def _namespace(document: str) -> str:
    """Whose names count where a document refers to something: its own, or those of the contract and plain documents."""
    return document if is_contract_uri(document) else CONTRACT


def _contract_document(reference: str, at: Location, pointer: str) -> str:
    """The URI under which a registered contract was approved, if the reference to it is pinned."""
    written, _, _ = reference.partition("#")
    meant = read_contract_uri(written)
    match meant:
        case ByDigest() | ByNumber():
            return contract_uri(seen_from(at.document, meant))
        case ByAlias():
            message = f"{written[:_SHOWN]!r} means whatever its alias means at the time; refer to a number or a digest."
            raise _refused(RejectionCode.MOVABLE_REFERENCE, message, pointer, "$ref")
        case None:
            reason = "a registered contract is `schemagate:sha256:<64 hex>` or `schemagate:[<tenant>/]<name>@<number>`"
            raise _unresolved(reference, reason, pointer)


def _refuse_borrowed_name(survey: Survey, uri: str, root: str, pointer: str) -> None:
    """Refuse an `$id` in the scheme of registered contracts. A relative one may land there, but on no contract."""
    schema = survey.locations[root].schema
    identifier = "" if isinstance(schema, bool) else schema.get("$id")
    if is_contract_uri(str(identifier)) or isinstance(read_contract_uri(uri), ByDigest | ByNumber):
        message = f"{uri[:_SHOWN]!r} names a registered contract; no schema can call itself so."
        raise _refused(RejectionCode.INVALID_SCHEMA, message, pointer, "$id")


def _own_base(survey: Survey, root: str) -> str:
    """The URI under which the resource at `root` enters its anchors: its `$id`, whatever it was fetched as."""
    return survey.locations[root].base


def _exists(value: JsonValue, pointer: str) -> bool:
    for token in tokens_of(pointer):
        if isinstance(value, dict) and token in value:
            value = value[token]
        elif isinstance(value, list) and token.isascii() and token.isdigit() and int(token[:9]) < len(value):
            value = value[int(token[:9])]
        else:
            return False
    return True


def _unresolved(reference: str, reason: str, pointer: str) -> ContractRejectedError:
    message = f"The reference {reference[:_SHOWN]!r} leads nowhere: {reason}."
    return _refused(RejectionCode.UNRESOLVED_REFERENCE, message, pointer, "$ref")


def _remote(reference: str, reason: str, pointer: str) -> ContractRejectedError:
    message = f"The reference {reference[:_SHOWN]!r} leads out of the contract: {reason}."
    return _refused(RejectionCode.REMOTE_REFERENCE, message, pointer, "$ref")


def _refused(code: RejectionCode, message: str, pointer: str, keyword: str) -> ContractRejectedError:
    return ContractRejectedError((Rejection(code=code, message=message, pointer=pointer, keyword=keyword),))
