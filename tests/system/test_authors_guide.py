"""The author's guide, command by command, against the running product: nothing in it is only claimed."""

import os
import sys
from pathlib import Path

import pytest

from tests.system.guide import Command, File, Shell, Unread, matches, steps
from tests.system.product import Product

pytestmark = [pytest.mark.system, pytest.mark.timeout(1_200)]

GUIDE = Path(__file__).parents[2] / "docs" / "authors.md"
PRINTED_URL = "http://127.0.0.1:8080"
"""Where the guide's gateway listens; the test's listens elsewhere."""


def test_every_command_of_the_guide_prints_what_the_guide_says(product: Product, tmp_path: Path) -> None:
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("SCHEMAGATE_")},
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "SCHEMAGATE_URL": product.gateway_url,
        "SCHEMAGATE_STATE_DIR": str(product.state_dir),
    }
    num_commands = 0
    with Shell(tmp_path, environment) as shell:
        for step in steps(GUIDE.read_text()):
            match step:
                case File(name=name, content=content):
                    path = tmp_path / name
                    path.parent.mkdir(exist_ok=True)
                    path.write_text(content.replace(PRINTED_URL, product.gateway_url))
                case Command(text="schemagate up", expected=expected):
                    # It is what this test runs against.
                    greeting = product.greeting.replace(product.gateway_url, PRINTED_URL)
                    assert matches(expected, greeting), greeting
                case Command(text=text, expected=expected):
                    status, output = shell.run(text)
                    shown = output.replace(product.gateway_url, PRINTED_URL)
                    assert status == 0, f"$ {text}\nended with {status}:\n{shown}"
                    assert matches(expected, shown), f"$ {text}\nprinted:\n{shown}\ninstead of:\n" + "\n".join(expected)
                    num_commands += 1
                case Unread(language=language):
                    assert language == "text", f"a {language} block that nobody runs"
    assert num_commands > 30


def test_expected_output_is_told_from_other_output() -> None:
    assert matches(("a … c", "…", "z"), "a b c\nd\ne\nz\n")
    assert matches(("…", "z"), "z\n")
    assert not matches(("a … c", "z"), "a b c\nd\nz\n")
    assert not matches(("a.c",), "abc\n")
    assert not matches((), "anything\n")
    assert not matches(("anything",), "")
