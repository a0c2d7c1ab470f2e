"""Reading an operator's tokenizer files in bounded memory: they come from the internet, and some are broken."""

import json
from collections import Counter
from pathlib import Path
from typing import Any, Final, NoReturn

from compiler_pool.errors import TokenizerError

MAX_FILE_BYTES: Final = 64 * 1024 * 1024
"""Twice the largest published tokenizer file."""
MAX_VALUES: Final = 4 * 1024 * 1024
"""Of one JSON file, counted as commas. Parsed, a value takes up to about 70 bytes of memory."""
MAX_OBJECTS: Final = 1024 * 1024
"""Of one JSON file, counted as braces. Parsed, the smallest takes about 230 bytes."""


def read_bytes(file: Path) -> bytes:
    """All of a regular file. Raises TokenizerError where there is none, or more than `MAX_FILE_BYTES`."""
    try:
        if not file.is_file():  # a pipe or a device would never end
            raise TokenizerError(f"{file.name} cannot be read: no such file", path=str(file))
        with file.open("rb") as stream:
            data = stream.read(MAX_FILE_BYTES + 1)
    except (OSError, ValueError) as error:
        raise TokenizerError(f"{file.name} cannot be read: {error}", path=str(file)) from error
    if len(data) > MAX_FILE_BYTES:
        raise TokenizerError(f"{file.name} is larger than {MAX_FILE_BYTES} bytes", path=str(file))
    return data


def read_text(file: Path) -> str:
    """All of a UTF-8 file, bounded as `read_bytes` is."""
    try:
        return read_bytes(file).decode()
    except UnicodeDecodeError as error:
        raise TokenizerError(f"{file.name} cannot be read: {error}", path=str(file)) from error


def parse_object(text: str, file: Path) -> dict[str, Any]:
    """A JSON object without duplicate names, NaN or Infinity. Raises TokenizerError."""
    if text.count(",") > MAX_VALUES or text.count("{") > MAX_OBJECTS:
        raise TokenizerError(f"{file.name} has more than {MAX_VALUES} values or {MAX_OBJECTS} objects", path=str(file))
    try:
        document = json.loads(  # noqa: TID251 - the operator's own model files, larger than any contract
            text, object_pairs_hook=_without_duplicates, parse_constant=_refuse_constant
        )
    except (ValueError, RecursionError) as error:
        raise TokenizerError(f"{file.name} is not JSON: {str(error)[:200]}", path=str(file)) from error
    if not isinstance(document, dict):
        raise TokenizerError(f"{file.name} is not a JSON object", path=str(file))
    return document


def read_optional_object(directory: Path | None, name: str) -> dict[str, Any]:
    """The object in a file that a model directory may have; empty where it has none."""
    if directory is None or not (directory / name).is_file():
        return {}
    return parse_object(read_text(directory / name), directory / name)


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        (twice, _), *_ = Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(f"the name {twice[:80]!r} is there twice")
    return members


def _refuse_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no number")
