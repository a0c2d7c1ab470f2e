"""`schemagate contract register`: everything is checked before anything is kept, then registered one by one."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import typer

from cli.contract.check import File, What, print_judged, submissions_of
from cli.contract.folder import Submission
from cli.contract.judging import Judged, Standing, registration_body, worst_exit, would_register
from cli.contract.naming import contract_place, read_alias_name
from cli.contract.options import (
    CheckedAfter,
    ClassOption,
    Description,
    Dialect,
    Kind,
    Level,
    Team,
    UnknownFormat,
    UnknownKeyword,
    VisibilityOption,
    read_terms,
)
from cli.contract.wording import comparison_words
from cli.remote.exits import CommandError, Exit, ending
from cli.remote.gateway import Gateway
from cli.remote.members import Members
from cli.remote.options import DEFAULT_URL, ApiKey, AsJson, Url, connected
from cli.remote.printing import print_json, say, table
from registry.contract import JsonValue
from registry.revision import RevisionState


@dataclass(frozen=True, slots=True, kw_only=True)
class Registered:
    """One contract after the gateway has taken it."""

    submission: Submission
    answer: Members
    alias: str = ""
    """What became of the alias that was asked for, in words."""

    @property
    def result(self) -> str:
        """new or unchanged."""
        return Standing.NEW.value if self.answer.flag("is_new") else Standing.UNCHANGED.value

    def as_json(self) -> dict[str, JsonValue]:
        """What `--json` says of it."""
        return {
            "name": self.submission.name,
            "file": str(self.submission.definition.path),
            "kind": self.submission.definition.kind.value,
            "result": self.result,
            "revision": self.answer.member("revision").number("number"),
            "revision_id": self.answer.member("revision").text("id"),
            "state": self.answer.member("revision").text("state"),
            "digest": self.answer.text("digest"),
            "compatibility": self.answer.member("compatibility").value,
            "alias": self.alias or None,
        }


@ending
def register_command(
    what: What,
    file: File = None,
    draft: Annotated[bool, typer.Option("--draft", help="Keep it as a draft, which is not served.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would happen, and keep nothing.")] = False,
    message: Annotated[str | None, typer.Option("--message", "-m", help="Why, for those who come later.")] = None,
    kind: Kind = None,
    dialect: Dialect = None,
    team: Team = None,
    visibility: VisibilityOption = None,
    contract_class: ClassOption = None,
    compatibility: Level = None,
    description: Description = None,
    allow_checked_after: CheckedAfter = None,
    unknown_keyword: UnknownKeyword = None,
    unknown_format: UnknownFormat = None,
    url: Url = DEFAULT_URL,
    api_key: ApiKey = "",
    as_json: AsJson = False,
) -> None:
    """Register a contract, or each of a folder. One that would be refused, and none is registered."""
    terms = read_terms(
        kind=kind,
        dialect=dialect,
        allow_checked_after=allow_checked_after,
        unknown_keyword=unknown_keyword,
        unknown_format=unknown_format,
        team=team,
        visibility=visibility,
        contract_class=contract_class,
        compatibility=compatibility,
        description=description,
        message=message,
    )
    submissions = submissions_of(what, file, terms)
    gateway = connected(url, api_key)
    judged = [would_register(gateway, each) for each in submissions]
    code = worst_exit(judged)
    if dry_run or code is not Exit.FINE:
        _print_unregistered(judged, as_json=as_json)
        if code is not Exit.FINE:
            raise typer.Exit(int(code))
        return
    registered = _register_all(gateway, submissions, draft=draft)
    if as_json:
        print_json({"contracts": [each.as_json() for each in registered], "registered": True})
    else:
        _print_registered(registered)


def register_one(gateway: Gateway, submission: Submission, *, draft: bool) -> Members:
    """Register it, and the gateway's answer. Raises `CommandError`."""
    body = {**registration_body(submission), "state": "draft" if draft else "active"}
    return gateway.write("POST", "/v1/contracts", body).members


def _register_all(gateway: Gateway, submissions: Sequence[Submission], *, draft: bool) -> list[Registered]:
    done: list[Registered] = []
    for submission in submissions:
        try:
            answer = register_one(gateway, submission, draft=draft)
            alias = _move_alias(gateway, submission, answer)
        except CommandError as error:
            if not done:
                raise
            # It passed a moment ago: somebody else came in between, or the gateway went away.
            names = ", ".join(each.submission.name for each in done)
            raise CommandError(
                f"{submission.name}: {error}\nregistered before that: {names}; the rest was not touched",
                exit_code=error.exit_code,
                code=error.code,
                members={**error.members, "contracts": [each.as_json() for each in done]},
            ) from error
        done.append(Registered(submission=submission, answer=answer, alias=alias))
    return done


def _move_alias(gateway: Gateway, submission: Submission, answer: Members) -> str:
    alias = submission.terms.alias
    if alias is None:
        return ""
    if answer.member("revision").text("state") == RevisionState.DRAFT:
        return f"{alias} stays: moving it would activate the draft"
    number = answer.member("revision").number("number")
    place = contract_place(submission.name, below=f"/aliases/{read_alias_name(alias)}")
    body: dict[str, JsonValue] = {"revision": number, "reason": submission.terms.message or ""}
    moved = gateway.write("PUT", place.path, body)
    if moved.status == 202:
        return f"{alias}: proposed as {moved.members.text('id')}"
    return f"{alias} names {moved.members.member('alias').number('revision')}"


def _print_unregistered(judged: Sequence[Judged], *, as_json: bool) -> None:
    if as_json:
        print_json({"contracts": [each.as_json() for each in judged], "registered": False})
        return
    print_judged(judged)
    say()
    say("nothing was registered")


def _print_registered(registered: Sequence[Registered]) -> None:
    rows = []
    for each in registered:
        revision = each.answer.member("revision")
        number, state = str(revision.number("number")), revision.text("state")
        verdicts = comparison_words(each.answer.member("compatibility"))
        rows.append((each.submission.name, each.result, number, state, *verdicts, each.alias or "-"))
    columns = ("CONTRACT", "RESULT", "REVISION", "STATE", "AGAINST", "CONSUMER-SAFE", "PRODUCER-SAFE", "ALIAS")
    table(columns, rows, styles=["green" if each.result == Standing.NEW.value else "dim" for each in registered])
