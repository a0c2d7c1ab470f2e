"""`schemagate contract verify`: digest, payload and signatures of a revision, all checked on this machine."""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from cli.contract.naming import below_revision, fetch_revision, spelled
from cli.contract.recomputing import mismatch, recompute
from cli.remote.exits import CommandError, Exit, ending
from cli.remote.gateway import Gateway
from cli.remote.key_files import load_public_key_file
from cli.remote.members import Members
from cli.remote.options import DEFAULT_URL, ApiKey, AsJson, Url, connected
from cli.remote.printing import print_json, say, table
from registry.contract import JsonValue
from registry.errors import InvalidSignatureError
from registry.public_keys import generates_prime_order_group, public_key_text, signing_key_id
from registry.signatures import signing_payload, verify


@dataclass(frozen=True, slots=True, kw_only=True)
class _Checked:
    key_id: str
    counts: bool
    why: str
    signed_by: str
    signed_at: str

    def as_json(self) -> JsonValue:
        return {"key_id": self.key_id, "counts": self.counts, "why": self.why, "signed_by": self.signed_by}


@ending
def verify_command(
    reference: Annotated[str, typer.Argument(metavar="REF", help="invoice@prod, invoice@3, sha256:…")],
    public_key: Annotated[
        Path | None,
        typer.Option("--public-key", help="Ask for a signature by this key, whatever the gateway trusts."),
    ] = None,
    url: Url = DEFAULT_URL,
    api_key: ApiKey = "",
    as_json: AsJson = False,
) -> None:
    """Verify a revision. Without --public-key, against the keys that the gateway says are trusted."""
    own = None if public_key is None else load_public_key_file(public_key)
    gateway = connected(url, api_key)
    answer = fetch_revision(gateway, reference)
    recomputed = recompute(gateway, answer)
    payload = signing_payload(recomputed.revision)
    keys = _trusted(gateway) if own is None else {str(signing_key_id(own)): (own, "")}
    place = below_revision(answer, below="/signatures")
    checked = [_check(each, payload, keys) for each in gateway.get(place.path, place.query).each("data")]
    is_signed = any(each.counts for each in checked)
    if as_json:
        signatures: list[JsonValue] = [each.as_json() for each in checked]
        digest: JsonValue = recomputed.contract.digest
        print_json({"revision": spelled(answer), "digest": digest, "verified": is_signed, "signatures": signatures})
    else:
        _print(answer, recomputed.contract.digest, checked)
    if not is_signed:
        raise typer.Exit(int(Exit.NO))


def _print(answer: Members, digest: str, checked: list[_Checked]) -> None:
    say(f"{spelled(answer)}: the text is {digest}")
    table(
        ("KEY", "SIGNATURE", "HANDED IN BY", "AT"),
        [(each.key_id, each.why, each.signed_by, each.signed_at[:19].replace("T", " ")) for each in checked],
        styles=["green" if each.counts else "red" for each in checked],
    )
    if any(each.counts for each in checked):
        say("verified", style="bold green")
    else:
        say("not verified: no signature counts" if checked else "not verified: there is no signature", style="bold red")


def _check(signature: Members, payload: bytes, keys: Mapping[str, tuple[bytes, str]]) -> _Checked:
    key_id = signature.text("key_id")
    found = keys.get(key_id)
    why = "valid"
    if found is None:
        why = "by a key that is not trusted"
    else:
        raw, dead = found
        try:
            verify(raw, payload, signature.text("signature"))
            why = dead or why
        except InvalidSignatureError:
            why = "does not verify"
    return _Checked(
        key_id=key_id,
        counts=why == "valid",
        why=why,
        signed_by=signature.text("signed_by"),
        signed_at=signature.text("signed_at"),
    )


def _trusted(gateway: Gateway) -> dict[str, tuple[bytes, str]]:
    """The keys by their ids, which are made anew, and why those that no longer count do not."""
    keys: dict[str, tuple[bytes, str]] = {}
    for each in gateway.get("/v1/signing-keys").each("data"):
        try:
            raw = base64.b64decode(each.text("public_key"), validate=True)
        except (binascii.Error, ValueError) as error:
            raise mismatch(f"the key {each.text('id')} cannot be read") from error
        if not generates_prime_order_group(raw) or signing_key_id(raw) != each.text("id"):
            raise mismatch(f"the key {each.text('id')} is not the one of that name: {public_key_text(raw)}")
        keys[each.text("id")] = raw, _dead(each)
    return keys


def _dead(key: Members) -> str:
    if key.optional_text("revoked_at") is not None:
        return "by a revoked key"
    expires = key.optional_text("expires_at")
    try:
        is_over = expires is not None and datetime.fromisoformat(expires) <= datetime.now(UTC)
    except (ValueError, TypeError) as error:
        message = f"the gateway's answer cannot be read: {expires!r} is no moment"
        raise CommandError(message, exit_code=Exit.TRY_AGAIN, code="unexpected_answer") from error
    return "by an expired key" if is_over else ""
