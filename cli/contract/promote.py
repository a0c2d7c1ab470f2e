"""`schemagate contract promote`, `approve`, `reject`, `withdraw`, `rollback`, `drop`: how aliases move."""

from typing import Annotated

import typer

from cli.contract.naming import alias_of, contract_place, fetch_revision, id_segment, read_alias_name, spelled
from cli.remote.exits import CommandError, Exit, ending
from cli.remote.members import Members
from cli.remote.options import DEFAULT_URL, ApiKey, AsJson, Reason, Url, connected
from cli.remote.printing import print_json, say
from registry.contract import JsonValue
from registry.naming import DEFAULT_ALIAS

PromotionId = Annotated[str, typer.Argument(metavar="PROMOTION", help="As `promote` printed it: prm_…")]
Override = Annotated[
    bool, typer.Option("--override", help="Although it is not proved safe; takes an operator, and the audit says so.")
]
IfVersion = Annotated[int | None, typer.Option("--if-version", min=0, help="Only if the alias has this version still.")]


@ending
def promote_command(
    reference: Annotated[str, typer.Argument(metavar="REF", help="The revision: invoice@3, invoice@canary, …")],
    to: Annotated[str, typer.Option("--to", metavar="ALIAS", help="The alias that is to name it.")] = DEFAULT_ALIAS,
    reason: Reason = "",
    override: Override = False,
    if_version: IfVersion = None,
    new: Annotated[bool, typer.Option("--new", help="Only if there is no such alias yet.")] = False,
    url: Url = DEFAULT_URL,
    api_key: ApiKey = "",
    as_json: AsJson = False,
) -> None:
    """Let an alias name a revision; where policy asks for a second person, propose it."""
    gateway = connected(url, api_key)
    answer = fetch_revision(gateway, reference)
    contract = answer.member("contract")
    place = contract_place(f"{contract.text('owner')}/{contract.text('name')}", below=f"/aliases/{read_alias_name(to)}")
    body: dict[str, JsonValue] = {"revision": answer.member("revision").number("number"), "reason": reason}
    if override:
        body["override"] = True
    done = gateway.write("PUT", place.path, body, query=place.query, version=if_version, must_be_new=new)
    if as_json:
        print_json({"moved": done.status != 202, **done.members.value})
    elif done.status == 202:
        promotion = done.members.text("id")
        say(f"proposed as {promotion}: {contract.text('name')}@{to} is to name {spelled(answer)}")
        say(f"an approver applies it: schemagate contract approve {promotion}")
    else:
        _print_moved(done.members)


@ending
def approve_command(
    promotion: PromotionId,
    reason: Reason = "",
    override: Override = False,
    url: Url = DEFAULT_URL,
    api_key: ApiKey = "",
    as_json: AsJson = False,
) -> None:
    """Apply a proposed promotion, as its second person. Everything is checked again."""
    body: dict[str, JsonValue] = {"reason": reason}
    if override:
        body["override"] = True
    path = f"/v1/promotions/{id_segment(promotion)}/approve"
    moved = connected(url, api_key).write("POST", path, body).members
    if as_json:
        print_json(moved.value)
    else:
        _print_moved(moved)


@ending
def reject_command(
    promotion: PromotionId,
    reason: Reason = "",
    url: Url = DEFAULT_URL,
    api_key: ApiKey = "",
    as_json: AsJson = False,
) -> None:
    """Turn a proposed promotion down."""
    _close(promotion, "reject", reason=reason, url=url, api_key=api_key, as_json=as_json)


@ending
def withdraw_command(
    promotion: PromotionId,
    reason: Reason = "",
    url: Url = DEFAULT_URL,
    api_key: ApiKey = "",
    as_json: AsJson = False,
) -> None:
    """Take your own proposal back."""
    _close(promotion, "withdraw", reason=reason, url=url, api_key=api_key, as_json=as_json)


@ending
def rollback_command(
    alias: Annotated[str, typer.Argument(metavar="NAME[@ALIAS]", help="invoice@prod; prod where none is said.")],
    reason: Reason = "",
    if_version: IfVersion = None,
    url: Url = DEFAULT_URL,
    api_key: ApiKey = "",
    as_json: AsJson = False,
) -> None:
    """Move an alias back to what it named before: an emergency, which waits for no second person."""
    name, which = alias_of(alias)
    place = contract_place(name, below=f"/aliases/{which}/rollback")
    moved = connected(url, api_key).write("POST", place.path, {"reason": reason}, query=place.query, version=if_version)
    if as_json:
        print_json(moved.members.value)
    else:
        _print_moved(moved.members)


@ending
def drop_command(
    alias: Annotated[str, typer.Argument(metavar="NAME@ALIAS")],
    reason: Reason = "",
    if_version: IfVersion = None,
    url: Url = DEFAULT_URL,
    api_key: ApiKey = "",
    as_json: AsJson = False,
) -> None:
    """Remove an alias. Whoever names it is told that it is not there."""
    if "@" not in alias:
        message = f"say which alias of {alias[:128]!r}: nothing is dropped that was not named"
        raise CommandError(message, exit_code=Exit.USAGE, code="invalid_name")
    name, which = alias_of(alias)
    place = contract_place(name, below=f"/aliases/{which}")
    connected(url, api_key).write("DELETE", place.path, {"reason": reason}, query=place.query, version=if_version)
    if as_json:
        print_json({"dropped": f"{name}@{which}"})
    else:
        say(f"dropped {name}@{which}")


def _close(promotion: str, how: str, *, reason: str, url: str, api_key: str, as_json: bool) -> None:
    path = f"/v1/promotions/{id_segment(promotion)}/{how}"
    closed = connected(url, api_key).write("POST", path, {"reason": reason}).members
    if as_json:
        print_json(closed.value)
    else:
        say(f"{closed.text('id')} was {closed.text('state')}: {closed.text('name')}@{closed.text('alias')} stays")


def _print_moved(answer: Members) -> None:
    alias = answer.member("alias")
    before = alias.optional_number("previous")
    was = "" if before is None else f", before it {before}"
    say(f"{answer.text('name')}@{alias.text('alias')} names revision {alias.number('revision')}{was}")
