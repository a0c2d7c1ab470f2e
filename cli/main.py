"""The `schemagate` command: one file per subcommand, mounted here."""

import typer

from cli import key
from cli.conform.command import conform_command
from cli.up.command import up_command

app = typer.Typer(no_args_is_help=True, add_completion=False, help="A contract is enforced, or refused by name.")
app.command("up")(up_command)
app.command("conform")(conform_command)
app.add_typer(key.app, name="key")

if __name__ == "__main__":
    app()
