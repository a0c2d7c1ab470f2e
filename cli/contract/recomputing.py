"""A fetched revision read again on this machine: nothing that a gateway says about a text is believed.

The digest is made from the text that was fetched, by the code that makes it everywhere, and the signing payload from
that digest. Texts that the revision refers to are fetched too, and each has to have the digest that it is pinned by.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final, TypeAlias

from cli.contract.naming import revision_place
from cli.remote.exits import CommandError, Exit
from cli.remote.gateway import Gateway
from cli.remote.members import Members
from policy.enforcement import EnforcementPolicy, Unknown
from policy.limits import GOVERNED
from registry.canonical import read_canonical
from registry.contract import AnnotationDigest, CanonicalContract, ContractDigest, ContractKind, JsonValue
from registry.contract_references import read_contract_uri
from registry.errors import ContractRejectedError
from registry.identifiers import (
    ContractName,
    PrincipalId,
    RevisionId,
    RevisionNumber,
    SchemaId,
    TenantId,
)
from registry.naming import ByDigest, ByNumber, Reference
from registry.reading import read_contract
from registry.revision import Dependency, Revision
from registry.text import canonical_json

MAX_REFERENCED: Final = 200
"""Texts that one revision may lead to, before this gives up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recomputed:
    """A revision whose digests are our own; everything else in it is what is shown to the user."""

    revision: Revision
    contract: CanonicalContract


Lookup: TypeAlias = Callable[[Reference], Members]
"""Finds the answer about another revision."""


def recompute(gateway: Gateway, answer: Members) -> Recomputed:
    """The revision that a fetched answer describes. Raises `CommandError` where it is not what the gateway says."""
    return recompute_with(fetching(gateway), answer)


def recompute_with(lookup: Lookup, answer: Members) -> Recomputed:
    """As `recompute`, with the texts that the revision refers to from `lookup`."""
    return _Reading(lookup).read(answer)


def fetching(gateway: Gateway) -> Lookup:
    """Asks the gateway."""

    def fetch(reference: Reference) -> Members:
        place = revision_place(reference)
        return gateway.get(place.path, place.query)

    return fetch


def policy_of(members: Members) -> EnforcementPolicy:
    """An enforcement policy as it was answered. Raises `CommandError`."""
    try:
        return EnforcementPolicy(
            allow_checked_after=members.flag("allow_checked_after"),
            unknown_keyword=Unknown(members.text("unknown_keyword")),
            unknown_format=Unknown(members.text("unknown_format")),
        )
    except ValueError as error:
        raise _unreadable(str(error)) from error


def revision_of(answer: Members, contract: CanonicalContract) -> Revision:
    """The revision of an answer with the digests of `contract`. Raises `CommandError`."""
    members = answer.member("revision")
    try:
        return Revision(
            revision_id=RevisionId(members.text("id")),
            tenant=TenantId(answer.member("contract").text("owner")),
            name=ContractName(answer.member("contract").text("name")),
            number=RevisionNumber(members.number("number")),
            schema_id=SchemaId(members.number("schema_id")),
            kind=contract.kind,
            digest=contract.digest,
            annotation_digest=contract.annotation_digest,
            source_text=canonical_json(answer.value["source"]),
            source_digest=members.text("source_digest"),
            canonical_text=contract.text,
            dialect=members.optional_text("dialect"),
            transformations=contract.transformations,
            profile={},
            policy=policy_of(members.member("policy")),
            dependencies=tuple(_pins(members)),
            author=PrincipalId(members.text("author")),
            message=members.text("message"),
            created_at=datetime.fromisoformat(members.text("created_at")),
        )
    except ValueError as error:
        raise _unreadable(str(error)) from error


def read_again(members: Members, source: JsonValue, documents: Mapping[str, JsonValue]) -> CanonicalContract:
    """The contract of a text, which has to have the digests that `members` says. Raises `CommandError`."""
    spelled = f"revision {members.number('number')}"
    try:
        contract = read_contract(
            ContractKind(members.text("kind")),
            source,
            limits=GOVERNED.contract,
            policy=policy_of(members.member("policy")),
            documents=documents,
            dialect=members.optional_text("dialect"),
        )
    except ContractRejectedError as error:
        raise mismatch(f"the text of {spelled} is not read here: {error}") from error
    except ValueError as error:
        raise _unreadable(str(error)) from error
    said = (ContractDigest(members.text("digest")), AnnotationDigest(members.text("annotation_digest")))
    if (contract.digest, contract.annotation_digest) != said:
        raise mismatch(
            f"the text of {spelled} reads as {contract.digest} (annotations {contract.annotation_digest}), "
            f"but it is said to be {said[0]} (annotations {said[1]})"
        )
    return contract


def mismatch(message: str) -> CommandError:
    """That something is not what it is said to be."""
    return CommandError(message, exit_code=Exit.NO, code="mismatch")


class _Reading:
    """One recomputation; a text that is referred to twice is fetched once."""

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup
        self._contracts: dict[str, tuple[JsonValue, CanonicalContract]] = {}
        self._being_read: set[str] = set()
        self._num_fetched = 0

    def read(self, answer: Members) -> Recomputed:
        _, contract = self._contract(answer)
        return Recomputed(revision=revision_of(answer, contract), contract=contract)

    def _contract(self, answer: Members) -> tuple[JsonValue, CanonicalContract]:
        members = answer.member("revision")
        revision_id = members.text("id")
        known = self._contracts.get(revision_id)
        if known is None:
            if revision_id in self._being_read:
                raise mismatch(f"{revision_id} refers to itself, by way of others")
            self._being_read.add(revision_id)
            if "source" not in answer.value:
                raise _unreadable("it holds no `source`")
            owner = answer.member("contract").text("owner")
            documents = {pin.uri: self._document(pin, owner) for pin in _pins(members)}
            source = answer.value["source"]
            known = source, read_again(members, source, documents)
            self._contracts[revision_id] = known
        return known

    def _document(self, pin: Dependency, owner: str) -> JsonValue:
        self._num_fetched += 1
        if self._num_fetched > MAX_REFERENCED:
            raise _unreadable(f"it leads to more than {MAX_REFERENCED} other texts")
        named = read_contract_uri(pin.uri)
        answer = self._lookup(_reference(named, pin, owner))
        source, contract = self._contract(answer)
        if contract.digest != pin.digest:
            raise mismatch(f"{pin.uri} leads to {contract.digest}, but it is pinned to {pin.digest}")
        # A digest names the canonical text, whatever its author's spelling.
        return read_canonical(contract.text) if isinstance(named, ByDigest) else source


def _reference(named: Reference | None, pin: Dependency, owner: str) -> Reference:
    match named:
        case ByNumber(owner=None):
            return ByNumber(name=named.name, number=named.number, owner=TenantId(owner))
        case ByNumber() | ByDigest():
            return named
        case _:
            # A URI of the author's own choosing: what it stands for is pinned by content.
            return ByDigest(digest=pin.digest)


def _pins(members: Members) -> Iterator[Dependency]:
    for each in members.each("dependencies"):
        yield Dependency(
            uri=each.text("uri"),
            digest=ContractDigest(each.text("digest")),
            revision_id=RevisionId(each.text("revision_id")),
        )


def _unreadable(why: str) -> CommandError:
    return CommandError(
        f"the gateway's answer about the revision cannot be read: {why}",
        exit_code=Exit.TRY_AGAIN,
        code="unexpected_answer",
    )
