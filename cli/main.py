"""The `schemagate` command: one file per subcommand, mounted here."""

import typer

from cli.up.command import up_command

app = typer.Typer(no_args_is_help=True, add_completion=False, help="A contract is enforced, or refused by name.")
app.command("up")(up_command)

if __name__ == "__main__":
    app()
