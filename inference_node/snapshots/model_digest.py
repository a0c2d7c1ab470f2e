"""Which model a node has: the digest of its weights and configuration, whatever its directory is called."""

from concurrent.futures import Future
from hashlib import file_digest, sha256
from pathlib import Path
from threading import Thread
from typing import Final

_SUFFIXES: Final = {".safetensors", ".gguf"}
_CONFIGURATION: Final = "config.json"


def model_digest(path: Path) -> str:
    """`sha256:…` over every weight file and the configuration of a model directory, or over one file.

    All bytes are read: a model that was trained further has the same names and shapes. About a second for each
    gigabyte or two, and the interpreter lock is free meanwhile.
    """
    files = [path] if path.is_file() else sorted(file for file in path.iterdir() if _belongs(file))
    lines = []
    for file in files:
        with file.open("rb") as data:
            lines.append(f"{_role(file)} {file_digest(data, 'sha256').hexdigest()}\n")
    return "sha256:" + sha256("".join(lines).encode()).hexdigest()


def _belongs(file: Path) -> bool:
    return file.is_file() and (file.suffix in _SUFFIXES or file.name == _CONFIGURATION)


def _role(file: Path) -> str:
    """What a file's own name says that its content does not; files come in the order of their names."""
    return "configuration" if file.name == _CONFIGURATION else "weights"


def begin_model_digest(path: Path) -> "Future[str]":
    """The same, on a thread of its own. Raises, from the future, OSError where a file cannot be read."""
    digest: Future[str] = Future()

    def compute() -> None:
        try:
            digest.set_result(model_digest(path))
        except OSError as error:
            digest.set_exception(error)

    Thread(target=compute, name="model-digest", daemon=True).start()
    return digest
