"""`schemagate key create|list|revoke`: API keys in the gateway's database."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer

from gateway.auth.issue import issue_key
from gateway.auth.keys import Pepper
from gateway.auth.store import KeyRecord, KeyStore
from gateway.identifiers import KeyId, TenantId

app = typer.Typer(no_args_is_help=True, help="Create, list and revoke API keys.")

DatabaseUrl = Annotated[
    str, typer.Option(envvar="SCHEMAGATE_GATEWAY_DATABASE_URL", help="The gateway's database, as SQLAlchemy spells it.")
]
PepperText = Annotated[
    str,
    typer.Option(
        envvar="SCHEMAGATE_GATEWAY_KEY_PEPPER",
        help="The gateway's key pepper. Prefer the environment: a command line is visible to other users.",
    ),
]


@app.command("create")
def create(
    tenant: Annotated[str, typer.Argument(help="Whose key; the tenant is made with its first key.")],
    database_url: DatabaseUrl,
    pepper: PepperText,
    label: Annotated[str, typer.Option(help="What the key is for.")] = "",
    expires_in_days: Annotated[float | None, typer.Option(help="Days until it stops working.", min=0)] = None,
) -> None:
    """Make a key and print it. It is shown this once: only a keyed digest is kept."""
    if not 1 <= len(tenant) <= 64:
        raise typer.BadParameter("a tenant name has 1 to 64 characters", param_hint="TENANT")
    try:
        secret = Pepper(pepper)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--pepper") from error

    async def run() -> str:
        now = datetime.now(UTC)
        expires_at = None if expires_in_days is None else now + timedelta(days=expires_in_days)
        store = await KeyStore.open(database_url)
        try:
            key = await issue_key(store, secret, tenant=TenantId(tenant), label=label, at=now, expires_at=expires_at)
        finally:
            await store.close()
        return key.text

    typer.echo(asyncio.run(run()))


@app.command("list")
def list_keys(
    database_url: DatabaseUrl,
    tenant: Annotated[str | None, typer.Option(help="Only this tenant's keys.")] = None,
) -> None:
    """List keys: id, tenant, state, when it was made, label. No secret can be shown."""

    async def run() -> Sequence[KeyRecord]:
        store = await KeyStore.open(database_url)
        try:
            return await store.records(None if tenant is None else TenantId(tenant))
        finally:
            await store.close()

    now = datetime.now(UTC)
    for record in asyncio.run(run()):
        state = "live" if record.is_live(now) else "revoked" if record.revoked_at else "expired"
        typer.echo(f"{record.key_id}\t{record.tenant}\t{state}\t{record.created_at:%Y-%m-%dT%H:%M:%SZ}\t{record.label}")


@app.command("revoke")
def revoke(
    key_id: Annotated[str, typer.Argument(help="The id: the part of the key between `sg_` and the next `_`.")],
    database_url: DatabaseUrl,
) -> None:
    """Revoke a key. A running gateway stops taking it within a second."""

    async def run() -> bool:
        store = await KeyStore.open(database_url)
        try:
            return await store.revoke(KeyId(key_id), at=datetime.now(UTC))
        finally:
            await store.close()

    if not asyncio.run(run()):
        typer.echo(f"no live key has the id {key_id!r}", err=True)
        raise typer.Exit(1)
    typer.echo(f"revoked {key_id}")
