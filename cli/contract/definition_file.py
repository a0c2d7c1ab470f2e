"""A contract in a file: which kind its name says it is, and its text as the registry takes it."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cli.remote.exits import CommandError, Exit
from cli.remote.files import read_json, read_text
from registry.contract import ContractKind, JsonValue
from registry.store.bounds import MAX_SOURCE_BYTES, MAX_SOURCE_NESTING

KINDS: Final[Mapping[str, ContractKind]] = {
    ".choice.json": ContractKind.CHOICE,
    ".tools.json": ContractKind.TOOL_SET,
    ".tags.json": ContractKind.STRUCTURAL_TAG,
    ".json": ContractKind.JSON_SCHEMA,
    ".lark": ContractKind.LARK,
    ".gbnf": ContractKind.GBNF,
    ".regex": ContractKind.REGEX,
}
"""By the end of a file's name, longer ones first."""

_TEXTS: Final = frozenset({ContractKind.LARK, ContractKind.GBNF, ContractKind.REGEX})


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """What a file defines."""

    path: Path
    kind: ContractKind
    value: JsonValue


def stem_and_kind(file_name: str) -> tuple[str, ContractKind] | None:
    """The contract's name and kind that a file's name says; None if it ends in none of `KINDS`."""
    for suffix, kind in KINDS.items():
        if file_name.endswith(suffix) and len(file_name) > len(suffix):
            return file_name.removesuffix(suffix), kind
    return None


def read_definition(path: Path, kind: ContractKind | None = None) -> Definition:
    """The definition in a file, of `kind` or of the kind that its name says. Raises `CommandError`."""
    if path.is_dir():
        message = f"{path} is a folder, not one contract: name a file (`register` and `check` take a folder alone)"
        raise CommandError(message, exit_code=Exit.USAGE, code="unusable_file")
    if kind is None:
        named = stem_and_kind(path.name)
        if named is None:
            message = f"{path}: say its kind with --kind, or let its name end in {', '.join(KINDS)}"
            raise CommandError(message, exit_code=Exit.USAGE, code="unknown_kind")
        kind = named[1]
    if kind in _TEXTS:
        text = read_text(path, max_bytes=MAX_SOURCE_BYTES)
        # An expression ends where its line does; for grammars a line feed more is nothing.
        value: JsonValue = text.removesuffix("\n").removesuffix("\r") if kind is ContractKind.REGEX else text
        return Definition(path=path, kind=kind, value=value)
    value = read_json(path, max_bytes=MAX_SOURCE_BYTES, max_nesting=MAX_SOURCE_NESTING)
    return Definition(path=path, kind=kind, value=value)
