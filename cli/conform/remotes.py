"""The approved local documents that a contract may refer to: the only ones there are."""

from pathlib import Path

from registry.contract import JsonValue
from registry.errors import ContractRejectedError
from registry.parsing import parse_json

_MAX_DOCUMENT_BYTES = 16 * 1024 * 1024
_MAX_NESTING = 256


class RemotesError(Exception):
    """The directory cannot serve as a registry."""


def load_remotes(directory: Path, base: str) -> dict[str, JsonValue]:
    """Every `*.json` below the directory, by the URI it has under `base`.

    Raises:
        RemotesError: a file is not JSON.
    """
    documents: dict[str, JsonValue] = {}
    for path in sorted(directory.rglob("*.json")):
        name = path.relative_to(directory).as_posix()
        try:
            document = parse_json(path.read_bytes(), max_bytes=_MAX_DOCUMENT_BYTES, max_nesting=_MAX_NESTING)
        except ContractRejectedError as error:
            raise RemotesError(f"{path}: {error.rejections[0].message}") from error
        documents[base.rstrip("/") + "/" + name] = document
    return documents
