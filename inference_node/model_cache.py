"""A directory of files that appears whole or not at all, and is checked by content before it is used again."""

import fcntl
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import file_digest
from pathlib import Path

_MANIFEST = "schemagate-manifest.json"


def file_sha256(path: Path) -> str:
    """Hex SHA-256 of a file's content."""
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def is_intact(directory: Path, *, source: str) -> bool:
    """Whether every file that `directory` was completed with is there with its own size and content.

    `source` names what the directory was made from; another source makes it another directory.
    """
    try:
        # Our own file; whatever stands there instead of it makes the directory not intact.
        manifest = json.loads((directory / _MANIFEST).read_bytes())  # noqa: TID251
        if manifest["source"] != source or not manifest["files"]:
            return False
        for name, expected in manifest["files"].items():
            path = directory / name
            if path.stat().st_size != expected["size_bytes"] or file_sha256(path) != expected["sha256"]:
                return False
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False
    return True


def make_directory(directory: Path, *, source: str, fill: Callable[[Path], None]) -> None:
    """Fill a fresh directory and put it in place by one rename, so that no reader ever sees half of it.

    Call under `locked`. What stood there before is moved aside first and deleted last: a process that has its files
    mapped keeps them.
    """
    for leftover in directory.parent.glob(f".{directory.name}.*.*"):  # of makers that were killed: we hold the lock
        shutil.rmtree(leftover, ignore_errors=True)
    staging = Path(tempfile.mkdtemp(prefix=f".{directory.name}.", suffix=".partial", dir=directory.parent))
    try:
        fill(staging)
        files = {
            path.name: {"size_bytes": path.stat().st_size, "sha256": file_sha256(path)}
            for path in sorted(staging.iterdir())
        }
        (staging / _MANIFEST).write_text(json.dumps({"source": source, "files": files}, indent=2))
        staging.chmod(0o755)
        for path in staging.iterdir():
            path.chmod(0o644)
            _flush(path)
        aside = staging.with_suffix(".replaced")
        if directory.exists():
            directory.rename(aside)
        staging.rename(directory)
        _flush(directory.parent)
        shutil.rmtree(aside, ignore_errors=True)
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _flush(path: Path) -> None:
    """To the disk before the rename: after a power cut a file may otherwise have its name but not its content."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def locked(directory: Path, *, on_wait: Callable[[], None]) -> Iterator[None]:
    """Hold the right to make `directory`, across processes; the kernel releases it if the holder dies."""
    directory.parent.mkdir(parents=True, exist_ok=True)
    with (directory.parent / f".{directory.name}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            on_wait()
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
