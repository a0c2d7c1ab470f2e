"""A folder of contracts: one file each, named after its contract, and what `contracts.toml` beside them says.

    invoice.json   order.choice.json   reply.lark   contracts.toml

    [defaults]
    team = "billing"

    [contracts.invoice]
    compatibility = "consumer-safe"
    alias = "staging"

Whatever else lies there is left alone and named, so that a contract under a misspelt name is not lost unnoticed.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cli.contract.definition_file import KINDS, Definition, read_definition, stem_and_kind
from cli.contract.terms import Terms, terms_from
from cli.remote.exits import CommandError, Exit
from cli.remote.files import read_text, unusable
from registry.naming import read_name

TERMS_FILE: Final = "contracts.toml"
MAX_TERMS_BYTES: Final = 1024 * 1024
MAX_ENTRIES: Final = 10_000
"""Of one folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """One contract to be registered or checked."""

    name: str
    definition: Definition
    terms: Terms


@dataclass(frozen=True, slots=True, kw_only=True)
class Folder:
    """The contracts in order of their names, and the names of what else is there."""

    submissions: tuple[Submission, ...]
    left_alone: tuple[str, ...]


def read_folder(path: Path) -> Folder:
    """Everything in a folder; nothing is read from below it. Raises `CommandError`."""
    files, left_alone = _files(path)
    if not files:
        raise unusable(path, f"no file in it ends in {', '.join(KINDS)}")
    defaults, by_name = _terms(path / TERMS_FILE)
    for name in by_name:
        if name not in files:
            message = f"{path / TERMS_FILE}: there is no file for the contract {name[:128]!r}"
            raise CommandError(message, exit_code=Exit.USAGE, code="invalid_terms")
    submissions = []
    for name, file in sorted(files.items()):
        terms = by_name.get(name, Terms()).over(defaults)
        submissions.append(Submission(name=name, definition=read_definition(file, terms.kind), terms=terms))
    return Folder(submissions=tuple(submissions), left_alone=left_alone)


def _files(path: Path) -> tuple[dict[str, Path], tuple[str, ...]]:
    try:
        entries = sorted(path.iterdir())
    except (OSError, ValueError) as error:
        raise unusable(path, getattr(error, "strerror", None) or str(error)) from error
    if len(entries) > MAX_ENTRIES:
        raise unusable(path, f"there are more than {MAX_ENTRIES} entries in it")
    files: dict[str, Path] = {}
    left_alone: list[str] = []
    for entry in entries:
        named = stem_and_kind(entry.name)
        if entry.name == TERMS_FILE:
            continue
        if entry.name.startswith(".") or named is None or entry.is_dir():
            left_alone.append(entry.name)
            continue
        name = named[0]
        if read_name(name) is None:
            raise unusable(entry, f"{name!r} cannot be the name of a contract")
        if name in files:
            raise unusable(entry, f"{files[name].name} defines {name} too")
        files[name] = entry
    return files, tuple(left_alone)


def _terms(path: Path) -> tuple[Terms, Mapping[str, Terms]]:
    if not path.exists():
        return Terms(), {}
    text = read_text(path, max_bytes=MAX_TERMS_BYTES)
    try:
        read = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise unusable(path, f"it is not TOML: {str(error) or 'nested too deeply'}") from error
    for member in read:
        if member not in {"defaults", "contracts"}:
            message = f"{path}: there is no table {member[:64]!r}; there are `defaults` and `contracts.NAME`"
            raise CommandError(message, exit_code=Exit.USAGE, code="invalid_terms")
    contracts = _table(read.get("contracts", {}), f"{path}: contracts")
    by_name = {name: _read(value, f"{path}: contracts.{name}") for name, value in contracts.items()}
    return _read(read.get("defaults", {}), f"{path}: defaults"), by_name


def _read(value: object, place: str) -> Terms:
    return terms_from(_table(value, place), place=place)


def _table(value: object, place: str) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise CommandError(f"{place}: it is a table", exit_code=Exit.USAGE, code="invalid_terms")
    return value
