"""Prepares the default model in a process of its own, so that the supervisor never loads torch."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path


class ModelPreparationError(Exception):
    """The default model could not be prepared; the message says what to do."""


def prepare_model(cache_dir: Path, say: Callable[[str], None]) -> Path:
    """Convert the default model once, or find it converted; return its directory.

    Raises:
        ModelPreparationError: the weights' package is missing, or converting them failed.
    """
    command = [sys.executable, "-m", "inference_node.prepare", "--cache-dir", str(cache_dir)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert process.stdout is not None
        last = ""
        for line in process.stderr:  # progress lines; the directory alone goes to stdout
            last = line.strip()
            if last:
                say(last)
        directory = process.stdout.read().strip()
        status = process.wait()
    if status != 0 or not directory:
        raise ModelPreparationError(f"the default model could not be prepared: {last or f'status {status}'}")
    return Path(directory)
