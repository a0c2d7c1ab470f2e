"""`schemagate audit`: taking the chain of events out, and verifying it where no gateway is trusted."""

import re
from pathlib import Path
from typing import Annotated, BinaryIO, Final

import typer

from cli.remote.exits import CommandError, Exit, ending
from cli.remote.files import Replacement, unusable
from cli.remote.options import DEFAULT_URL, ApiKey, AsJson, Url, connected
from cli.remote.printing import print_json, say
from registry.audit import GENESIS, AuditHead, EventDigest
from registry.audit_chain import Broken, Fault, Intact
from registry.audit_export import MAX_LINE_BYTES, GarbledLineError, read_event, read_header, verify_export

app = typer.Typer(no_args_is_help=True, help="Export the audit chain; verify an export offline.")

_HEAD: Final = re.compile(r"(?:([1-9][0-9]{0,17}):)?([0-9a-f]{64})", re.ASCII)


@app.command("export")
@ending
def export(
    output: Annotated[Path, typer.Option("--output", "-o", help="The file; it is replaced once all of it is there.")],
    url: Url = DEFAULT_URL,
    api_key: ApiKey = "",
    as_json: AsJson = False,
) -> None:
    """Write the chain as it stands now to a file, and verify what was written. Takes an auditor or an operator."""
    gateway = connected(url, api_key)
    with Replacement(output) as file, gateway.lines("/v1/audit/export") as pieces:
        for piece in pieces:
            file.write(piece)
    _conclude(_verified(output, None), output, as_json=as_json)


@app.command("verify")
@ending
def verify(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="As `audit export` wrote it.")],
    head: Annotated[
        str | None,
        typer.Option("--head", help="A digest that was kept, or SEQUENCE:DIGEST: the chain has to pass through it."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Verify an export from the file alone: every event as it was written, none missing, none put in."""
    _conclude(_verified(file, head), file, as_json=as_json)


def _verified(path: Path, head: str | None) -> Intact | Broken:
    read = None if head is None else _HEAD.fullmatch(head)
    if head is not None and read is None:
        message = f"--head is 64 hex digits, or SEQUENCE:DIGEST, not {head[:80]!r}"
        raise CommandError(message, exit_code=Exit.USAGE, code="invalid_head")
    try:
        with path.open("rb") as file:
            if read is None:
                return verify_export(file)
            digest = EventDigest(read[2])
            sequence = int(read[1]) if read[1] else _sequence_of(file, digest)
            if sequence is None:
                reason = "no event of the file has the digest that was kept"
                return Broken(sequence=0, fault=Fault.HEAD, reason=reason)
            file.seek(0)
            tenant = read_header(file.readline(MAX_LINE_BYTES + 1).rstrip(b"\n")).tenant
            file.seek(0)
            return verify_export(file, kept=AuditHead(tenant=tenant, sequence=sequence, digest=digest))
    except GarbledLineError as error:
        return Broken(sequence=0, fault=Fault.FORMAT, reason=str(error))
    except (OSError, ValueError) as error:
        raise unusable(path, getattr(error, "strerror", None) or str(error)) from error


def _sequence_of(file: BinaryIO, digest: EventDigest) -> int | None:
    """The place of an event in the file, if its line says to have that digest; whether it has is asked afterwards."""
    if digest == GENESIS:
        return None
    file.readline(MAX_LINE_BYTES + 1)
    wanted = digest.encode()
    while line := file.readline(MAX_LINE_BYTES + 1):
        if wanted not in line:
            continue
        try:
            event = read_event(line.rstrip(b"\n"))
        except GarbledLineError:
            continue  # the verification tells where the file is broken
        if event.digest == digest:
            return event.sequence
    return None


def _conclude(found: Intact | Broken, path: Path, *, as_json: bool) -> None:
    match found:
        case Intact():
            head = f"{found.last}:{found.digest}"
            if as_json:
                tenant, last = found.tenant, found.last
                print_json({"verdict": "intact", "tenant": tenant, "events": last, "head": head if last else None})
            elif found.last == 0:
                say(f"{path}: intact, no events")
            else:
                say(f"{path}: intact, {found.tenant}, events {found.first} to {found.last}", style="green")
                say(f"keep its head elsewhere: {head}")
        case Broken():
            if as_json:
                fault, reason = found.fault.value, found.reason
                print_json({"verdict": "broken", "sequence": found.sequence, "fault": fault, "reason": reason})
            else:
                say(f"{path}: broken at event {found.sequence}: {found.reason} ({found.fault})", style="bold red")
            raise typer.Exit(int(Exit.NO))
