"""Counts conform's answers against a corpus: `… | python -m cli.conform.score suite|formats|bench`.

Ends with status 1 if an instance that the corpus calls invalid is generable under an accepted contract, which is the
one thing that must not be. With `--after-validation` it is so only if the final validator passes it as well: under the
policy `checked` the grammar may be wider than the contract, and an answer is what both let through.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from cli.conform.corpora import CorpusMissingError, add_corpus_arguments, named_cases

_MAX_LISTED = 40


@dataclass(slots=True, kw_only=True)
class Score:
    """What the answers amount to."""

    after_validation: bool = False
    num_contracts: int = 0
    verdicts: Counter[str] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)
    num_instances: int = 0
    num_all_right: int = 0
    num_rightly_refused: int = 0
    """Refused by a typed code, where no instance is valid."""
    invalid_generable: list[str] = field(default_factory=list)
    valid_not_generable: list[str] = field(default_factory=list)
    validator_disagrees: list[str] = field(default_factory=list)
    compile_ms: list[float] = field(default_factory=list)

    def add(self, answer: Mapping[str, Any], expected: tuple[bool, ...]) -> None:
        """One more answer, with what the corpus says of its instances."""
        self.num_contracts += 1
        self.verdicts[answer["verdict"]] += 1
        if answer["verdict"] != "accepted":
            self.refusals[f"{answer['verdict']}: {answer['code']}"] += 1
            if answer["verdict"] == "rejected" and not any(expected) and answer["code"] == "unsatisfiable":
                self.num_rightly_refused += 1
            return
        self.compile_ms.append(answer["compile_ms"])
        before = len(self.invalid_generable) + len(self.valid_not_generable)
        assert len(answer["instances"]) == len(expected)
        for index, (instance, is_valid) in enumerate(zip(answer["instances"], expected, strict=True)):
            self.num_instances += 1
            name = f"{answer['id']} instance {index}"
            is_let_through = instance["generable"] and not (self.after_validation and instance["valid"] is False)
            if is_let_through and not is_valid:
                self.invalid_generable.append(name)
            if is_valid and not instance["generable"]:
                self.valid_not_generable.append(name)
            if instance["valid"] is not is_valid:
                self.validator_disagrees.append(f"{name} (validator: {instance['valid']})")
        if len(self.invalid_generable) + len(self.valid_not_generable) == before:
            self.num_all_right += 1

    def table(self) -> str:
        """The counts, for people."""
        accepted = self.verdicts["accepted"]
        rows = [
            ("contracts", self.num_contracts),
            ("accepted", accepted),
            ("  all instances right", self.num_all_right),
            ("refused, and nothing is valid", self.num_rightly_refused),
            ("right", self.num_all_right + self.num_rightly_refused),
            *((f"  {code}", count) for code, count in self.refusals.most_common()),
            ("instances of accepted contracts", self.num_instances),
            ("  invalid but generable", len(self.invalid_generable)),
            ("  valid but not generable", len(self.valid_not_generable)),
            ("  validator differs from the corpus", len(self.validator_disagrees)),
        ]
        if self.compile_ms:
            ranked = sorted(self.compile_ms)
            for fraction in (0.5, 0.99):
                rank = ranked[min(len(ranked) - 1, int(fraction * len(ranked)))]
                rows.append((f"compile p{fraction * 100:.0f}, ms", round(rank)))
        width = max(len(name) for name, _ in rows) + 2
        return "\n".join(f"{name:<{width}}{count:>8}" for name, count in rows)


def score(
    answers: Iterable[Mapping[str, Any]],
    expected: Mapping[str, tuple[bool, ...]],
    *,
    after_validation: bool = False,
) -> Score:
    """Count all answers."""
    total = Score(after_validation=after_validation)
    for answer in answers:
        total.add(answer, expected[answer["id"]])
    return total


def main() -> int:
    """Count the answers on standard input."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_corpus_arguments(parser)
    parser.add_argument("--list", action="store_true", help="name the instances that are not right")
    parser.add_argument("--after-validation", action="store_true", help="count what the final validator passes")
    arguments = parser.parse_args()
    try:
        expected = {case.id: tuple(valid for _, valid in case.instances) for case in named_cases(arguments)}
    except CorpusMissingError as error:
        print(error, file=sys.stderr)
        return 2
    total = score((json.loads(line) for line in sys.stdin), expected, after_validation=arguments.after_validation)  # noqa: TID251 - conform wrote it
    print(total.table())
    if arguments.list or total.invalid_generable:
        for title, names in (
            ("invalid but generable", total.invalid_generable),
            ("valid but not generable", total.valid_not_generable),
            ("validator differs", total.validator_disagrees),
        ):
            for name in names[: None if arguments.list else _MAX_LISTED]:
                print(f"{title}: {name}")
    return 1 if total.invalid_generable else 0


if __name__ == "__main__":
    sys.exit(main())
