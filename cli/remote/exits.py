"""How a command ends, for people and for scripts: a line on stderr and a status that says which kind of no it was.

Commands raise `CommandError`; `ending` turns it into both. With `--json` the error is also the JSON value on stdout, so
that whoever reads that stream reads one value, whatever happens.
"""

import functools
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from contextvars import ContextVar
from enum import IntEnum
from typing import ParamSpec

import typer

from cli.remote.printing import print_json, warn
from registry.contract import JsonValue

_Params = ParamSpec("_Params")


class Exit(IntEnum):
    """The status of a command; `docs/cli.md` has the same table."""

    FINE = 0
    NO = 1
    """Refused, incompatible, broken: asked again, the answer is the same."""
    USAGE = 2
    """The command line, or a file that it names, cannot be used."""
    UNDECIDED = 3
    """Neither yes nor no could be shown; it is not a yes."""
    NOT_FOUND = 4
    """What is named is not there, was retired, or is not yours to see."""
    FORBIDDEN = 5
    """The key is missing or wrong, or may not do that."""
    TRY_AGAIN = 6
    """The gateway does not answer, or has no time: nothing is known, not even whether a write was done."""


class CommandError(Exception):
    """The end of a command. `members` is what `--json` says beside the message."""

    def __init__(
        self, message: str, *, exit_code: Exit, code: str = "", members: Mapping[str, JsonValue] | None = None
    ) -> None:
        super().__init__(message)
        self.exit_code = exit_code
        self.code = code
        """The gateway's stable name for it; empty where the command itself refuses."""
        self.members: Mapping[str, JsonValue] = {} if members is None else members

    def as_json(self) -> JsonValue:
        """The value that `--json` prints."""
        code = self.code or self.exit_code.name.lower()
        return {"error": {**self.members, "message": str(self), "code": code, "exit": int(self.exit_code)}}


_closing: ContextVar[ExitStack] = ContextVar("_closing")


def at_end(close: Callable[[], None]) -> None:
    """Call `close` when the running command ends, however it ends."""
    _closing.get().callback(close)


def ending(command: Callable[_Params, None]) -> Callable[_Params, None]:
    """`command`, whose `CommandError` ends the process with its status."""

    @functools.wraps(command)
    def run(*args: _Params.args, **kwargs: _Params.kwargs) -> None:
        try:
            with ExitStack() as stack:
                _closing.set(stack)
                command(*args, **kwargs)
            sys.stdout.flush()
        except CommandError as error:
            warn(str(error))
            if kwargs.get("as_json"):
                print_json(error.as_json())
            raise typer.Exit(int(error.exit_code)) from error
        except BrokenPipeError as error:
            # The reader has seen enough. What Python would still flush at exit has nowhere to go.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(int(Exit.NO)) from error

    return run
