"""The `schemagate` command: one file per subcommand, mounted here."""

from importlib.metadata import version
from typing import Annotated

import typer

from cli import audit, key, policy, promotion, signing_key, tenant
from cli.conform.command import conform_command
from cli.contract import app as contract
from cli.up.command import up_command

app = typer.Typer(no_args_is_help=True, add_completion=False, invoke_without_command=True)


@app.callback()
def schemagate(
    version_only: Annotated[bool, typer.Option("--version", is_eager=True, help="Print the version and exit.")] = False,
) -> None:
    """A contract is enforced, or refused by name."""
    if version_only:
        typer.echo(f"schemagate {version('schemagate')}")
        raise typer.Exit


app.command("up")(up_command)
app.command("conform")(conform_command)
app.add_typer(key.app, name="key")
app.add_typer(tenant.app, name="tenant")
app.add_typer(contract.app, name="contract")
app.add_typer(promotion.app, name="promotion")
app.add_typer(signing_key.app, name="signing-key")
app.add_typer(policy.app, name="policy")
app.add_typer(audit.app, name="audit")

if __name__ == "__main__":
    app()
