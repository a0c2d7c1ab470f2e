"""`schemagate contract change`: what holds for a name and may change."""

from typing import Annotated

import typer

from cli.contract.naming import contract_place
from cli.contract.terms import read_level
from cli.remote.exits import CommandError, Exit, ending
from cli.remote.options import DEFAULT_URL, ApiKey, AsJson, Url, connected
from cli.remote.printing import print_json, say
from registry.contract import JsonValue
from registry.revision import Visibility

UNSET = "unset"
"""What is written where there is to be none."""


@ending
def change_command(
    name: Annotated[str, typer.Argument(metavar="NAME")],
    team: Annotated[str | None, typer.Option("--team", help="The team that owns it; `unset` for none.")] = None,
    visibility: Annotated[Visibility | None, typer.Option("--visibility", help="Who may use it.")] = None,
    compatibility: Annotated[
        str | None, typer.Option("--compatibility", help="What revisions must keep; `unset`: the tenant's policy.")
    ] = None,
    description: Annotated[str | None, typer.Option("--description", help="What it is for.")] = None,
    if_version: Annotated[int | None, typer.Option("--if-version", min=0, help="Only if it is this version.")] = None,
    url: Url = DEFAULT_URL,
    api_key: ApiKey = "",
    as_json: AsJson = False,
) -> None:
    """Change a contract's team, visibility, level or description. What is not said stays."""
    body: dict[str, JsonValue] = {}
    if team is not None:
        body["team"] = None if team == UNSET else team
    if visibility is not None:
        body["visibility"] = visibility.value
    if compatibility is not None:
        is_unset = compatibility == UNSET
        body["compatibility"] = None if is_unset else read_level(compatibility, place="--compatibility").value
    if description is not None:
        body["description"] = description
    if not body:
        raise CommandError("say what is to change", exit_code=Exit.USAGE, code="nothing_to_change")
    place = contract_place(name)
    changed = connected(url, api_key).write("PATCH", place.path, body, query=place.query, version=if_version).members
    if as_json:
        print_json(changed.value)
    else:
        say(f"changed {name}: {', '.join(body)}")
