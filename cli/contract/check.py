"""`schemagate contract check`: would these contracts be taken? For pipelines; nothing is ever written."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from cli.contract.definition_file import read_definition
from cli.contract.folder import Submission, read_folder
from cli.contract.judging import Judged, Standing, worst_exit, would_pass
from cli.contract.options import CheckedAfter, Dialect, Kind, UnknownFormat, UnknownKeyword, read_terms
from cli.contract.terms import Terms, read_level
from cli.contract.wording import QUESTIONS, comparison_words, level_words, question
from cli.remote.exits import CommandError, Exit, ending
from cli.remote.options import DEFAULT_URL, ApiKey, AsJson, Url, connected
from cli.remote.printing import print_json, say, table, warn

What = Annotated[str, typer.Argument(metavar="NAME|FOLDER", help="The contract that FILE is for, or a folder.")]
File = Annotated[Path | None, typer.Argument(metavar="[FILE]", help="Its text; `-` for standard input.")]

_STYLES = {
    Standing.NEW: "green",
    Standing.UNCHANGED: "dim",
    Standing.REFUSED: "red",
    Standing.INCOMPATIBLE: "red",
    Standing.UNDECIDED: "yellow",
}


@ending
def check_command(
    what: What,
    file: File = None,
    mode: Annotated[
        str | None, typer.Option("--mode", help="The level to keep, instead of the contract's own.")
    ] = None,
    kind: Kind = None,
    dialect: Dialect = None,
    allow_checked_after: CheckedAfter = None,
    unknown_keyword: UnknownKeyword = None,
    unknown_format: UnknownFormat = None,
    url: Url = DEFAULT_URL,
    api_key: ApiKey = "",
    as_json: AsJson = False,
) -> None:
    """Say whether a contract, or each of a folder, would be taken as the next revision. Nothing is written."""
    level = None if mode is None else read_level(mode, place="--mode")
    terms = read_terms(
        kind=kind,
        dialect=dialect,
        allow_checked_after=allow_checked_after,
        unknown_keyword=unknown_keyword,
        unknown_format=unknown_format,
    )
    submissions = submissions_of(what, file, terms)
    gateway = connected(url, api_key)
    judged = [would_pass(gateway, each, level) for each in submissions]
    if as_json:
        print_json({"contracts": [each.as_json() for each in judged], "passes": all(each.passes for each in judged)})
    else:
        print_judged(judged)
    code = worst_exit(judged)
    if code is not Exit.FINE:
        raise typer.Exit(int(code))


def submissions_of(what: str, file: Path | None, terms: Terms) -> tuple[Submission, ...]:
    """One contract, or those of a folder, whose own terms come before the options. Raises `CommandError`."""
    if file is not None:
        return (Submission(name=what, definition=read_definition(file, terms.kind), terms=terms),)
    path = Path(what)
    if not path.is_dir():
        why = "it is a file: say the contract's NAME before it" if path.is_file() else "it is no folder"
        message = f"cannot use {what[:200]}: {why}"
        raise CommandError(message, exit_code=Exit.USAGE, code="unusable_file")
    folder = read_folder(path)
    if folder.left_alone:
        warn(f"left alone in {path}: {', '.join(folder.left_alone[:20])}")
    return tuple(
        Submission(name=each.name, definition=each.definition, terms=each.terms.over(terms))
        for each in folder.submissions
    )


def print_judged(judged: Sequence[Judged]) -> None:
    """A table, and below it why whatever was refused was refused."""
    rows = [
        (
            each.submission.name,
            each.standing.value if each.revision is None else f"{each.standing.value} ({each.revision})",
            *comparison_words(each.compatibility),
        )
        for each in judged
    ]
    styles = [_STYLES[each.standing] for each in judged]
    table(("CONTRACT", "RESULT", "AGAINST", "CONSUMER-SAFE", "PRODUCER-SAFE"), rows, styles=styles)
    for each in judged:
        if not each.passes:
            say()
            say(f"{each.submission.name} ({each.submission.definition.path}): {each.standing.value}", style="bold red")
            for line in _why(each):
                say(f"  {line}")


def _why(judged: Judged) -> list[str]:
    if judged.error is not None:
        return str(judged.error).split("\n")
    if judged.compatibility is None:
        return []
    lines = [f"the level is {level_words(judged.compatibility.optional_text('level'))}"]
    for comparison in judged.compatibility.each("comparisons"):
        for name in QUESTIONS:
            verdict = comparison.member(name)
            if verdict.text("verdict") == "safe":
                continue
            lines.append(f"against {comparison.number('against')}, {question(name)}: {verdict.text('message')}")
            if verdict.optional_text("witness") is not None:
                lines.append(f"  document: {verdict.text('witness')}")
    return lines
