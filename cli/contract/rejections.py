"""A contract that was refused here, without a gateway, in the words a gateway would use."""

from cli.remote.exits import CommandError, Exit
from policy.rejection import Rejection
from registry.contract import JsonValue
from registry.errors import ContractRejectedError


def rejected(error: ContractRejectedError, *, place: str) -> CommandError:
    """The end of a command whose contract at `place` was refused."""
    first = error.rejections[0]
    lines = "".join(f"\n  {_line(each)}" for each in error.rejections)
    members: list[JsonValue] = [
        {"code": str(each.code), "message": each.message, "pointer": each.pointer} for each in error.rejections
    ]
    return CommandError(
        f"{place}: refused{lines}", exit_code=Exit.NO, code=str(first.code), members={"errors": members}
    )


def _line(rejection: Rejection) -> str:
    limit = ""
    if rejection.limit_name is not None:
        limit = f" ({rejection.limit_name} is {rejection.limit}, the contract has {rejection.observed})"
    return f"{rejection.code} at {rejection.pointer or 'the root'}: {rejection.message}{limit}"
