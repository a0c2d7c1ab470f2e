"""`schemagate contract usage`: who uses a contract, and whether it could be retired."""

from typing import Annotated

import typer

from cli.contract.listing import moment
from cli.contract.naming import contract_place
from cli.remote.exits import Exit, ending
from cli.remote.options import DEFAULT_URL, ApiKey, AsJson, Url, connected
from cli.remote.printing import print_json, say, table


@ending
def usage_command(
    name: Annotated[str, typer.Argument(metavar="NAME")],
    require_safe: Annotated[bool, typer.Option("--require-safe", help="End with 1 if somebody would miss it.")] = False,
    url: Url = DEFAULT_URL,
    api_key: ApiKey = "",
    as_json: AsJson = False,
) -> None:
    """Say how each revision has been used, and whether the contract is safe to retire; if not, why."""
    place = contract_place(name, below="/usage")
    answer = connected(url, api_key).get(place.path, place.query)
    is_safe = answer.flag("safe_to_retire")
    if as_json:
        print_json(answer.value)
    else:
        rows = [
            (
                str(each.number("revision")),
                str(each.number("requests")),
                moment(each.optional_text("last_used_at") or "never"),
            )
            for each in answer.each("revisions")
        ]
        if rows:
            table(("REVISION", "REQUESTS", "LAST USED"), rows)
        else:
            say("no request has named it")
        say()
        if is_safe:
            say("safe to retire", style="bold green")
        else:
            say("not safe to retire:", style="bold yellow")
            for reason in answer.texts("reasons"):
                say(f"  {reason}")
    if require_safe and not is_safe:
        raise typer.Exit(int(Exit.NO))
