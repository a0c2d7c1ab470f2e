"""Corpora of contracts of other kinds, with what is expected: `python -m cli.conform.kind_corpus questions|score FILE`.

A line of such a corpus is `{"id", "kind", "contract", "instances": [{"text", "valid"}], "expected"}`. `expected` has
the `verdict`, and for a refusal its `code` and `pointer`. `questions` writes the lines for conform; `score` reads
conform's answers on standard input, names what is not as expected, and then ends with status 1.
"""

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class KindCase:
    """One contract, texts with what is known of them, and the verdict that is expected."""

    id: str
    kind: str
    contract: Any
    instances: tuple[tuple[str, bool], ...]
    expected: Mapping[str, str]

    def question(self) -> str:
        """The line for conform."""
        contract = {"kind": self.kind, "definition": self.contract}
        return json.dumps({"id": self.id, "contract": contract, "instances": [{"text": t} for t, _ in self.instances]})

    def faults(self, answer: Mapping[str, Any]) -> Iterator[str]:
        """What an answer says otherwise."""
        for name, wanted in self.expected.items():
            if answer[name] != wanted:
                yield f"{self.id}: {name} is {answer[name]!r}, not {wanted!r} ({answer['message']})"
        if answer["verdict"] != "accepted":
            return
        for (text, is_valid), found in zip(self.instances, answer["instances"], strict=True):
            for name in ("generable", "valid"):
                if found[name] is not is_valid:
                    yield f"{self.id}: {text!r} is {'' if is_valid else 'in'}valid, and `{name}` is {found[name]}"


def kind_cases(path: Path) -> Iterator[KindCase]:
    """The cases of a file."""
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            case = json.loads(line)  # noqa: TID251 - a corpus on our own disk
            yield KindCase(
                id=case["id"],
                kind=case["kind"],
                contract=case["contract"],
                instances=tuple((instance["text"], instance["valid"]) for instance in case["instances"]),
                expected=case["expected"],
            )


def faults(cases: Iterable[KindCase], answers: Iterable[Mapping[str, Any]]) -> list[str]:
    """Everything that is not as expected; answers come in the order of the cases."""
    return [fault for case, answer in zip(cases, answers, strict=True) for fault in case.faults(answer)]


def main() -> int:
    """Write questions, or score answers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("questions", "score"))
    parser.add_argument("file", type=Path)
    arguments = parser.parse_args()
    cases = list(kind_cases(arguments.file))
    if arguments.what == "questions":
        for case in cases:
            print(case.question())
        return 0
    found = faults(cases, (json.loads(line) for line in sys.stdin))  # noqa: TID251 - conform wrote it
    for fault in found:
        print(fault)
    print(f"{len(cases)} contracts, {sum(len(case.instances) for case in cases)} texts, {len(found)} not as expected")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
