"""Where the commands are mounted."""

import typer

from cli.contract.change import change_command
from cli.contract.check import check_command
from cli.contract.diff import diff_command
from cli.contract.explain import explain_command
from cli.contract.export import export_command
from cli.contract.importing import import_command
from cli.contract.listing import list_command, show_command
from cli.contract.promote import (
    approve_command,
    drop_command,
    promote_command,
    reject_command,
    rollback_command,
    withdraw_command,
)
from cli.contract.register import register_command
from cli.contract.sign import sign_command
from cli.contract.states import activate_command, deprecate_command, retire_command, sunset_command
from cli.contract.usage import usage_command
from cli.contract.verify import verify_command

app = typer.Typer(no_args_is_help=True, help="Register, review, sign and promote contracts.")

app.command("register")(register_command)
app.command("check")(check_command)
app.command("list")(list_command)
app.command("show")(show_command)
app.command("diff")(diff_command)
app.command("explain")(explain_command)
app.command("sign")(sign_command)
app.command("verify")(verify_command)
app.command("promote")(promote_command)
app.command("approve")(approve_command)
app.command("reject")(reject_command)
app.command("withdraw")(withdraw_command)
app.command("rollback")(rollback_command)
app.command("drop")(drop_command)
app.command("activate")(activate_command)
app.command("deprecate")(deprecate_command)
app.command("sunset")(sunset_command)
app.command("change")(change_command)
app.command("retire")(retire_command)
app.command("usage")(usage_command)
app.command("export")(export_command)
app.command("import")(import_command)
