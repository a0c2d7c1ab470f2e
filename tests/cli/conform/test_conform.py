"""The whole command, as its callers run it: a process, JSON lines in, JSON lines out."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from cli.conform.corpora import CorpusMissingError, bench_cases, corpora_root, suite_cases
from cli.conform.score import Score, score
from tests.cli.conform.small_tokenizer import write_small_tokenizer

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_small_tokenizer(tmp_path_factory.mktemp("tokenizer"))


def conform(tokenizer: Path, lines: Sequence[str | bytes], *options: str) -> list[dict[str, Any]]:
    data = b"".join((line.encode() if isinstance(line, str) else line) + b"\n" for line in lines)
    command = [sys.executable, "-m", "cli.conform", "--tokenizer", str(tokenizer), *options]
    done = subprocess.run(command, input=data, capture_output=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr.decode()
    # Progress is for people: nothing on standard error when it is a pipe.
    assert done.stderr == b""
    return [json.loads(line) for line in done.stdout.splitlines()]


def line(name: str, schema: object, *instances: object, **contract: object) -> str:
    tried = [
        instance if isinstance(instance, dict) and instance.keys() == {"text"} else {"json": instance}
        for instance in instances
    ]
    whole = contract or {"kind": "json_schema", "schema": schema}
    return json.dumps({"id": name, "contract": whole, "instances": tried})


def test_an_answer_has_every_field_and_speaks_of_the_callers_schema(tokenizer: Path) -> None:
    schema = {
        "title": "a person",
        "type": "object",
        "properties": {"b": {"$ref": "#/$defs/age"}, "a": {"type": "string", "format": "colour"}},
        "required": ["b"],
        "additionalProperties": False,
        "$defs": {"age": {"type": "integer", "minimum": 0}},
    }
    (answer,) = conform(
        tokenizer, [line("x", schema, {"a": "y", "b": 1.0}, {"b": -1}, {"text": '{"b":1} '}, {"text": '{"b": 1}'})]
    )
    assert answer["id"] == "x"
    assert answer["verdict"] == "accepted"
    assert (answer["code"], answer["pointer"], answer["message"]) == (None, None, None)
    statuses = {(entry["pointer"], entry["keyword"]): entry["status"] for entry in answer["report"]}
    assert statuses["/title", "title"] == "annotation"
    assert statuses["/properties/a/format", "format"] == "annotation"
    assert statuses["/$defs/age/minimum", "minimum"] == "enforced"
    assert statuses["/additionalProperties", "additionalProperties"] == "enforced"
    assert answer["contract_digest"].startswith("sha256:")
    assert answer["compile_ms"] > 0
    assert answer["first_mask_ms"] > 0
    assert answer["mask_us"]["n"] > 0
    assert answer["mask_us"]["p50"] <= answer["mask_us"]["p99"] <= answer["mask_us"]["max"]
    assert answer["instances"] == [
        {"generable": True, "valid": True},
        {"generable": False, "valid": False},
        {"generable": False, "valid": True},
        {"generable": False, "valid": True},
    ]


def test_text_is_held_to_bounds_that_the_answer_tells(tokenizer: Path) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "additionalProperties": False}
    asked = [line("x", schema, {"n": 10**31}, {"n": 10**32})]
    (usual,) = conform(tokenizer, asked)
    (free,) = conform(tokenizer, asked, "--max-digits", "0")
    assert [each["generable"] for each in usual["instances"]] == [True, False]
    assert [each["valid"] for each in usual["instances"]] == [True, True]
    assert usual["text"]["max_digits"] == 32
    assert usual["text"]["bounded"] == [{"pointer": "/properties/n", "limit_name": "max_digits", "limit": 32}]
    assert [each["generable"] for each in free["instances"]] == [True, True]
    assert (free["text"]["max_digits"], free["text"]["bounded"]) == (None, [])


def test_refusals_name_the_keyword_in_the_callers_own_schema(tokenizer: Path) -> None:
    answers = conform(
        tokenizer,
        [
            line("unique", {"definitions": {"x/y": {"uniqueItems": True, "items": {"$ref": "#/definitions/x~1y"}}},
                            "properties": {"a": {"$ref": "#/definitions/x~1y"}}}),
            line("remote", {"items": {"$ref": "http://127.0.0.1:1/x.json"}}),
            line("guidance", {"x-guidance": {"lenient": True}}),
            line("cycle", {"$ref": "#"}),
            line("regex", None, kind="regex", pattern="(?=a)"),
            line("twice", None, kind="json_schema", schema_text='{"type":"string","type":"integer"}'),
            line("deep", None, kind="json_schema", schema_text="[" * 100_000),
            line("pattern", {"properties": {"a": {"pattern": "(?=x)"}}}),
        ],
    )  # fmt: skip
    seen = {answer["id"]: (answer["verdict"], answer["code"], answer["pointer"]) for answer in answers}
    assert seen["unique"] == ("rejected", "unsupported_keyword", "/definitions/x~1y/uniqueItems")
    assert seen["remote"] == ("rejected", "remote_reference", "/items/$ref")
    assert seen["guidance"] == ("rejected", "reserved_keyword", "/x-guidance")
    assert seen["cycle"][:2] == ("rejected", "unguarded_ref_cycle")
    assert seen["regex"] == ("rejected", "unsupported_regex", "")
    assert seen["twice"] == ("rejected", "duplicate_name", "/type")
    assert seen["deep"][:2] == ("rejected", "limit_exceeded")
    assert seen["pattern"] == ("rejected", "unsupported_regex", "/properties/a/pattern")


def test_hostile_lines_cost_no_other_line_its_answer(tokenizer: Path) -> None:
    ordinary = {"type": "object", "properties": {"a": {"type": "integer"}}}
    hostile: list[str | bytes] = [
        b"{",
        b"\xff\xfe",
        b'{"id":"nan","contract":{"kind":"json_schema","schema":NaN}}',
        b'{"id":"deep","contract":{"kind":"json_schema","schema":' + b"[" * 200_000 + b"]" * 200_000 + b"}}",
        b'{"id":"large","x":"' + b"x" * 100_000_000 + b'"}',
        line("regex", {"pattern": "((a{1,30}){1,30}){1,30}"}, "a" * 2000),
        line("wide", {"anyOf": [{"properties": {f"p{i}{j}": True for j in range(40)}} for i in range(40)]}, {}),
        line("tower", {"not": {"not": {"not": {"type": "string"}}}}, "x"),
        line("many", {"enum": [f"v{number}" for number in range(50_000)]}, "v1"),
        b'"just a string"',
    ]
    lines: list[str | bytes] = []
    for number, bad in enumerate(hostile):
        lines += [bad, line(f"good {number}", ordinary, {"a": 1}, {"a": "x"})]
    answers = conform(tokenizer, lines, "--jobs", "2")
    assert len(answers) == len(lines)
    for number in range(len(hostile)):
        good = answers[2 * number + 1]
        assert good["id"] == f"good {number}"
        assert good["verdict"] == "accepted"
        assert good["instances"] == [{"generable": True, "valid": True}, {"generable": False, "valid": False}]
    bad_ids = [answer["id"] for answer in answers[::2]]
    assert bad_ids == [None, None, "nan", "deep", "large", "regex", "wide", "tower", "many", None]
    assert all(answer["verdict"] in {"rejected", "timeout", "crashed"} for answer in answers[:10:2])


def test_policies_and_unknown_words_are_the_callers_choice(tokenizer: Path) -> None:
    unique = line("u", {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}, [1, 2], [1, 1])
    words = [line("k", {"maxLenght": 3}), line("f", {"format": "colour"})]
    assert [answer["verdict"] for answer in conform(tokenizer, [unique, *words])] == [
        "rejected",
        "accepted",
        "accepted",
    ]
    (checked,) = conform(tokenizer, [unique], "--policy", "checked")
    assert {"pointer": "/uniqueItems", "keyword": "uniqueItems", "status": "checked_after"} in checked["report"]
    assert checked["instances"] == [{"generable": True, "valid": True}, {"generable": True, "valid": False}]
    closed = conform(tokenizer, words, "--unknown-keyword", "reject", "--unknown-format", "reject")
    assert [(answer["code"], answer["pointer"]) for answer in closed] == [
        ("unknown_keyword", "/maxLenght"),
        ("unknown_format", "/format"),
    ]


def test_approved_documents_are_the_only_ones_a_reference_reaches(tokenizer: Path, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "integer.json").write_text('{"type": "integer"}')
    contract = line("r", {"$ref": "http://schemas.example/a/integer.json"}, 1, "x")
    options = ("--remotes", str(tmp_path), "--remotes-base", "http://schemas.example")
    (answer,) = conform(tokenizer, [contract], *options)
    assert [instance["generable"] for instance in answer["instances"]] == [True, False]
    assert conform(tokenizer, [contract])[0]["code"] == "remote_reference"


@pytest.mark.parametrize(
    "options",
    [
        ["--policy", "loose"],
        ["--limits", "some"],
        ["--jobs", "0"],
        ["--tokenizer", "/nowhere/tokenizer.json"],
        ["--tokenizer", str(ROOT / "pyproject.toml")],
        ["--remotes", "."],
        ["--unknown"],
    ],
)
def test_a_usage_error_ends_with_status_2_and_answers_nothing(tokenizer: Path, options: list[str]) -> None:
    command = [sys.executable, "-m", "cli.conform", "--tokenizer", str(tokenizer), *options]
    done = subprocess.run(command, input=b"{}\n", capture_output=True, check=False, cwd=ROOT)
    assert done.returncode == 2
    assert done.stdout == b""
    assert done.stderr != b""


def _scored(tokenizer: Path, cases: list[Any], *options: str) -> Score:
    answers = conform(tokenizer, [case.question() for case in cases], "--limits", "none", "--jobs", "2", *options)
    return score(answers, {case.id: tuple(valid for _, valid in case.instances) for case in cases})


@pytest.mark.corpus
def test_nothing_invalid_is_generable_in_the_official_suite(tokenizer: Path) -> None:
    try:
        cases = list(suite_cases())
    except CorpusMissingError as error:
        pytest.skip(str(error))
    remotes = corpora_root() / "json-schema-test-suite" / "remotes"
    total = _scored(tokenizer, cases, "--remotes", str(remotes), "--remotes-base", "http://localhost:1234/")
    assert total.num_contracts == len(cases) > 350  # the suite grows: 383 schemas in the newest
    assert total.verdicts["accepted"] >= 0.65 * total.num_contracts
    assert total.invalid_generable == []
    # `format.json` calls valid what only an annotating reader accepts.
    assert [name for name in total.valid_not_generable if "format.json" not in name] == []
    assert [name for name in total.validator_disagrees if "format.json" not in name] == []


@pytest.mark.corpus
def test_nothing_invalid_is_generable_in_a_sample_of_real_schemas(tokenizer: Path) -> None:
    try:
        cases = list(bench_cases())[::15]
    except CorpusMissingError as error:
        pytest.skip(str(error))
    total = _scored(tokenizer, cases)
    assert total.num_contracts == 80
    assert total.verdicts["accepted"] >= 60
    assert total.invalid_generable == []
    assert total.valid_not_generable == []
