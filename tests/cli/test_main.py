"""The command itself, before it does anything."""

import subprocess
import sys


def test_no_command_waits_for_libraries_that_it_does_not_use() -> None:
    heavy = ("sqlalchemy", "alembic", "torch", "llguidance", "fastapi")
    program = f"import cli.main, sys; print([name for name in {heavy} if name in sys.modules])"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert loaded.stdout == "[]\n"
