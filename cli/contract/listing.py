"""`schemagate contract list` and `schemagate contract show`."""

from typing import Annotated

import typer

from cli.contract.naming import contract_place, read_target, revision_place, spelled
from cli.contract.wording import level_words
from cli.remote.exits import ending
from cli.remote.members import Members
from cli.remote.options import DEFAULT_URL, ApiKey, AsJson, Limit, Url, connected
from cli.remote.printing import print_json, say, table
from registry.contract import ContractKind, JsonValue
from registry.naming import ByAlias
from registry.revision import RevisionState
from registry.text import canonical_json


@ending
def list_command(
    text: Annotated[str, typer.Argument(metavar="[TEXT]", help="Only names and descriptions that hold it.")] = "",
    team: Annotated[str, typer.Option("--team", help="Only this team's.")] = "",
    kind: Annotated[ContractKind | None, typer.Option("--kind", help="Only this kind.")] = None,
    owner: Annotated[str, typer.Option("--owner", help="Only this tenant's.")] = "",
    state: Annotated[RevisionState | None, typer.Option("--state", help="Only those with such a revision.")] = None,
    retired: Annotated[bool, typer.Option("--retired", help="Also those that were retired.")] = False,
    limit: Limit = 1_000,
    url: Url = DEFAULT_URL,
    api_key: ApiKey = "",
    as_json: AsJson = False,
) -> None:
    """List your contracts and those that others share with you."""
    asked = {"q": text, "team": team, "kind": kind or "", "owner": owner, "state": state or ""}
    query = {name: str(value) for name, value in asked.items() if value}
    if retired:
        query["include_retired"] = "true"
    found = list(connected(url, api_key).pages("/v1/contracts", query, limit=limit))
    if as_json:
        contracts: list[JsonValue] = [each.value for each in found]
        print_json({"contracts": contracts})
        return
    table(
        ("CONTRACT", "OWNER", "KIND", "CLASS", "TEAM", "VISIBILITY", "LEVEL", "LATEST", "DESCRIPTION"),
        [
            (
                each.text("name") + (" (retired)" if each.optional_text("retired_at") else ""),
                each.text("owner"),
                each.text("kind"),
                each.text("class"),
                each.optional_text("team") or "-",
                each.text("visibility"),
                each.optional_text("compatibility") or "-",
                str(each.number("latest")),
                each.text("description"),
            )
            for each in found
        ],
    )
    if not found:
        say("no contracts")


@ending
def show_command(
    reference: Annotated[str, typer.Argument(metavar="REF", help="invoice, invoice@prod, invoice@3, sha256:…")],
    retired: Annotated[
        bool, typer.Option("--retired", help="Also if it was retired; of revisions those named by number.")
    ] = False,
    url: Url = DEFAULT_URL,
    api_key: ApiKey = "",
    as_json: AsJson = False,
) -> None:
    """Show a contract with its aliases and revisions, or the one revision that a reference leads to."""
    gateway = connected(url, api_key)
    read = read_target(reference)
    asked = {"include_retired": "true"} if retired else {}
    if not (isinstance(read, ByAlias) and read.is_bare):
        place = revision_place(read)
        answer = gateway.get(place.path, {**place.query, **asked})
        if as_json:
            print_json(answer.value)
        else:
            _show_revision(answer)
        return
    place = contract_place(reference)
    query = {**place.query, **asked}
    detail = gateway.get(place.path, query)
    revisions = list(gateway.pages(f"{place.path}/revisions", query, limit=_SHOWN_REVISIONS))
    if as_json:
        listed: list[JsonValue] = [each.value for each in revisions]
        print_json({**detail.value, "revisions": listed})
    else:
        _show_contract(detail, revisions)


_SHOWN_REVISIONS = 20


def _show_contract(detail: Members, revisions: list[Members]) -> None:
    contract = detail.member("contract")
    say(f"{contract.text('owner')}/{contract.text('name')}: {contract.text('kind')}", style="bold")
    if contract.text("description"):
        say(f"  {contract.text('description')}")
    say(f"  class {contract.text('class')}, visibility {contract.text('visibility')}")
    say(f"  team {contract.optional_text('team') or '-'}, level {level_words(contract.optional_text('compatibility'))}")
    aliases = detail.each("aliases")
    if aliases:
        say()
        table(
            ("ALIAS", "REVISION", "BEFORE", "MOVED", "BY"),
            [
                (
                    alias.text("alias"),
                    str(alias.number("revision")),
                    str(alias.optional_number("previous") or "-"),
                    moment(alias.text("moved_at")),
                    alias.text("moved_by"),
                )
                for alias in aliases
            ],
        )
    say()
    table(
        ("REVISION", "STATE", "DIGEST", "AUTHOR", "CREATED", "MESSAGE"),
        [
            (
                str(each.number("number")),
                each.text("state") + (", retired" if each.optional_text("retired_at") else ""),
                each.text("digest")[:19] + "…",
                each.text("author"),
                moment(each.text("created_at")),
                each.text("message"),
            )
            for each in revisions
        ],
    )
    latest = contract.number("latest")
    if len(revisions) == _SHOWN_REVISIONS and revisions[-1].number("number") > 1:
        say(f"  … and older ones; the highest number is {latest}")


def _show_revision(answer: Members) -> None:
    contract, revision = answer.member("contract"), answer.member("revision")
    say(f"{contract.text('owner')}/{spelled(answer)}: {revision.text('kind')}, {revision.text('state')}", style="bold")
    if revision.optional_text("retired_at") is not None:
        say(f"  retired {moment(revision.text('retired_at'))}", style="yellow")
    if revision.text("state_reason"):
        say(f"  {revision.text('state_reason')}")
    alias = answer.optional_text("alias")
    signature = revision.optional_member("signature")
    policy = revision.member("policy")
    lines = {
        "alias": alias or "",
        "digest": revision.text("digest"),
        "annotations": revision.text("annotation_digest"),
        "id": revision.text("id"),
        "signature": "" if signature is None else signature_words(signature),
        "author": f"{revision.text('author')}, {moment(revision.text('created_at'))}",
        "message": revision.text("message"),
        "dialect": revision.optional_text("dialect") or "",
        "policy": policy_words(policy),
        "refers to": ", ".join(each.text("uri") for each in revision.each("dependencies")),
        "translated": "; ".join(revision.texts("transformations")),
    }
    for name, text in lines.items():
        if text:
            say(f"  {name:<12}{text}")
    say()
    say(source_text(answer))


def signature_words(signature: Members) -> str:
    """What a revision's signatures amount to, and by which key."""
    key = signature.optional_text("key_id")
    return signature.text("status") + (f" by {key}" if key else "")


def policy_words(policy: Members) -> str:
    """An enforcement policy as one reads it."""
    words = ["a keyword may be checked after" if policy.flag("allow_checked_after") else "strict"]
    words.extend(
        f"unknown {what}s are annotations"
        for what in ("keyword", "format")
        if policy.text(f"unknown_{what}") == "annotation"
    )
    return ", ".join(words)


def source_text(answer: Members) -> str:
    """The registered text for reading: a text as it is, JSON with a member a line."""
    source = answer.value.get("source")
    return source.rstrip("\n") if isinstance(source, str) else spread(source)


def spread(value: JsonValue, indent: str = "") -> str:
    """JSON, one member or item a line, short ones together; numbers exact."""
    text = canonical_json(value)
    if len(indent) + len(text) <= _LINE_CHARACTERS or not isinstance(value, dict | list):
        return text
    inner = indent + "  "
    if isinstance(value, dict):
        parts = [f"{inner}{canonical_json(name)}: {spread(member, inner)}" for name, member in value.items()]
        return "{\n" + ",\n".join(parts) + f"\n{indent}}}"
    return "[\n" + ",\n".join(f"{inner}{spread(item, inner)}" for item in value) + f"\n{indent}]"


_LINE_CHARACTERS = 100


def moment(text: str) -> str:
    """A time stamp without its fractions."""
    return text[:19].replace("T", " ")
