"""A service that cannot start says which setting is at fault, by the name under which it was set."""

import os
import subprocess
import sys

import pytest

_READS_SETTINGS = (
    "from compiler_pool.serving import made_from_settings\n"
    "from inference_node.settings import NodeSettings\n"
    "made_from_settings(NodeSettings, prefix='SCHEMAGATE_NODE_')"
)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"MAX_SEQUENCES": "0"}, "SCHEMAGATE_NODE_MAX_SEQUENCES: Input should be greater than or equal to 1"),
        ({"CHUNK_TOKENS": "40"}, "SCHEMAGATE_NODE_*: Value error, chunk_tokens 40 is no multiple of 16"),
    ],
    ids=["of one setting", "between settings"],
)
def test_the_fault_is_named_and_nothing_starts(wrong: dict[str, str], said: str) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SCHEMAGATE_")}
    environment["SCHEMAGATE_ARTIFACT_KEYS"] = "k:" + "00" * 16
    environment |= {f"SCHEMAGATE_NODE_{name}": value for name, value in wrong.items()}
    done = subprocess.run(
        [sys.executable, "-c", _READS_SETTINGS],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr.strip()) == (2, said)
