"""The official JSON Schema test suite, as data."""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from registry.contract import JsonValue
from registry.parsing import parse_json

ROOT = Path(__file__).parents[3]
CORPORA = Path(os.environ.get("SCHEMAGATE_CORPORA", ROOT.parent / "shared" / "corpora"))
SUITE = CORPORA / "json-schema-test-suite"
DRAFT = SUITE / "tests" / "draft2020-12"
REMOTES_BASE = "http://localhost:1234/"


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteCase:
    """One schema of the suite with its instances."""

    file: str
    description: str
    schema: Any
    tests: tuple[tuple[str, Any, bool], ...]


def suite_cases(pattern: str) -> Iterator[SuiteCase]:
    """The cases in the files that match, below `draft2020-12`."""
    for path in sorted(DRAFT.glob(pattern)):
        for group in json.loads(path.read_text(encoding="utf-8")):
            yield SuiteCase(
                file=path.relative_to(DRAFT).as_posix(),
                description=group["description"],
                schema=group["schema"],
                tests=tuple((test["description"], test["data"], test["valid"]) for test in group["tests"]),
            )


def suite_remotes() -> dict[str, JsonValue]:
    """The documents that the suite's schemas may refer to, by URI."""
    older = ("draft3", "draft4", "draft6", "draft7", "draft2019-09", "v1")
    return {
        REMOTES_BASE + name: parse_json(path.read_bytes(), max_bytes=1_000_000, max_nesting=100)
        for path in sorted((SUITE / "remotes").rglob("*.json"))
        if not (name := path.relative_to(SUITE / "remotes").as_posix()).startswith(older)
    }
