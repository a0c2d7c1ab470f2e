"""`schemagate key create|list|revoke`: API keys in the gateway's database.

What opens the database is loaded by the commands that do: every other command loads this file too, and starts in half
the time without it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from cli.up.layout import Layout, Ports, default_cache_dir, default_state_dir
from gateway.identifiers import KeyId
from policy.roles import Role
from registry.identifiers import PrincipalId, TeamName, TenantId
from registry.naming import read_team

if TYPE_CHECKING:
    from gateway.auth.store import KeyRecord, KeyStore

_Result = TypeVar("_Result")

app = typer.Typer(no_args_is_help=True, help="Create, list and revoke API keys.")

DatabaseUrl = Annotated[
    str | None,
    typer.Option(
        envvar="SCHEMAGATE_GATEWAY_DATABASE_URL",
        help="The gateway's database, as SQLAlchemy spells it; without one, that of `schemagate up`.",
    ),
]
PepperText = Annotated[
    str | None,
    typer.Option(
        envvar="SCHEMAGATE_GATEWAY_KEY_PEPPER",
        help="The gateway's key pepper; without one, that of `schemagate up`. Prefer the environment: a command line "
        "is visible to other users.",
    ),
]
_MAX_DAYS = 36_500


def _run(database_url: str | None, work: "Callable[[KeyStore], Awaitable[_Result]]") -> _Result:
    """Do something with the store; a database that cannot be used is one line and status 1."""
    from gateway.auth.store import KeyStore
    from gateway.errors import StoreUnavailableError

    async def run() -> _Result:
        store = await KeyStore.open(database_url or _embedded().database_url)
        try:
            return await work(store)
        finally:
            await store.close()

    try:
        return asyncio.run(run())
    except StoreUnavailableError as error:
        typer.echo(f"the database cannot be used: {error.reason}", err=True)
        raise typer.Exit(1) from error


def _embedded() -> Layout:
    """The installation that `schemagate up` would start here; it has to exist."""
    layout = Layout(host="127.0.0.1", ports=Ports(), state_dir=default_state_dir(), cache_dir=default_cache_dir())
    if not (layout.state_dir / "pepper").is_file():
        typer.echo(
            f"no installation in {layout.state_dir}: set SCHEMAGATE_STATE_DIR to where `schemagate up` keeps it, "
            "or SCHEMAGATE_GATEWAY_DATABASE_URL and SCHEMAGATE_GATEWAY_KEY_PEPPER to those of a gateway",
            err=True,
        )
        raise typer.Exit(1)
    return layout


@app.command("create")
def create(
    tenant: Annotated[str, typer.Argument(help="Whose key; the tenant is made with its first key.")],
    database_url: DatabaseUrl = None,
    pepper: PepperText = None,
    label: Annotated[str, typer.Option(help="What the key is for.")] = "",
    expires_in_days: Annotated[
        float | None, typer.Option(help="Days until it stops working.", min=0, max=_MAX_DAYS)
    ] = None,
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
) -> None:
    """Make a key and print it. It is shown this once: only a keyed digest is kept."""
    from gateway.auth.issue import DEFAULT_ROLES, issue_key
    from gateway.auth.keys import Pepper

    if not 1 <= len(tenant) <= 64:
        raise typer.BadParameter("a tenant name has 1 to 64 characters", param_hint="TENANT")
    _check_text(label, "--label")
    holder = None if principal is None else _principal(principal)
    group = None if team is None else _team(team)
    roles = frozenset(role) if role else DEFAULT_ROLES
    try:
        secret = Pepper(pepper or _embedded().pepper())
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--pepper") from error

    async def make(store: "KeyStore") -> str:
        now = datetime.now(UTC)
        expires_at = None if expires_in_days is None else now + timedelta(days=expires_in_days)
        key = await issue_key(
            store,
            secret,
            tenant=TenantId(tenant),
            label=label,
            at=now,
            expires_at=expires_at,
            principal=holder,
            team=group,
            roles=roles,
        )
        return key.text

    typer.echo(_run(database_url, make))


@app.command("list")
def list_keys(
    database_url: DatabaseUrl = None,
    tenant: Annotated[str | None, typer.Option(help="Only this tenant's keys.")] = None,
) -> None:
    """List keys: id, tenant, state, when it was made, principal, team, roles, label. No secret can be shown."""

    async def read(store: "KeyStore") -> "Sequence[KeyRecord]":
        return await store.records(None if tenant is None else TenantId(tenant))

    now = datetime.now(UTC)
    for record in _run(database_url, read):
        state = "live" if record.is_live(now) else "revoked" if record.revoked_at else "expired"
        made = f"{record.created_at:%Y-%m-%dT%H:%M:%SZ}"
        roles = ",".join(sorted(record.roles))
        columns = (record.key_id, record.tenant, state, made, record.principal, record.team or "-", roles, record.label)
        typer.echo("\t".join(columns))


@app.command("revoke")
def revoke(
    key_id: Annotated[str, typer.Argument(help="The id: the part of the key between `sg_` and the next `_`.")],
    database_url: DatabaseUrl = None,
) -> None:
    """Revoke a key. A running gateway stops taking it within a second."""

    async def end(store: "KeyStore") -> bool:
        return await store.revoke(KeyId(key_id), at=datetime.now(UTC))

    if not _run(database_url, end):
        typer.echo(f"no live key has the id {key_id!r}", err=True)
        raise typer.Exit(1)
    typer.echo(f"revoked {key_id}")


def _check_text(text: str, option: str) -> None:
    from gateway.auth.store import MAX_TEXT_CHARACTERS

    # A tab or line feed would forge a column or a line of `key list`.
    if len(text) > MAX_TEXT_CHARACTERS or not text.isprintable():
        message = f"at most {MAX_TEXT_CHARACTERS} characters, all of them printable"
        raise typer.BadParameter(message, param_hint=option)


def _principal(text: str) -> PrincipalId:
    _check_text(text, "--principal")
    if not text.strip() or text.startswith("key:"):
        message = (
            "a principal has a name, which does not begin with `key:`: so keys that stand for themselves are called"
        )
        raise typer.BadParameter(message, param_hint="--principal")
    return PrincipalId(text)


def _team(text: str) -> TeamName:
    team = read_team(text)
    if team is None:
        message = (
            "a team's name begins with a letter or digit and has up to 63 more of letters, digits, '.', '_' and '-'"
        )
        raise typer.BadParameter(message, param_hint="--team")
    return team
