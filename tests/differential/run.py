"""Random schemas, many of them: `python -m tests.differential.run --count 20000 --seed 0 --jobs 2`.

Each schema is examined in a child process; one that hangs or dies is a finding, too. What was found is printed as it
comes, with the number that makes the schema again: `--only` shows it, `--least` makes it as small as it gets first.
"""

import argparse
import json
import random
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from compiler_pool.tokenizer import BoundTokenizer, load_tokenizer
from gateway.validation.worker import MAX_FRAMES
from policy.text_bounds import TextBounds
from registry.contract import JsonValue
from registry.text import canonical_json
from tests.compiler_pool.tiny_tokenizer import write_tokenizer
from tests.differential.children import Died, outcomes
from tests.differential.examination import Examiner
from tests.differential.findings import Examined
from tests.differential.schemas import drawn_schema
from tests.differential.shrinking import shrunk
from tests.differential.text_limits import drawn_bounds
from tests.differential.values import ValueMaker

MAX_CPU_SECONDS: Final = 10.0
"""Of one schema with all its grammars, values and walks, on the child's own clock."""
_NUM_VALUES: Final = 14


def tokenizer_at(path: Path | None) -> BoundTokenizer:
    """The tokenizer of that file, or a tiny one."""
    if path is not None:
        return load_tokenizer(path)
    with tempfile.TemporaryDirectory() as directory:
        return load_tokenizer(write_tokenizer(Path(directory) / "tokenizer.json"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What is examined under one number."""

    schema: JsonValue
    values: list[JsonValue]
    bounds: TextBounds
    own_seed: int


def case(seed: int, number: int) -> Case:
    """The schema of that number with its values and bounds; `own_seed` is that of its walks."""
    own = seed * 10_000_000 + number
    draw = random.Random(own)
    schema = drawn_schema(draw)
    values = ValueMaker(draw, schema).values(_NUM_VALUES)
    return Case(schema=schema, values=values, bounds=drawn_bounds(draw), own_seed=own)


def _start(arguments: argparse.Namespace) -> Callable[[int], Examined]:
    paths = ("product", "form") if arguments.path == "both" else (arguments.path,)
    examiner = Examiner(tokenizer_at(arguments.tokenizer), num_walks=arguments.walks, paths=paths)

    def examine(number: int) -> Examined:
        return examined(examiner, case(arguments.seed, number))

    return examine


def examined(examiner: Examiner, of: Case) -> Examined:
    """What comes of a case; whatever is raised is a finding."""
    try:
        return examiner.examine(of.schema, of.values, seed=of.own_seed, bounds=of.bounds)
    except Exception as error:
        raised = Examined()
        last = "; ".join(line.strip() for line in traceback.format_exc().splitlines()[-4:])
        raised.find(f"crash {type(error).__name__}", "any", last)
        return raised


def main() -> int:
    """Examine, print what is found, then the counts. 1 if there is any finding."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--first", type=int, default=0, help="number of the first schema")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--walks", type=int, default=4, help="walks of each grammar")
    parser.add_argument("--seconds", type=float, default=MAX_CPU_SECONDS, help="CPU seconds of one schema")
    parser.add_argument("--path", choices=("product", "form", "both"), default="both")
    parser.add_argument("--tokenizer", type=Path, help="a tokenizer file; by default a tiny one")
    parser.add_argument("--minutes", type=float, default=1e6, help="stop after so many, with the counts so far")
    parser.add_argument("--only", type=int, help="show this schema and what is found of it, in this process")
    parser.add_argument("--least", action="store_true", help="with --only: the least schema with a like finding")
    arguments = parser.parse_args()
    if arguments.only is not None:
        return _show(arguments)
    numbers = range(arguments.first, arguments.first + arguments.count)
    counts: Counter[str] = Counter()
    found: Counter[str] = Counter()
    started = time.monotonic()
    for number, outcome in outcomes(
        lambda: _start(arguments), list(numbers), jobs=arguments.jobs, cpu_seconds=arguments.seconds
    ):
        if isinstance(outcome, Died):
            result = Examined()
            result.find(outcome.why, "any", "")
        else:
            result = outcome
        counts.update(result.counts)
        counts["schemas"] += 1
        if counts["schemas"] % 1000 == 0:
            print(f"-- {counts['schemas']} in {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
        if time.monotonic() - started > 60 * arguments.minutes:
            break
        for one in result.findings:
            found[f"{one.path}: {one.kind}"] += 1
            print(json.dumps([number, one.path, one.kind, one.detail], ensure_ascii=False), flush=True)
    for title, counter in (("counts", counts), ("findings", found)):
        print(f"# {title}")
        for name, count in sorted(counter.items()):
            print(f"{name}\t{count}")
    return 1 if found else 0


def _show(arguments: argparse.Namespace) -> int:
    sys.setrecursionlimit(MAX_FRAMES)
    shown = case(arguments.seed, arguments.only)
    paths = ("product", "form") if arguments.path == "both" else (arguments.path,)
    examiner = Examiner(tokenizer_at(arguments.tokenizer), num_walks=arguments.walks, paths=paths)
    result = examined(examiner, shown)
    if arguments.least and result.findings:
        kinds = {(one.kind, one.path) for one in result.findings}

        def is_alike(schema: JsonValue, values: list[JsonValue]) -> bool:
            again = examined(examiner, replace(shown, schema=schema, values=values))
            return any((one.kind, one.path) in kinds for one in again.findings)

        schema, values = shrunk(shown.schema, shown.values, is_alike)
        shown = replace(shown, schema=schema, values=values)
        result = examined(examiner, shown)
        print(canonical_json(values))
    print(canonical_json(shown.schema))
    print(shown.bounds.spelling)
    for one in result.findings:
        print(f"{one.path}: {one.kind}: {one.detail}")
    print(dict(result.counts))
    return 1 if result.findings else 0


if __name__ == "__main__":
    sys.exit(main())
