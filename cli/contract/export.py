"""`schemagate contract export`: everything about your contracts in one file."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Final

import typer

from cli.contract.export_file import FORMAT, ExportWriter
from cli.contract.naming import below_revision, contract_place, read_contract_name
from cli.contract.ordering import registrable_order
from cli.remote.exits import CommandError, Exit, ending
from cli.remote.files import Replacement
from cli.remote.gateway import Gateway
from cli.remote.members import Members
from cli.remote.options import DEFAULT_URL, ApiKey, AsJson, Url, connected
from cli.remote.printing import print_json, say

MAX_CONTRACTS: Final = 100_000
MAX_REVISIONS: Final = 10_000
"""Of one contract; the registry keeps no more."""


@ending
def export_command(
    output: Annotated[Path, typer.Option("--output", "-o", help="The file; it is replaced once all of it is there.")],
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME…]", help="Which contracts; all of yours where none is said.")
    ] = None,
    url: Url = DEFAULT_URL,
    api_key: ApiKey = "",
    as_json: AsJson = False,
) -> None:
    """Write contracts with their revisions, signatures and aliases to a file that checks itself."""
    gateway = connected(url, api_key)
    details = [_detail(gateway, name) for name in names] if names else list(_own(gateway))
    if not details:
        raise CommandError("there are no contracts to export", exit_code=Exit.NOT_FOUND, code="contract_not_found")
    revisions = registrable_order(each for detail in details for each in _revisions(gateway, detail))
    with Replacement(output) as file:
        writer = ExportWriter(file)
        writer.line({"format": FORMAT, "tenant": details[0].member("contract").text("owner")})
        for detail in details:
            writer.line({"contract": detail.member("contract").value})
        for each in revisions:
            _write_revision(gateway, writer, each)
        live = [each for each in revisions if each.member("revision").optional_text("retired_at") is None]
        num_signatures = sum(_write_signatures(gateway, writer, each) for each in live)
        num_aliases = sum(_write_aliases(writer, detail) for detail in details)
        for key in gateway.get("/v1/signing-keys").each("data"):
            writer.line({"signing_key": key.value})
        digest = writer.end()
    counts = {
        "contracts": len(details),
        "revisions": len(revisions),
        "retired": len(revisions) - len(live),
        "signatures": num_signatures,
        "aliases": num_aliases,
    }
    if as_json:
        print_json({"file": str(output), "digest": digest, **counts})
        return
    say(f"{output}: " + ", ".join(f"{count} {name}" for name, count in counts.items() if count))


def _detail(gateway: Gateway, name: str) -> Members:
    if read_contract_name(name).owner is not None:
        message = f"{name[:200]!r} is another owner's: only your own contracts are exported"
        raise CommandError(message, exit_code=Exit.USAGE, code="invalid_name")
    place = contract_place(name)
    return gateway.get(place.path, place.query)


def _own(gateway: Gateway) -> Iterator[Members]:
    """One's own contracts: of those that are listed, the ones that are found without saying an owner."""
    seen: set[str] = set()
    for listed in gateway.pages("/v1/contracts", {}, limit=MAX_CONTRACTS):
        name = listed.text("name")
        if name in seen:
            continue
        seen.add(name)
        try:
            yield _detail(gateway, name)
        except CommandError as error:
            if error.exit_code is not Exit.NOT_FOUND:
                raise


def _revisions(gateway: Gateway, detail: Members) -> Sequence[Members]:
    contract = detail.member("contract")
    place = contract_place(contract.text("name"), below="/revisions")
    found = gateway.pages(place.path, {"include_retired": "true"}, limit=MAX_REVISIONS)
    return [Members({"contract": contract.value, "revision": each.value}) for each in found]


def _write_revision(gateway: Gateway, writer: ExportWriter, listed: Members) -> None:
    """One revision with its text; a retired one too, because numbers count on."""
    name, number = listed.member("contract").text("name"), listed.member("revision").number("number")
    answer = gateway.get(f"/v1/contracts/{name}@{number}", {"include_retired": "true"})
    # As it was listed: it may have been retired since, and what follows was asked of the live ones.
    members = {"revision_of": name, "revision": listed.member("revision").value, "source": answer.value["source"]}
    writer.line(members)


def _write_signatures(gateway: Gateway, writer: ExportWriter, revision: Members) -> int:
    place = below_revision(revision, below="/signatures")
    signatures = gateway.get(place.path, place.query).each("data")
    for signature in signatures:
        writer.line(
            {
                "signature_of": revision.member("contract").text("name"),
                "number": revision.member("revision").number("number"),
                "signature": signature.value,
            }
        )
    return len(signatures)


def _write_aliases(writer: ExportWriter, detail: Members) -> int:
    aliases = detail.each("aliases")
    for alias in aliases:
        writer.line({"alias_of": detail.member("contract").text("name"), "alias": alias.value})
    return len(aliases)
