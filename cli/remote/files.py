"""Files that a command line names, read and written within bounds; what is wrong with one is said in a line."""

import os
import sys
import tempfile
from pathlib import Path
from typing import Self

from cli.remote.exits import CommandError, Exit
from registry.contract import JsonValue
from registry.errors import ContractRejectedError
from registry.parsing import parse_json

STDIN = Path("-")
"""Stands for standard input wherever a file is read."""


def read_bytes(path: Path, *, max_bytes: int) -> bytes:
    """The content, never more of it than `max_bytes` and one more. Raises `CommandError`."""
    try:
        if path == STDIN:
            data = sys.stdin.buffer.read(max_bytes + 1)
        else:
            with path.open("rb") as file:
                data = file.read(max_bytes + 1)
    except (OSError, ValueError) as error:  # ValueError: a path with U+0000
        raise unusable(path, _reason(error)) from error
    if len(data) > max_bytes:
        raise unusable(path, f"it has more than {max_bytes} bytes")
    return data


def read_text(path: Path, *, max_bytes: int) -> str:
    """The content as UTF-8. Raises `CommandError`."""
    data = read_bytes(path, max_bytes=max_bytes)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise unusable(path, f"it is not UTF-8 (byte {error.start})") from error


def read_json(path: Path, *, max_bytes: int, max_nesting: int) -> JsonValue:
    """The content as JSON, as exactly as the registry reads it. Raises `CommandError`."""
    data = read_bytes(path, max_bytes=max_bytes)
    try:
        return parse_json(data, max_bytes=max_bytes, max_nesting=max_nesting)
    except ContractRejectedError as error:
        first = error.rejections[0]
        place = f" at {first.pointer}" if first.pointer else ""
        message = f"{path}: {first.code}{place}: {first.message}"
        raise CommandError(message, exit_code=Exit.NO, code=str(first.code)) from error


def write_new(path: Path, data: bytes, *, mode: int) -> None:
    """Make a file that was not there; never over another one. Raises `CommandError`."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
    except (OSError, ValueError) as error:
        raise unusable(path, _reason(error)) from error


class Replacement:
    """A file that is written beside its place and takes it when all of it is there: a cut one is never found."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            directory = path.absolute().parent
            descriptor, name = tempfile.mkstemp(prefix=f".{path.name[:64]}.", suffix=".part", dir=directory)
        except (OSError, ValueError) as error:
            raise unusable(path, _reason(error)) from error
        self._part = Path(name)
        self._file = os.fdopen(descriptor, "wb")

    def __enter__(self) -> Self:
        return self

    def write(self, data: bytes) -> None:
        """More of the content. Raises `CommandError`."""
        try:
            self._file.write(data)
        except OSError as error:
            raise unusable(self._path, _reason(error)) from error

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            self._file.close()
            if kind is None and not self._path.is_dir():
                self._part.replace(self._path)
                return
        except OSError as error:
            self._part.unlink(missing_ok=True)
            raise unusable(self._path, _reason(error)) from error
        self._part.unlink(missing_ok=True)
        if kind is None:
            raise unusable(self._path, "it is a directory")


def unusable(path: Path, reason: str) -> CommandError:
    """That a file cannot be used."""
    return CommandError(f"cannot use {path}: {reason}", exit_code=Exit.USAGE, code="unusable_file")


def _reason(error: OSError | ValueError) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error)
