"""Corpora as questions for conform: `python -m cli.conform.corpora suite|formats|bench > questions.jsonl`.

A question does not carry its expected answers: `cli.conform.score` reads them from the same corpus. Numbers keep the
spelling they have there, because `2.0` as a keyword's value is a test of its own.
"""

import argparse
import gzip
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DEFAULT_DRAFT = "draft2020-12"

ANNOTATING = "format.json"
"""The required tests that hold every format to be an annotation. Known formats are asserted here, so they are apart."""


class CorpusMissingError(Exception):
    """The corpus is not where `SCHEMAGATE_CORPORA` says."""


class _Number(str):
    """A number as it was written."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CorpusCase:
    """One contract with instances and what is known of them. Numbers inside are kept as written."""

    id: str
    schema: Any
    instances: tuple[tuple[Any, bool], ...]

    def schema_text(self) -> str:
        """The schema as JSON text."""
        return _text(self.schema)

    def question(self) -> str:
        """The line for conform."""
        contract = {"kind": "json_schema", "schema": self.schema}
        return _text({"id": self.id, "contract": contract, "instances": [{"json": data} for data, _ in self.instances]})


def corpora_root() -> Path:
    """`SCHEMAGATE_CORPORA`, else beside the checkout."""
    return Path(os.environ.get("SCHEMAGATE_CORPORA") or Path(__file__).parents[3] / "shared" / "corpora")


def suite_cases(*, draft: str = DEFAULT_DRAFT, optional: bool = False) -> Iterator[CorpusCase]:
    """The official JSON Schema test suite: the required tests but `ANNOTATING`, or the optional ones.

    Raises:
        CorpusMissingError: it is not there.
    """
    root = corpora_root() / "json-schema-test-suite" / "tests" / draft
    paths = sorted((root / "optional").rglob("*.json") if optional else root.glob("*.json"))
    if not paths:
        raise CorpusMissingError(f"no tests of {draft} below {root}; set SCHEMAGATE_CORPORA")
    for path in paths:
        if path.name == ANNOTATING and not optional:
            continue
        for index, group in enumerate(_load(path.read_text(encoding="utf-8"))):
            yield CorpusCase(
                id=f"{draft}/{path.relative_to(root).as_posix()}#{index}",
                schema=group["schema"],
                instances=tuple((test["data"], test["valid"]) for test in group["tests"]),
            )


def format_cases(*, draft: str = DEFAULT_DRAFT) -> Iterator[CorpusCase]:
    """The suite's tests of formats that are asserted, about strings alone.

    Raises:
        CorpusMissingError: they are not there.
    """
    root = corpora_root() / "json-schema-test-suite" / "tests" / draft / "optional" / "format"
    paths = sorted(root.glob("*.json"))
    if not paths:
        raise CorpusMissingError(f"no tests of formats in {root}; set SCHEMAGATE_CORPORA")
    for path in paths:
        for index, group in enumerate(_load(path.read_text(encoding="utf-8"))):
            strings = ((test["data"], test["valid"]) for test in group["tests"] if type(test["data"]) is str)
            yield CorpusCase(
                id=f"{draft}/optional/format/{path.name}#{index}",
                schema=group["schema"] | {"type": "string"},
                instances=tuple(strings),
            )


def bench_cases() -> Iterator[CorpusCase]:
    """The development sample of JSONSchemaBench.

    Raises:
        CorpusMissingError: it is not there.
    """
    path = corpora_root() / "jsonschemabench-dev.jsonl.gz"
    if not path.is_file():
        raise CorpusMissingError(f"{path} is missing; set SCHEMAGATE_CORPORA")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            case = _load(line)
            yield CorpusCase(
                id=case["id"],
                schema=case["schema"],
                instances=tuple((test["data"], test["valid"]) for test in case["tests"]),
            )


def add_corpus_arguments(parser: argparse.ArgumentParser) -> None:
    """What names a corpus on a command line."""
    parser.add_argument("corpus", choices=("suite", "formats", "bench"))
    parser.add_argument("--draft", default=DEFAULT_DRAFT, help="draft of the suite")
    parser.add_argument("--optional", action="store_true", help="the suite's optional tests instead of the required")


def named_cases(arguments: argparse.Namespace) -> Iterator[CorpusCase]:
    """The corpus that the arguments name."""
    if arguments.corpus == "bench":
        return bench_cases()
    if arguments.corpus == "formats":
        return format_cases(draft=arguments.draft)
    return suite_cases(draft=arguments.draft, optional=arguments.optional)


def _load(text: str) -> Any:
    return json.loads(text, parse_float=_Number, parse_int=_Number)  # noqa: TID251 - a corpus on our own disk


def _text(value: Any) -> str:
    if isinstance(value, _Number):
        return str(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(name)}:{_text(member)}" for name, member in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_text, value)) + "]"
    return json.dumps(value)


def main() -> int:
    """Write the questions to standard output."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_corpus_arguments(parser)
    try:
        for case in named_cases(parser.parse_args()):
            print(case.question())
    except CorpusMissingError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
