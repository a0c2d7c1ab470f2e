"""The official suite's older drafts, translated and judged (`python -m tests.registry.translation.suite` prints it)."""

import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jsonschema_specifications import REGISTRY  # type: ignore[import-untyped]

from gateway.validation.judge import Judge
from gateway.validation.verdict import Unjudged, Valid
from policy.limits import UNLIMITED
from registry.contract import CanonicalContract, JsonValue
from registry.dialects import Dialect
from registry.errors import ContractRejectedError
from registry.json_schema import read_json_schema
from registry.parsing import parse_json
from tests.registry.reading import LENIENT

ROOT = Path(__file__).parents[3]
SUITE = Path(os.environ.get("SCHEMAGATE_CORPORA", ROOT.parent / "shared" / "corpora")) / "json-schema-test-suite"
DRAFTS = {
    "draft4": Dialect.DRAFT_04,
    "draft6": Dialect.DRAFT_06,
    "draft7": Dialect.DRAFT_07,
    "draft2019-09": Dialect.DRAFT_2019_09,
}
_BASE = "http://localhost:1234/"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One schema of the suite, the text of its file kept, so that numbers stay as they were written."""

    name: str
    schema: JsonValue
    tests: tuple[tuple[str, bytes, bool], ...]


@dataclass(slots=True, kw_only=True)
class Outcome:
    """What became of one draft's cases."""

    exact: list[str] = field(default_factory=list)
    refused: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Case to code and pointer."""
    wrong: list[str] = field(default_factory=list)
    unjudged: list[str] = field(default_factory=list)
    num_verdicts: int = 0


class _Spelled(str):
    """A number as the suite spells it."""

    __slots__ = ()


def _text(value: Any) -> str:
    if isinstance(value, _Spelled):
        return str(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(name)}:{_text(member)}" for name, member in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_text, value)) + "]"
    return json.dumps(value)


def _parsed(text: bytes | str) -> JsonValue:
    return parse_json(text, max_bytes=4_000_000, max_nesting=200)


def cases(draft: str, pattern: str = "*.json") -> Iterator[Case]:
    """The cases of the files that match, below the draft's folder."""
    folder = SUITE / "tests" / draft
    for path in sorted(folder.glob(pattern)):
        for group in json.loads(path.read_text(encoding="utf-8"), parse_int=_Spelled, parse_float=_Spelled):
            yield Case(
                name=f"{path.relative_to(folder).with_suffix('').as_posix()}: {group['description']}",
                schema=_parsed(_text(group["schema"])),
                tests=tuple(
                    (test["description"], _text(test["data"]).encode(), test["valid"]) for test in group["tests"]
                ),
            )


def documents(dialect: Dialect) -> tuple[dict[str, JsonValue], dict[str, Dialect]]:
    """The suite's own server and the meta-schemas; what says nothing of its dialect is of the draft under test."""
    texts: dict[str, JsonValue] = {}
    for path in sorted((SUITE / "remotes").rglob("*.json")):
        texts[_BASE + path.relative_to(SUITE / "remotes").as_posix()] = _parsed(path.read_bytes())
    declared = {uri: dialect for uri, text in texts.items() if not (isinstance(text, dict) and "$schema" in text)}
    for uri in REGISTRY:
        texts[uri.removesuffix("#")] = _parsed(json.dumps(REGISTRY.contents(uri)))
    return texts, declared


def judged(draft: str, pattern: str = "*.json") -> Outcome:
    """Every case read under its draft, and every instance judged by the canonical text."""
    outcome = Outcome()
    dialect = DRAFTS[draft]
    texts, declared = documents(dialect)
    for case in cases(draft, pattern):
        contract = _read(case, dialect, texts, declared)
        if isinstance(contract, ContractRejectedError):
            first = contract.rejections[0]
            outcome.refused[case.name] = (first.code.value, first.pointer)
            continue
        judge = Judge.prepare(contract.text)
        wrong = []
        for description, data, is_valid in case.tests:
            verdict = judge if isinstance(judge, Unjudged) else judge.judge(data)
            outcome.num_verdicts += 1
            if isinstance(verdict, Unjudged):
                outcome.unjudged.append(f"{case.name}: {description}: {verdict.message}")
            elif isinstance(verdict, Valid) is not is_valid:
                wrong.append(f"{case.name}: {description}")
        outcome.wrong.extend(wrong)
        if not wrong:
            outcome.exact.append(case.name)
    return outcome


def _read(
    case: Case, dialect: Dialect, texts: dict[str, JsonValue], declared: dict[str, Dialect]
) -> CanonicalContract | ContractRejectedError:
    is_said = isinstance(case.schema, dict) and "$schema" in case.schema
    try:
        return read_json_schema(
            case.schema,
            limits=UNLIMITED.contract,
            policy=LENIENT,
            documents=texts,
            dialect=None if is_said else dialect,
            document_dialects=declared,
        )
    except ContractRejectedError as error:
        return error


def main() -> None:
    """Print the table, and each refusal and wrong verdict."""
    for draft in DRAFTS:
        for pattern in ("*.json", "optional/*.json", "optional/format/*.json"):
            found = judged(draft, pattern)
            row = f"{draft:14} {pattern:24} exact {len(found.exact)}, refused {len(found.refused)}"
            print(f"{row}, wrong {len(found.wrong)}, unjudged {len(found.unjudged)}, verdicts {found.num_verdicts}")  # noqa: T201
            if "-v" in sys.argv:
                lines = [f"refused {name}: {code} at {at!r}" for name, (code, at) in found.refused.items()]
                lines += [f"wrong {line}" for line in found.wrong] + [f"unjudged {line}" for line in found.unjudged]
                print("\n".join(f"    {line}" for line in lines))  # noqa: T201


if __name__ == "__main__":
    main()
