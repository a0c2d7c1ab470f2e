"""`schemagate key`: API keys, in the gateway's database or through its admin API.

What opens the database is loaded by the commands that do: every other command loads this file too, and starts in half
the time without it.
"""

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Final

import typer

from cli.remote.exits import CommandError, Exit, ending
from cli.remote.members import Members
from cli.remote.options import AsJson, connected
from cli.remote.printing import print_json, say
from cli.tenancy.options import AdminKey, AdminUrl, DatabaseUrl, OfTenant, PepperText, Place
from policy.roles import Role
from policy.scopes import Scope
from registry.contract import JsonValue
from registry.naming import read_team

if TYPE_CHECKING:
    from cli.tenancy.desk import Desk

app = typer.Typer(no_args_is_help=True, help="Issue, list, rotate, change and revoke API keys.")

MAX_TEXT_CHARACTERS: Final = 128
_MAX_DAYS = 36_500
_MAX_OVERLAP_SECONDS = 30 * 24 * 3600

KeyArgument = Annotated[
    str, typer.Argument(metavar="KEY", help="The id: the part of the key between `sg_` and the next `_`.")
]


def desk_at(place: Place) -> "Desk":
    """Who does it."""
    if place.url is not None:
        from cli.tenancy.through_api import ApiDesk

        return ApiDesk(connected(place.url, place.api_key))
    from cli.tenancy.at_hand import HandDesk

    return HandDesk(place)


@app.command("create", hidden=True)
@app.command("issue")
@ending
def issue(
    tenant: Annotated[str, typer.Argument(help="Whose key. At hand, the tenant is made with its first key.")],
    database_url: DatabaseUrl = None,
    pepper: PepperText = None,
    label: Annotated[str, typer.Option(help="What the key is for; shown in `key list`.")] = "",
    expires_in_days: Annotated[int | None, typer.Option(min=1, max=_MAX_DAYS, help="After this the key ends.")] = None,
    principal: Annotated[
        str | None,
        typer.Option(
            help="Whose key it is, a person or a service: two keys of one principal are never two persons. "
            "Without one the key stands for itself."
        ),
    ] = None,
    team: Annotated[str | None, typer.Option(help="The team whose contracts the key may change.")] = None,
    role: Annotated[
        list[Role] | None,
        typer.Option(help="What the key may do in the registry; may be given several times. Without one: caller."),
    ] = None,
    scope: Annotated[
        list[Scope] | None,
        typer.Option(help="Where the key may be used; may be given several times. Without one: where its roles may."),
    ] = None,
    url: AdminUrl = None,
    api_key: AdminKey = "",
    as_json: AsJson = False,
) -> None:
    """Make a key and print it. It is shown this once: only a keyed digest is kept."""
    if not 1 <= len(tenant) <= 64 or not tenant.isprintable():
        raise typer.BadParameter("a tenant name has 1 to 64 printable characters", param_hint="TENANT")
    _check_text(label, "--label")
    sent: dict[str, JsonValue] = {"label": label, "roles": [*sorted(each.value for each in role or [Role.CALLER])]}
    if principal is not None:
        sent["principal"] = _principal(principal)
    if team is not None:
        sent["team"] = _team(team)
    if scope:
        sent["scopes"] = [*sorted(each.value for each in scope)]
    if expires_in_days is not None:
        sent["expires_at"] = _in_days(expires_in_days)
    place = Place(database_url=database_url, pepper=pepper, url=url, api_key=api_key)
    _show_secret(desk_at(place).issue(tenant, sent), as_json=as_json)


@app.command("list")
@ending
def list_keys(
    database_url: DatabaseUrl = None,
    tenant: Annotated[str | None, typer.Option(help="Only this tenant's keys.")] = None,
    url: AdminUrl = None,
    api_key: AdminKey = "",
    as_json: AsJson = False,
) -> None:
    """List keys: id, tenant, state, when it was made, principal, team, roles, label. No secret can be shown."""
    keys = desk_at(Place(database_url=database_url, url=url, api_key=api_key)).keys(tenant)
    if as_json:
        listed: list[JsonValue] = [key.value for key in keys]
        print_json({"keys": listed})
        return
    for key in keys:
        columns = (
            key.text("id"),
            key.text("tenant"),
            key.text("state"),
            f"{key.text('created_at')[:19]}Z",
            key.text("principal"),
            key.optional_text("team") or "-",
            ",".join(key.texts("roles")),
            key.text("label"),
        )
        typer.echo("\t".join(columns))


@app.command("show")
@ending
def show(
    key_id: KeyArgument,
    database_url: DatabaseUrl = None,
    tenant: OfTenant = None,
    url: AdminUrl = None,
    api_key: AdminKey = "",
    as_json: AsJson = False,
) -> None:
    """Show everything that is kept of a key but its digests."""
    place = Place(database_url=database_url, url=url, api_key=api_key)
    _describe(desk_at(place).key(tenant, key_id), as_json=as_json)


@app.command("rotate")
@ending
def rotate(
    key_id: KeyArgument,
    overlap_seconds: Annotated[
        int,
        typer.Option(
            min=0,
            max=_MAX_OVERLAP_SECONDS,
            help="How long the secret before is taken as well; 0 ends it at once, as after a leak.",
        ),
    ],
    database_url: DatabaseUrl = None,
    pepper: PepperText = None,
    tenant: OfTenant = None,
    url: AdminUrl = None,
    api_key: AdminKey = "",
    as_json: AsJson = False,
) -> None:
    """Give a key another secret and print the key. Budget, audit and ownership stay: the id is the same."""
    place = Place(database_url=database_url, pepper=pepper, url=url, api_key=api_key)
    _show_secret(desk_at(place).rotate(tenant, key_id, overlap_seconds=overlap_seconds), as_json=as_json)


@app.command("change")
@ending
def change(
    key_id: KeyArgument,
    label: Annotated[str | None, typer.Option(help="What the key is for.")] = None,
    expires_in_days: Annotated[int | None, typer.Option(min=1, max=_MAX_DAYS, help="When the key ends.")] = None,
    never_expires: Annotated[bool, typer.Option("--never-expires", help="It has no end.")] = False,
    role: Annotated[list[Role] | None, typer.Option(help="All its roles from now on.")] = None,
    scope: Annotated[list[Scope] | None, typer.Option(help="All its scopes from now on.")] = None,
    scopes_of_roles: Annotated[
        bool, typer.Option("--scopes-of-roles", help="It may be used where its roles may.")
    ] = False,
    database_url: DatabaseUrl = None,
    tenant: OfTenant = None,
    url: AdminUrl = None,
    api_key: AdminKey = "",
    as_json: AsJson = False,
) -> None:
    """Change what is said of a key; the rest stays."""
    if (never_expires and expires_in_days is not None) or (scopes_of_roles and scope):
        raise CommandError("these options say opposites", exit_code=Exit.USAGE, code="conflicting_options")
    sent: dict[str, JsonValue] = {}
    if label is not None:
        _check_text(label, "--label")
        sent["label"] = label
    if never_expires or expires_in_days is not None:
        sent["expires_at"] = None if expires_in_days is None else _in_days(expires_in_days)
    if role:
        sent["roles"] = [*sorted(each.value for each in role)]
    if scopes_of_roles or scope:
        sent["scopes"] = None if not scope else [*sorted(each.value for each in scope)]
    if not sent:
        raise CommandError("say what is to change", exit_code=Exit.USAGE, code="nothing_to_change")
    place = Place(database_url=database_url, url=url, api_key=api_key)
    _describe(desk_at(place).change(tenant, key_id, sent), as_json=as_json)


@app.command("revoke")
@ending
def revoke(
    key_id: KeyArgument,
    database_url: DatabaseUrl = None,
    tenant: OfTenant = None,
    url: AdminUrl = None,
    api_key: AdminKey = "",
) -> None:
    """Revoke a key. A running gateway stops taking it within a second."""
    desk_at(Place(database_url=database_url, url=url, api_key=api_key)).revoke(tenant, key_id)
    typer.echo(f"revoked {key_id}")


def _show_secret(key: Members, *, as_json: bool) -> None:
    if as_json:
        print_json(key.value)
    else:
        typer.echo(key.text("key"))


def _describe(key: Members, *, as_json: bool) -> None:
    if as_json:
        print_json(key.value)
        return
    for name, value in key.value.items():
        words = ", ".join(map(str, value)) if isinstance(value, list) else value
        say(f"{name.replace('_', ' ')}: {'-' if words in (None, '') else words}")


def _in_days(days: int) -> str:
    return (datetime.now(UTC) + timedelta(days=days)).isoformat(timespec="seconds")


def _check_text(text: str, option: str) -> None:
    # A tab or line feed would forge a column or a line of `key list`.
    if len(text) > MAX_TEXT_CHARACTERS or not text.isprintable():
        message = f"at most {MAX_TEXT_CHARACTERS} characters, all of them printable"
        raise typer.BadParameter(message, param_hint=option)


def _principal(text: str) -> str:
    _check_text(text, "--principal")
    if not text.strip() or text.startswith("key:"):
        message = (
            "a principal has a name, which does not begin with `key:`: so keys that stand for themselves are called"
        )
        raise typer.BadParameter(message, param_hint="--principal")
    return text


def _team(text: str) -> str:
    if read_team(text) is None:
        message = (
            "a team's name begins with a letter or digit and has up to 63 more of letters, digits, '.', '_' and '-'"
        )
        raise typer.BadParameter(message, param_hint="--team")
    return text
