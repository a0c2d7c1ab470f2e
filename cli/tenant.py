"""`schemagate tenant`: the organisations of an installation and their teams."""

from typing import Annotated

import typer

from cli.key import desk_at
from cli.remote.exits import ending
from cli.remote.members import Members
from cli.remote.options import AsJson
from cli.remote.printing import print_json, say, table
from cli.tenancy.options import AdminKey, AdminUrl, DatabaseUrl, Place
from registry.contract import JsonValue
from registry.naming import read_team

app = typer.Typer(no_args_is_help=True, help="Create, list, disable and enable tenants, and their teams.")
teams = typer.Typer(no_args_is_help=True, help="Teams within a tenant: they own contracts and have budgets.")
app.add_typer(teams, name="team")

TenantArgument = Annotated[str, typer.Argument(metavar="TENANT", help="Its id.")]
_MAX_NAME_CHARACTERS = 128


@app.command("create")
@ending
def create(
    tenant: TenantArgument,
    name: Annotated[str, typer.Option(help="What people call it.")] = "",
    database_url: DatabaseUrl = None,
    url: AdminUrl = None,
    api_key: AdminKey = "",
    as_json: AsJson = False,
) -> None:
    """Make a tenant. It has no key yet: `schemagate key issue`."""
    if read_team(tenant) is None:
        raise typer.BadParameter(_ID_RULE, param_hint="TENANT")
    made = desk_at(Place(database_url=database_url, url=url, api_key=api_key)).create_tenant(tenant, name=_name(name))
    _print(made, f"made {tenant}", as_json=as_json)


@app.command("list")
@ending
def list_tenants(
    database_url: DatabaseUrl = None, url: AdminUrl = None, api_key: AdminKey = "", as_json: AsJson = False
) -> None:
    """List tenants: id, since when, whether they are enabled, name."""
    found = list(desk_at(Place(database_url=database_url, url=url, api_key=api_key)).tenants())
    if as_json:
        listed: list[JsonValue] = [each.value for each in found]
        print_json({"tenants": listed})
        return
    table(("TENANT", "SINCE", "STATE", "NAME"), [_row(each) for each in found])


@app.command("disable")
@ending
def disable(
    tenant: TenantArgument,
    database_url: DatabaseUrl = None,
    url: AdminUrl = None,
    api_key: AdminKey = "",
    as_json: AsJson = False,
) -> None:
    """Let nobody of a tenant in, within a second. Whatever it has stays as it is."""
    _set(tenant, {"disabled": True}, Place(database_url=database_url, url=url, api_key=api_key), as_json=as_json)


@app.command("enable")
@ending
def enable(
    tenant: TenantArgument,
    database_url: DatabaseUrl = None,
    url: AdminUrl = None,
    api_key: AdminKey = "",
    as_json: AsJson = False,
) -> None:
    """Let a tenant's keys and tokens in again."""
    _set(tenant, {"disabled": False}, Place(database_url=database_url, url=url, api_key=api_key), as_json=as_json)


@app.command("rename")
@ending
def rename(
    tenant: TenantArgument,
    name: Annotated[str, typer.Argument(help="What people call it.")],
    database_url: DatabaseUrl = None,
    url: AdminUrl = None,
    api_key: AdminKey = "",
    as_json: AsJson = False,
) -> None:
    """Give a tenant another name; its id stays."""
    _set(tenant, {"name": _name(name)}, Place(database_url=database_url, url=url, api_key=api_key), as_json=as_json)


@teams.command("create")
@ending
def create_team(
    tenant: TenantArgument,
    team: Annotated[str, typer.Argument(metavar="TEAM")],
    database_url: DatabaseUrl = None,
    url: AdminUrl = None,
    api_key: AdminKey = "",
    as_json: AsJson = False,
) -> None:
    """Make a team. It is never deleted: contracts, budgets and the audit name it."""
    if read_team(team) is None:
        raise typer.BadParameter(_ID_RULE, param_hint="TEAM")
    made = desk_at(Place(database_url=database_url, url=url, api_key=api_key)).create_team(tenant, team)
    _print(made, f"made {team} of {tenant}", as_json=as_json)


@teams.command("list")
@ending
def list_teams(
    tenant: TenantArgument,
    database_url: DatabaseUrl = None,
    url: AdminUrl = None,
    api_key: AdminKey = "",
    as_json: AsJson = False,
) -> None:
    """List a tenant's teams."""
    found = desk_at(Place(database_url=database_url, url=url, api_key=api_key)).teams(tenant)
    if as_json:
        listed: list[JsonValue] = [each.value for each in found]
        print_json({"teams": listed})
        return
    table(("TEAM", "SINCE"), [(each.text("name"), each.text("created_at")[:10]) for each in found])


_ID_RULE = "it begins with a letter or digit and has up to 63 more of letters, digits, '.', '_' and '-'"


def _set(tenant: str, sent: dict[str, JsonValue], place: Place, *, as_json: bool) -> None:
    changed = desk_at(place).change_tenant(tenant, sent)
    state = "disabled" if changed.optional_text("disabled_at") else "enabled"
    _print(changed, f"{tenant} ({changed.text('name') or 'no name'}) is {state}", as_json=as_json)


def _print(answer: Members, words: str, *, as_json: bool) -> None:
    if as_json:
        print_json(answer.value)
    else:
        say(words)


def _row(tenant: Members) -> tuple[str, str, str, str]:
    state = "disabled" if tenant.optional_text("disabled_at") else "enabled"
    return tenant.text("id"), tenant.text("created_at")[:10], state, tenant.text("name") or "-"


def _name(text: str) -> str:
    if len(text) > _MAX_NAME_CHARACTERS or not text.isprintable():
        raise typer.BadParameter(f"at most {_MAX_NAME_CHARACTERS} printable characters", param_hint="NAME")
    return text
