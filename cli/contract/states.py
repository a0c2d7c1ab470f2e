"""`schemagate contract activate`, `deprecate`, `sunset` and `retire`: what a revision goes through, only forwards."""

from typing import Annotated

import typer

from cli.contract.naming import below_revision, contract_place, fetch_revision, read_target, spelled
from cli.remote.exits import ending
from cli.remote.options import DEFAULT_URL, ApiKey, AsJson, Reason, Url, connected
from cli.remote.printing import print_json, say
from registry.naming import ByAlias
from registry.revision import RevisionState

Reference = Annotated[str, typer.Argument(metavar="REF", help="The revision: invoice@3, invoice@canary, sha256:…")]


@ending
def activate_command(
    reference: Reference, reason: Reason = "", url: Url = DEFAULT_URL, api_key: ApiKey = "", as_json: AsJson = False
) -> None:
    """Let a draft be served."""
    _move(reference, RevisionState.ACTIVE, reason=reason, url=url, api_key=api_key, as_json=as_json)


@ending
def deprecate_command(
    reference: Reference, reason: Reason = "", url: Url = DEFAULT_URL, api_key: ApiKey = "", as_json: AsJson = False
) -> None:
    """Serve a revision still, and say in every answer that it is on its way out."""
    _move(reference, RevisionState.DEPRECATED, reason=reason, url=url, api_key=api_key, as_json=as_json)


@ending
def sunset_command(
    reference: Reference, reason: Reason = "", url: Url = DEFAULT_URL, api_key: ApiKey = "", as_json: AsJson = False
) -> None:
    """Serve a revision no longer."""
    _move(reference, RevisionState.SUNSET, reason=reason, url=url, api_key=api_key, as_json=as_json)


@ending
def retire_command(
    what: Annotated[str, typer.Argument(metavar="NAME|REF", help="A whole contract, or one revision of it.")],
    reason: Reason = "",
    url: Url = DEFAULT_URL,
    api_key: ApiKey = "",
    as_json: AsJson = False,
) -> None:
    """Retire a contract or a revision for ever. Its name and number are not given out again."""
    gateway = connected(url, api_key)
    read = read_target(what)
    if isinstance(read, ByAlias) and read.is_bare:
        place = contract_place(what)
        retired = gateway.write("DELETE", place.path, {"reason": reason}, query=place.query).members
        text = f"retired {retired.value.get('name')} with all its revisions"
    else:
        answer = fetch_revision(gateway, what)
        place = below_revision(answer, below="")
        retired = gateway.write("DELETE", place.path, {"reason": reason}, query=place.query).members
        text = f"retired {spelled(answer)}"
    if as_json:
        print_json(retired.value)
    else:
        say(text)


def _move(reference: str, state: RevisionState, *, reason: str, url: str, api_key: str, as_json: bool) -> None:
    gateway = connected(url, api_key)
    answer = fetch_revision(gateway, reference)
    place = below_revision(answer, below="/state")
    body = {"state": state.value, "reason": reason}
    moved = gateway.write("POST", place.path, body, query=place.query).members
    if as_json:
        print_json(moved.value)
    else:
        say(f"{spelled(answer)} is {moved.text('state')}")
