"""`schemagate promotion`: proposals to move an alias. Deciding on them is `schemagate contract approve|reject`."""

from typing import Annotated

import typer

from cli.contract.listing import moment
from cli.contract.naming import id_segment
from cli.remote.exits import ending
from cli.remote.members import Members
from cli.remote.options import DEFAULT_URL, ApiKey, AsJson, Limit, Url, connected
from cli.remote.printing import print_json, say, table
from registry.contract import JsonValue
from registry.revision import PromotionState

app = typer.Typer(no_args_is_help=True, help="Proposals that wait for a second person.")


@app.command("list")
@ending
def list_promotions(
    state: Annotated[PromotionState | None, typer.Option("--state", help="Only those.")] = None,
    limit: Limit = 100,
    url: Url = DEFAULT_URL,
    api_key: ApiKey = "",
    as_json: AsJson = False,
) -> None:
    """List proposals, newest first."""
    query = {} if state is None else {"state": state.value}
    found = list(connected(url, api_key).pages("/v1/promotions", query, limit=limit))
    if as_json:
        listed: list[JsonValue] = [each.value for each in found]
        print_json({"promotions": listed})
        return
    _print(found)
    if not found:
        say("no promotions")


@app.command("show")
@ending
def show(
    promotion: Annotated[str, typer.Argument(metavar="PROMOTION", help="prm_…")],
    url: Url = DEFAULT_URL,
    api_key: ApiKey = "",
    as_json: AsJson = False,
) -> None:
    """Show one proposal."""
    found = connected(url, api_key).get(f"/v1/promotions/{id_segment(promotion)}")
    if as_json:
        print_json(found.value)
    else:
        _print([found])


def _print(found: list[Members]) -> None:
    table(
        ("PROMOTION", "ALIAS", "REVISION", "STATE", "PROPOSED BY", "AT", "DECIDED BY", "REASON"),
        [
            (
                each.text("id"),
                f"{each.text('name')}@{each.text('alias')}",
                str(each.number("revision")),
                each.text("state"),
                each.text("proposed_by"),
                moment(each.text("proposed_at")),
                each.optional_text("decided_by") or "-",
                each.text("reason"),
            )
            for each in found
        ],
    )
