"""The schemas of all corpora, each by a name."""

import json
from collections.abc import Iterator, Mapping

from cli.conform.corpora import bench_cases, corpora_root, suite_cases
from cli.conform.remotes import load_remotes
from registry.contract import JsonValue

REMOTES_BASE = "http://localhost:1234/"


def corpus_schemas() -> Iterator[tuple[str, str]]:
    """Name and text: the official suite with its optional tests, the sample of real schemas, the field cases.

    Raises:
        CorpusMissingError: one of them is not there.
    """
    for case in (*suite_cases(), *suite_cases(optional=True), *bench_cases()):
        yield case.id, case.schema_text()
    for line in (corpora_root() / "field" / "dev.jsonl").read_text(encoding="utf-8").splitlines():
        case_of_field = json.loads(line)
        given = case_of_field.get("input", {})
        if given.get("kind") == "json_schema" and "schema" in given:
            yield f"field/{case_of_field['id']}", json.dumps(given["schema"])


def remote_documents() -> Mapping[str, JsonValue]:
    """What the official suite refers to."""
    return load_remotes(corpora_root() / "json-schema-test-suite" / "remotes", REMOTES_BASE)
