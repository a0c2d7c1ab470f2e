"""Where the commands are mounted."""

import typer

from cli.contract.check import check_command
from cli.contract.register import register_command

app = typer.Typer(no_args_is_help=True, help="Register, review, sign and promote contracts.")

app.command("register")(register_command)
app.command("check")(check_command)
