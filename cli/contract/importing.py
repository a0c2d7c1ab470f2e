"""`schemagate contract import`: an export made again, number for number and digest for digest, or not at all."""

from pathlib import Path
from typing import Annotated

import typer

from cli.contract.export_file import read_export
from cli.contract.import_plan import Plan, plan_import
from cli.contract.import_steps import Done, ImportSteps, alias_moves, is_retired, spelled
from cli.remote.exits import CommandError, ending
from cli.remote.options import DEFAULT_URL, ApiKey, AsJson, Url, connected
from cli.remote.printing import print_json, say


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
    steps = ImportSteps(gateway, export, plan)
    if dry_run:
        planned = Done(
            revisions=[spelled(each) for each in plan.register],
            aliases=[text for text, _ in alias_moves(export, plan)],
            retired=[spelled(each) for each in plan.register if is_retired(each)],
        )
        _print(planned, plan, dry_run=True, as_json=as_json)
        return
    try:
        steps.take()
    except CommandError as error:
        before = ", ".join(steps.done.revisions) or "nothing"
        raise CommandError(
            f"{error}\nregistered before that: {before}. Repair it and import the file again",
            exit_code=error.exit_code,
            code=error.code,
            members={**error.members, "done": steps.done.as_json()},
        ) from error
    _print(steps.done, plan, dry_run=False, as_json=as_json)


def _print(done: Done, plan: Plan, *, dry_run: bool, as_json: bool) -> None:
    if as_json:
        print_json({"dry_run": dry_run, "unchanged": len(plan.present), **done.as_json()})
        return
    would = "would be " if dry_run else ""
    say(f"{would}registered: {', '.join(done.revisions) or 'nothing'}")
    if plan.present:
        say(f"unchanged: {len(plan.present)} revisions")
    told = (
        ("states", done.states),
        ("signatures", done.signatures),
        ("aliases", done.aliases),
        ("retired", done.retired),
    )
    for words, items in told:
        if items:
            say(f"{words}: {', '.join(items)}")
    for note in done.notes:
        say(f"note: {note}", style="yellow")
