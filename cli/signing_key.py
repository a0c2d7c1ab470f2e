"""`schemagate signing-key`: making a key to sign with, and saying whose signatures count."""

from pathlib import Path
from typing import Annotated

import typer

from cli.contract.listing import moment
from cli.contract.naming import id_segment
from cli.remote.exits import ending
from cli.remote.files import write_new
from cli.remote.key_files import create_key_file, load_public_key_file, public_pem, raw_public_key
from cli.remote.options import DEFAULT_URL, ApiKey, AsJson, Reason, Url, connected
from cli.remote.printing import print_json, say, table
from registry.contract import JsonValue
from registry.public_keys import public_key_text, signing_key_id

app = typer.Typer(no_args_is_help=True, help="Make, trust, list and revoke keys that sign contracts.")


@app.command("create")
@ending
def create(
    out: Annotated[Path, typer.Option("--out", help="Where the private key is kept; never over another file.")],
    public_out: Annotated[
        Path | None, typer.Option("--public-out", help="Where the public key is put too, to hand it to an operator.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make an Ed25519 key. The file is yours alone; the public key and its id are printed.

    With SCHEMAGATE_SIGNING_KEY_PASSWORD set the file is encrypted. No gateway is asked.
    """
    key = create_key_file(out)
    raw = raw_public_key(key)
    if public_out is not None:
        write_new(public_out, public_pem(key).encode(), mode=0o644)
    if as_json:
        print_json({"id": signing_key_id(raw), "public_key": public_key_text(raw), "file": str(out)})
    else:
        say(f"key {signing_key_id(raw)} in {out}")
        say(public_pem(key).rstrip())


@app.command("trust")
@ending
def trust(
    public_key: Annotated[Path, typer.Argument(metavar="PUBLIC_KEY", help="Its file: PEM, or base64 of 32 bytes.")],
    label: Annotated[str, typer.Option("--label", help="What the key is for.")] = "",
    principal: Annotated[str | None, typer.Option("--principal", help="Whose key it is; yours if left out.")] = None,
    expires_at: Annotated[
        str | None, typer.Option("--expires-at", help="When trust ends, such as 2027-01-31T12:00:00Z.")
    ] = None,
    url: Url = DEFAULT_URL,
    api_key: ApiKey = "",
    as_json: AsJson = False,
) -> None:
    """Let signatures by a key count from now on. Takes an operator."""
    body: dict[str, JsonValue] = {"public_key": public_key_text(load_public_key_file(public_key)), "label": label}
    if principal is not None:
        body["principal"] = principal
    if expires_at is not None:
        body["expires_at"] = expires_at
    key = connected(url, api_key).write("POST", "/v1/signing-keys", body).members
    if as_json:
        print_json(key.value)
    else:
        say(f"trusted {key.text('id')}, the key of {key.text('principal')}")


@app.command("list")
@ending
def list_keys(url: Url = DEFAULT_URL, api_key: ApiKey = "", as_json: AsJson = False) -> None:
    """List the keys that are trusted, or were."""
    answer = connected(url, api_key).get("/v1/signing-keys")
    keys = answer.each("data")
    if as_json:
        listed: list[JsonValue] = [each.value for each in keys]
        print_json({"signing_keys": listed})
        return
    table(
        ("KEY", "PRINCIPAL", "TRUSTED SINCE", "UNTIL", "REVOKED", "LABEL"),
        [
            (
                each.text("id"),
                each.text("principal"),
                moment(each.text("added_at")),
                moment(each.optional_text("expires_at") or "-"),
                moment(each.optional_text("revoked_at") or "-"),
                each.text("label"),
            )
            for each in keys
        ],
    )
    if not keys:
        say("no keys")


@app.command("revoke")
@ending
def revoke(
    key_id: Annotated[str, typer.Argument(metavar="KEY", help="ed25519:…")],
    reason: Reason = "",
    url: Url = DEFAULT_URL,
    api_key: ApiKey = "",
    as_json: AsJson = False,
) -> None:
    """End trust in a key and in every signature it made. Takes an operator; it does not come back."""
    path = f"/v1/signing-keys/{id_segment(key_id)}/revoke"
    key = connected(url, api_key).write("POST", path, {"reason": reason}).members
    if as_json:
        print_json(key.value)
    else:
        say(f"revoked {key.text('id')}")
