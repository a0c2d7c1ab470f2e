"""What an import would do to a gateway, and whether it can: decided before anything is written.

Digests are made again from the texts in the file. Numbers are kept, or nothing is done: a reference, a signature and
whoever wrote `invoice@3` somewhere mean that number.
"""

from dataclasses import dataclass, field

from cli.contract.export_file import Export
from cli.contract.naming import contract_place
from cli.contract.recomputing import Lookup, fetching, mismatch, recompute_with
from cli.remote.exits import CommandError, Exit
from cli.remote.gateway import Gateway
from cli.remote.members import Members
from registry.identifiers import ContractName, RevisionNumber, TenantId
from registry.naming import ByDigest, ByNumber, Reference


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Steps in the order in which they are taken."""

    new_contracts: frozenset[str]
    register: tuple[Members, ...]
    """Answers of the export, as `Export.revisions`."""
    present: tuple[Members, ...]
    """Revisions that the gateway has already, in the same words."""
    target_aliases: dict[str, dict[str, int]] = field(default_factory=dict)


def plan_import(gateway: Gateway, export: Export) -> Plan:
    """Raises `CommandError` at the first thing that could not be kept as it is."""
    lookup = _from_file_first(export, fetching(gateway))
    for answer in export.revisions:
        recompute_with(lookup, answer)
    new: set[str] = set()
    register: list[Members] = []
    present: list[Members] = []
    aliases: dict[str, dict[str, int]] = {}
    latest: dict[str, int] = {}
    there: dict[str, dict[int, Members]] = {}
    for name, contract in export.contracts.items():
        target = _target(gateway, name)
        if target is None:
            new.add(name)
            latest[name], there[name], aliases[name] = 0, {}, {}
            continue
        _check_same_name(contract, target.member("contract"))
        latest[name] = target.member("contract").number("latest")
        there[name] = _revisions(gateway, name)
        aliases[name] = {each.text("alias"): each.number("revision") for each in target.each("aliases")}
    for answer in export.revisions:
        name, revision = answer.member("contract").text("name"), answer.member("revision")
        number = revision.number("number")
        if number <= latest[name]:
            _check_same_revision(name, revision, there[name].get(number))
            present.append(answer)
            continue
        if number != latest[name] + 1:
            raise mismatch(f"{name}@{number} would be given the number {latest[name] + 1}: revisions are missing")
        latest[name] = number
        register.append(answer)
    return Plan(new_contracts=frozenset(new), register=tuple(register), present=tuple(present), target_aliases=aliases)


def same_content(one: Members, other: Members) -> bool:
    """Whether two revisions say the same: content, annotations, and how they are read."""
    names = ("digest", "annotation_digest", "kind")
    return all(one.text(name) == other.text(name) for name in names) and (
        one.member("policy").value == other.member("policy").value
    )


def _from_file_first(export: Export, otherwise: Lookup) -> Lookup:
    by_number: dict[Reference, Members] = {}
    by_digest: dict[str, Members] = {}
    for answer in export.revisions:
        revision, contract = answer.member("revision"), answer.member("contract")
        by_digest[revision.text("digest")] = answer
        for owner in (None, TenantId(contract.text("owner"))):
            by_number[_by_number(contract.text("name"), revision.number("number"), owner)] = answer

    def find(reference: Reference) -> Members:
        found = by_digest.get(reference.digest) if isinstance(reference, ByDigest) else by_number.get(reference)
        return otherwise(reference) if found is None else found

    return find


def _by_number(name: str, number: int, owner: TenantId | None) -> ByNumber:
    return ByNumber(name=ContractName(name), number=RevisionNumber(number), owner=owner)


def _target(gateway: Gateway, name: str) -> Members | None:
    place = contract_place(name)
    try:
        return gateway.get(place.path, place.query)
    except CommandError as error:
        if error.code == "contract_gone":
            raise mismatch(f"{name} was retired here, and its name is not given out again") from error
        if error.exit_code is Exit.NOT_FOUND:
            return None
        raise


def _revisions(gateway: Gateway, name: str) -> dict[int, Members]:
    place = contract_place(name, below="/revisions")
    found = gateway.pages(place.path, {"include_retired": "true"}, limit=10_000)
    return {each.number("number"): each for each in found}


def _check_same_name(ours: Members, theirs: Members) -> None:
    for member in ("kind", "class"):
        if ours.text(member) != theirs.text(member):
            name = ours.text("name")
            raise mismatch(f"{name} is of {member} {theirs.text(member)} here, and of {ours.text(member)} in the file")


def _check_same_revision(name: str, ours: Members, theirs: Members | None) -> None:
    number = ours.number("number")
    if theirs is None or not same_content(ours, theirs):
        there = "missing" if theirs is None else theirs.text("digest")
        raise mismatch(f"{name}@{number} is {there} here, and {ours.text('digest')} in the file")
