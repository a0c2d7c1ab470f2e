"""How often a comparison knows the answer, and how long it takes: `python -m tests.registry.compatibility.measure`.

Arguments: `made` or `real`, a seed, and how many pairs. `made` compares random schemas with mutations of them, and
random pairs; `real` compares the schemas of the corpus with an ordinary change each.
"""

import gzip
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

from policy.enforcement import EnforcementPolicy, Unknown
from policy.limits import UNLIMITED
from registry.compatibility.reviewing import review_schemas
from registry.compatibility.schema_comparison import SchemaPair
from registry.compatibility.verdicts import ComparisonBudget, Direction
from registry.compatibility.verdicts import Unknown as NoAnswer
from registry.contract import JsonValue
from registry.errors import ContractRejectedError
from registry.json_schema import read_json_schema
from registry.parsing import parse_json
from tests.registry.compatibility.comparing import JUDGES
from tests.registry.compatibility.making import Making

_LENIENT = EnforcementPolicy(unknown_keyword=Unknown.ANNOTATION, unknown_format=Unknown.ANNOTATION)


def main(kind: str, seed: int, count: int) -> None:
    """Compare, and print what came of it."""
    sys.setrecursionlimit(20_000)
    verdicts: Counter[str] = Counter()
    effects: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    comparing: list[float] = []
    reviewing: list[float] = []
    for old, new in _pairs(kind, seed, count):
        if old == new:
            verdicts["pairs that are equal"] += 1
            continue
        start = time.perf_counter()
        pair = SchemaPair(old, new, JUDGES, ComparisonBudget())
        answers = [pair.answer(direction) for direction in Direction]
        comparing.append(time.perf_counter() - start)
        start = time.perf_counter()
        review = review_schemas(pair)
        reviewing.append(time.perf_counter() - start)
        verdicts.update(type(answer).__name__ for answer in answers)
        effects.update(change.effect.value for change in review.changes)
        reasons.update(f"{a.reason}: {a.message}" for a in answers if isinstance(a, NoAnswer))
    _say(dict(verdicts), dict(effects))
    for name, seconds in (("compare", sorted(comparing)), ("review", sorted(reviewing))):
        picked = {p: seconds[min(len(seconds) - 1, len(seconds) * p // 100)] for p in (50, 90, 99, 100) if seconds}
        _say(name, {f"p{p}": round(value, 4) for p, value in picked.items()})
    for reason, number in reasons.most_common(12):
        _say(number, reason)


def _say(*parts: object) -> None:
    sys.stdout.write(" ".join(map(str, parts)) + "\n")


def _pairs(kind: str, seed: int, count: int) -> Iterator[tuple[JsonValue, JsonValue]]:
    making = Making(Random(seed))
    schemas = _corpus(making.random)[:count] if kind == "real" else [making.schema(3) for _ in range(count)]
    for number, schema in enumerate(schemas):
        if kind == "real":
            other = making.ordinary_change(schema)
        else:
            other = making.mutated(schema) if number % 2 else making.schema(3)
        try:
            yield _canonical(schema), _canonical(other)
        except ContractRejectedError:
            continue


def _canonical(schema: Any) -> JsonValue:
    parsed = parse_json(json.dumps(schema), max_bytes=1 << 24, max_nesting=250)
    return read_json_schema(parsed, limits=UNLIMITED.contract, policy=_LENIENT).schema


def _corpus(random: Random) -> list[Any]:
    folder = Path(os.environ.get("SCHEMAGATE_CORPORA", "../shared/corpora"))
    with gzip.open(folder / "jsonschemabench-dev.jsonl.gz", "rt") as lines:
        schemas = [json.loads(line)["schema"] for line in lines]
    random.shuffle(schemas)
    return schemas


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
