"""`schemagate contract import`: an export made again, number for number and digest for digest, or not at all."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Final

import typer

from cli.contract.export_file import Export, read_export
from cli.contract.import_plan import Plan, plan_import
from cli.contract.naming import contract_place
from cli.contract.recomputing import mismatch
from cli.remote.exits import CommandError, Exit, ending
from cli.remote.gateway import Gateway
from cli.remote.members import Members
from cli.remote.options import DEFAULT_URL, ApiKey, AsJson, Url, connected
from cli.remote.printing import print_json, say
from registry.contract import JsonValue
from registry.revision import RevisionState

_ORDER: Final = tuple(RevisionState)


@dataclass(slots=True)
class _Done:
    """What has been done so far; told also where the import stops."""

    revisions: list[str] = field(default_factory=list)
    states: list[str] = field(default_factory=list)
    signatures: list[str] = field(default_factory=list)
    aliases: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, JsonValue]:
        lists = {
            "revisions": self.revisions,
            "states": self.states,
            "signatures": self.signatures,
            "aliases": self.aliases,
            "notes": self.notes,
        }
        return {name: [*items] for name, items in lists.items()}


@ending
def import_command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="As `contract export` wrote it.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check everything, and write nothing.")] = False,
    url: Url = DEFAULT_URL,
    api_key: ApiKey = "",
    as_json: AsJson = False,
) -> None:
    """Register what a file holds, in order, with the same numbers and digests; aliases last. It may be run again.

    Author and time of what is registered are yours and now. Keys are not trusted by importing them: an operator does
    that, and then signatures are taken.
    """
    export = read_export(file)
    gateway = connected(url, api_key)
    plan = plan_import(gateway, export)
    done = _Done()
    if dry_run:
        done.revisions = [_spelled(each) for each in plan.register]
        done.aliases = [text for text, _ in _alias_moves(export, plan)]
        _print(done, plan, dry_run=True, as_json=as_json)
        return
    try:
        _apply(gateway, export, plan, done)
    except CommandError as error:
        before = ", ".join(done.revisions) or "nothing"
        raise CommandError(
            f"{error}\nregistered before that: {before}. Repair it and import the file again",
            exit_code=error.exit_code,
            code=error.code,
            members={**error.members, "done": done.as_json()},
        ) from error
    _print(done, plan, dry_run=False, as_json=as_json)


def _apply(gateway: Gateway, export: Export, plan: Plan, done: _Done) -> None:
    states: dict[str, str] = {}
    for answer in plan.register:
        states[_spelled(answer)] = _register(gateway, answer, is_first=_is_first(answer, plan))
        done.revisions.append(_spelled(answer))
    for answer in (*plan.present, *plan.register):
        _move_state(gateway, answer, states.get(_spelled(answer)), done)
    for name in sorted(plan.new_contracts):
        level = export.contracts[name].optional_text("compatibility")
        if level is not None:
            # Only now: it was perhaps set after revisions that do not keep it.
            gateway.write("PATCH", contract_place(name).path, {"compatibility": level})
    for signature in export.signatures:
        _sign(gateway, export, signature, done)
    for text, (name, alias, number) in _alias_moves(export, plan):
        place = contract_place(name, below=f"/aliases/{alias}")
        moved = gateway.write("PUT", place.path, {"revision": number, "reason": "imported"})
        done.aliases.append(f"{text} (proposed as {moved.members.text('id')})" if moved.status == 202 else text)


def _register(gateway: Gateway, answer: Members, *, is_first: bool) -> str:
    """Register one revision; its state then. Raises `CommandError` where it comes out as another one."""
    contract, revision = answer.member("contract"), answer.member("revision")
    state = RevisionState.DRAFT if revision.text("state") == RevisionState.DRAFT else RevisionState.ACTIVE
    body: dict[str, JsonValue] = {
        "name": contract.text("name"),
        "kind": revision.text("kind"),
        "definition": answer.value["source"],
        "policy": revision.member("policy").value,
        "state": state.value,
        "message": revision.text("message"),
    }
    if revision.optional_text("dialect") is not None:
        body["dialect"] = revision.text("dialect")
    if is_first:
        body |= {name: contract.value[name] for name in ("team", "visibility", "class", "description")}
    kept = gateway.write("POST", "/v1/contracts", body).members
    number, digest = kept.member("revision").number("number"), kept.text("digest")
    if (number, digest) != (revision.number("number"), revision.text("digest")):
        raise mismatch(f"{_spelled(answer)} came out as number {number} and {digest}")
    return kept.member("revision").text("state")


def _move_state(gateway: Gateway, answer: Members, now: str | None, done: _Done) -> None:
    revision = answer.member("revision")
    wanted = RevisionState(revision.text("state"))
    if revision.optional_text("retired_at") is not None:
        return
    name, number = answer.member("contract").text("name"), revision.number("number")
    if now is None:
        now = gateway.get(f"/v1/contracts/{name}@{number}").member("revision").text("state")
    if _ORDER.index(wanted) <= _ORDER.index(RevisionState(now)):
        return
    place = contract_place(name, below=f"/revisions/{number}/state")
    gateway.write("POST", place.path, {"state": wanted.value, "reason": revision.text("state_reason")})
    done.states.append(f"{name}@{number} is {wanted.value}")


def _sign(gateway: Gateway, export: Export, line: Members, done: _Done) -> None:
    """Hand a signature in; one that is not taken is told, and stops nothing: it can be handed in again."""
    spelled = f"{line.text('signature_of')}@{line.number('number')}"
    if line.text("signature_of") not in export.contracts:
        return
    key_id = line.member("signature").text("key_id")
    place = contract_place(line.text("signature_of"), below=f"/revisions/{line.number('number')}/signatures")
    body: dict[str, JsonValue] = {"key_id": key_id, "signature": line.member("signature").text("signature")}
    try:
        gateway.write("POST", place.path, body)
        done.signatures.append(f"{spelled} by {key_id}")
    except CommandError as error:
        if error.code == "already_signed":
            return
        if error.exit_code is not Exit.NO:
            raise
        done.notes.append(f"the signature of {spelled} by {key_id} was not taken: {error}")


def _alias_moves(export: Export, plan: Plan) -> Iterator[tuple[str, tuple[str, str, int]]]:
    for line in export.aliases:
        name, alias = line.text("alias_of"), line.member("alias")
        number = alias.number("revision")
        if plan.target_aliases.get(name, {}).get(alias.text("alias")) != number:
            yield f"{name}@{alias.text('alias')} → {number}", (name, alias.text("alias"), number)


def _is_first(answer: Members, plan: Plan) -> bool:
    is_new = answer.member("contract").text("name") in plan.new_contracts
    return is_new and answer.member("revision").number("number") == 1


def _spelled(answer: Members) -> str:
    return f"{answer.member('contract').text('name')}@{answer.member('revision').number('number')}"


def _print(done: _Done, plan: Plan, *, dry_run: bool, as_json: bool) -> None:
    if as_json:
        print_json({"dry_run": dry_run, "unchanged": len(plan.present), **done.as_json()})
        return
    would = "would be " if dry_run else ""
    say(f"{would}registered: {', '.join(done.revisions) or 'nothing'}")
    if plan.present:
        say(f"unchanged: {len(plan.present)} revisions")
    for words, items in (("states", done.states), ("signatures", done.signatures), ("aliases", done.aliases)):
        if items:
            say(f"{words}: {', '.join(items)}")
    for note in done.notes:
        say(f"note: {note}", style="yellow")
