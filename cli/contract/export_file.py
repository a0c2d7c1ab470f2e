"""Contracts as a file: JSON Lines with everything that is needed to make them again, and a digest over all of it.

    {"format": "schemagate contract export 1", "tenant": …}
    {"contract": …}                                     each name
    {"revision_of": NAME, "revision": …, "source": …}   what others refer to before them
    {"signature_of": NAME, "number": …, "signature": …}
    {"alias_of": NAME, "alias": …}
    {"signing_key": …}
    {"end": {"lines": …, "digest": …}}

Members are those of the API's answers. The last line has the SHA-256 of every byte before it, so a file that was cut or
changed is not taken for a whole one. It proves nothing about who made the file: signatures do.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

from cli.remote.exits import CommandError, Exit
from cli.remote.files import Replacement, read_bytes
from cli.remote.members import Members
from registry.contract import JsonValue
from registry.errors import ContractRejectedError
from registry.parsing import parse_json
from registry.text import canonical_json

FORMAT: Final = "schemagate contract export 1"
MAX_FILE_BYTES: Final = 256 * 1024 * 1024
MAX_LINE_BYTES: Final = 8 * 1024 * 1024
"""A source text has at most one MiB; escapes and its profile stand beside it."""
MAX_LINE_NESTING: Final = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Export:
    """What a file holds; each list in the file's order."""

    tenant: str
    contracts: Mapping[str, Members]
    revisions: tuple[Members, ...]
    """As the API answers about one: `contract`, `revision`, `source`."""
    signatures: tuple[Members, ...]
    aliases: tuple[Members, ...]
    signing_keys: tuple[Members, ...]


class ExportWriter:
    """Writes lines and keeps count of them. Calling order: `line` for each, then `end`."""

    def __init__(self, file: Replacement) -> None:
        self._file = file
        self._digest = sha256()
        self._num_lines = 0

    def line(self, members: Mapping[str, JsonValue]) -> None:
        """One line."""
        self._write(members)
        self._num_lines += 1

    def end(self) -> str:
        """The last line; the digest of all before it."""
        digest = self._digest.hexdigest()
        self._write({"end": {"lines": self._num_lines, "digest": digest}})
        return digest

    def _write(self, members: Mapping[str, JsonValue]) -> None:
        data = canonical_json(dict(members)).encode(errors="surrogatepass") + b"\n"
        self._digest.update(data)
        self._file.write(data)


def read_export(path: Path) -> Export:
    """A whole file, held against its own digest before anything in it is believed. Raises `CommandError`."""
    data = read_bytes(path, max_bytes=MAX_FILE_BYTES)
    if not data.endswith(b"\n"):
        raise _broken(path, "it ends within a line" if data else "it is empty")
    start_of_last = data.rfind(b"\n", 0, -1) + 1
    lines = data[:start_of_last].split(b"\n")[:-1]
    end = _parsed(path, len(lines) + 1, data[start_of_last:-1]).value.get("end")
    if not isinstance(end, dict):
        raise _broken(path, "its last line is missing: the file was cut")
    if end.get("lines") != len(lines) or end.get("digest") != sha256(data[:start_of_last]).hexdigest():
        raise _broken(path, "it is not what the digest in its last line was made of")
    read = [_parsed(path, number, line) for number, line in enumerate(lines, start=1)]
    if not read or read[0].value.get("format") != FORMAT:
        raise _broken(path, f"its first line does not say {FORMAT!r}")
    return _sorted_out(path, read)


def _sorted_out(path: Path, lines: list[Members]) -> Export:
    contracts: dict[str, Members] = {}
    revisions: list[Members] = []
    by_member: dict[str, list[Members]] = {"signature_of": [], "alias_of": [], "signing_key": []}
    for number, line in enumerate(lines[1:], start=2):
        if "contract" in line.value:
            contracts[line.member("contract").text("name")] = line.member("contract")
        elif "revision_of" in line.value:
            contract = contracts.get(line.text("revision_of"))
            if contract is None:
                raise _broken(path, f"line {number} is of a contract that does not stand before it")
            if "source" not in line.value:
                raise _broken(path, f"line {number} has no text")
            revisions.append(Members({**line.value, "contract": contract.value}, place=f"line {number}"))
        else:
            kind = next((name for name in by_member if name in line.value), None)
            if kind is None:
                raise _broken(path, f"line {number} is of a kind that this version does not know")
            by_member[kind].append(line)
    return Export(
        tenant=lines[0].text("tenant"),
        contracts=contracts,
        revisions=tuple(revisions),
        signatures=tuple(by_member["signature_of"]),
        aliases=tuple(by_member["alias_of"]),
        signing_keys=tuple(each.member("signing_key") for each in by_member["signing_key"]),
    )


def _parsed(path: Path, number: int, line: bytes) -> Members:
    try:
        value = parse_json(line, max_bytes=MAX_LINE_BYTES, max_nesting=MAX_LINE_NESTING)
    except ContractRejectedError as error:
        raise _broken(path, f"line {number}: {error.rejections[0].message}") from error
    if not isinstance(value, dict):
        raise _broken(path, f"line {number} is not a JSON object")
    return Members(value, place=f"line {number}")


def _broken(path: Path, why: str) -> CommandError:
    return CommandError(f"{path} is no whole export: {why}", exit_code=Exit.NO, code="broken_export")
