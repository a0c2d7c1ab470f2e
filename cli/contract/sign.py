"""`schemagate contract sign`: shows what is signed, makes its digest here, signs here, hands the signature in."""

import base64
import binascii
import sys
from pathlib import Path
from typing import Annotated

import typer

from cli.contract.definition_file import read_definition
from cli.contract.listing import policy_words, source_text
from cli.contract.local_comparison import read_here
from cli.contract.naming import below_revision, fetch_revision, spelled
from cli.contract.recomputing import Recomputed, mismatch, recompute
from cli.contract.terms import Terms
from cli.remote.exits import CommandError, Exit, ending
from cli.remote.gateway import Gateway
from cli.remote.key_files import load_key_file, raw_public_key
from cli.remote.members import Members
from cli.remote.options import DEFAULT_URL, ApiKey, AsJson, Url, connected
from cli.remote.printing import print_json, say
from registry.public_keys import signing_key_id
from registry.signatures import sign, signing_payload
from registry.text import canonical_json


@ending
def sign_command(
    reference: Annotated[str, typer.Argument(metavar="REF", help="invoice@3, invoice@canary, sha256:…")],
    key: Annotated[Path, typer.Option("--key", help="Your private key, as `signing-key create` made it.")],
    file: Annotated[
        Path | None, typer.Option("--file", help="Sign only if the revision is this text, which you have reviewed.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask on a terminal.")] = False,
    url: Url = DEFAULT_URL,
    api_key: ApiKey = "",
    as_json: AsJson = False,
) -> None:
    """Sign a revision. The text that is shown is the text that is signed: its digest is made on this machine."""
    private_key = load_key_file(key)
    key_id = signing_key_id(raw_public_key(private_key))
    gateway = connected(url, api_key)
    answer = fetch_revision(gateway, reference)
    recomputed = recompute(gateway, answer)
    if file is not None:
        _check_file(file, recomputed)
    payload = signing_payload(recomputed.revision)
    if not as_json:
        _show(answer, recomputed)
    _check_payload(gateway, answer, payload)
    if sys.stdin.isatty() and not yes and not typer.confirm(f"Sign {spelled(answer)} with {key_id}?"):
        raise CommandError("nothing was signed", exit_code=Exit.NO, code="not_confirmed")
    place = below_revision(answer, below="/signatures")
    body = {"key_id": str(key_id), "signature": sign(private_key, payload)}
    kept = gateway.write("POST", place.path, body, query=place.query).members
    if as_json:
        print_json({"signed": spelled(answer), "digest": recomputed.contract.digest, "signature": kept.value})
    else:
        say(f"signed {spelled(answer)} with {key_id}")


def _show(answer: Members, recomputed: Recomputed) -> None:
    revision = recomputed.revision
    say(f"{revision.tenant}/{revision.name}@{revision.number}: {revision.kind}", style="bold")
    say(f"  digest      {revision.digest}")
    say(f"  annotations {revision.annotation_digest}")
    say(f"  policy      {policy_words(answer.member('revision').member('policy'))}")
    say(f"  author      {revision.author}")
    say()
    say(source_text(answer))
    say()


def _check_file(path: Path, recomputed: Recomputed) -> None:
    """That a reviewed file is the revision. A text with references to other contracts is compared as it stands."""
    revision = recomputed.revision
    definition = read_definition(path, revision.kind)
    if canonical_json(definition.value) == revision.source_text:
        return
    policy = revision.policy
    terms = Terms(
        dialect=revision.dialect,
        allow_checked_after=policy.allow_checked_after,
        unknown_keyword=policy.unknown_keyword,
        unknown_format=policy.unknown_format,
    )
    reviewed = read_here(definition, terms)
    if (reviewed.digest, reviewed.annotation_digest) != (revision.digest, revision.annotation_digest):
        raise mismatch(f"{path} reads as {reviewed.digest}, and the revision as {revision.digest}: nothing was signed")


def _check_payload(gateway: Gateway, answer: Members, payload: bytes) -> None:
    """The gateway has to want signed what we would sign, or it would not take the signature."""
    place = below_revision(answer, below="/signing-payload")
    text = gateway.get(place.path, place.query).text("base64")
    try:
        asked = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        asked = b""
    if asked != payload:
        raise mismatch("the gateway asks to sign something else than what was fetched: nothing was signed")
