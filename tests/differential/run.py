"""Random schemas, many of them: `python -m tests.differential.run --count 20000 --seed 0 --jobs 2`.

Each job is a child process that takes every so-many-th schema; one that hangs or dies is a finding, and a new child
goes on behind it. What was found is printed as it comes, with the number that makes the schema again (`--only`).
"""

import argparse
import json
import multiprocessing
import os
import random
import resource
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, Final

from compiler_pool.tokenizer import BoundTokenizer, load_tokenizer
from gateway.validation.worker import MAX_FRAMES
from registry.text import canonical_json
from tests.compiler_pool.tiny_tokenizer import write_tokenizer
from tests.differential.examination import Examiner
from tests.differential.schemas import drawn_schema
from tests.differential.values import ValueMaker

MAX_CPU_SECONDS: Final = 5.0
"""Of one schema with all its values and walks, on the child's own clock."""
MAX_WALL_SECONDS: Final = 120.0
"""The same by the clock on the wall, on a machine that others use too."""
_NUM_VALUES: Final = 14
_ADDRESS_SPACE: Final = 4 << 30


def tokenizer_at(path: Path | None) -> BoundTokenizer:
    """The tokenizer of that file, or a tiny one."""
    if path is not None:
        return load_tokenizer(path)
    with tempfile.TemporaryDirectory() as directory:
        return load_tokenizer(write_tokenizer(Path(directory) / "tokenizer.json"))


def case(seed: int, number: int) -> tuple[Any, list[Any], int]:
    """The schema of that number, its values, and the seed of its walks."""
    own = seed * 10_000_000 + number
    draw = random.Random(own)
    schema = drawn_schema(draw)
    return schema, ValueMaker(draw, schema).values(_NUM_VALUES), own


def _examine(arguments: argparse.Namespace, numbers: list[int], to: Connection) -> None:
    """A child's life. The default action of SIGPROF ends it, so that a hang in native code ends too."""
    sys.setrecursionlimit(MAX_FRAMES)
    resource.setrlimit(resource.RLIMIT_AS, (_ADDRESS_SPACE, _ADDRESS_SPACE))
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    tokenizer = tokenizer_at(arguments.tokenizer)
    paths = ("product", "form") if arguments.path == "both" else (arguments.path,)
    examiner = Examiner(tokenizer, num_walks=arguments.walks, paths=paths)
    for number in numbers:
        to.send(("begin", number))
        signal.setitimer(signal.ITIMER_PROF, arguments.seconds)
        schema, values, own = case(arguments.seed, number)
        try:
            examined = examiner.examine(schema, values, seed=own)
        except Exception as error:
            import traceback

            last = "; ".join(line.strip() for line in traceback.format_exc().splitlines()[-4:])
            to.send(("found", number, [(f"crash {type(error).__name__}", "any", last[:600])], {}))
            continue
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        found = [(one.kind, one.path, one.detail) for one in examined.findings]
        to.send(("found", number, found, dict(examined.counts)))
    to.send(("done",))


class _Job:
    """One child after another over the same list of numbers."""

    def __init__(self, arguments: argparse.Namespace, numbers: list[int]) -> None:
        self._arguments = arguments
        self._left = numbers
        self.under_way: int | None = None
        self.began = time.monotonic()
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("fork")
        self.connection, theirs = context.Pipe(duplex=False)
        self._process = context.Process(target=_examine, args=(self._arguments, self._left, theirs), daemon=True)
        self._process.start()
        theirs.close()

    def messages(self) -> Iterator[tuple[Any, ...]]:
        """What has come. The end of a child that was not done is told as a finding of the schema it was at."""
        try:
            while self.connection.poll():
                message = self.connection.recv()
                if message[0] == "begin":
                    self.under_way, self.began = message[1], time.monotonic()
                    self._left = [number for number in self._left if number != message[1]]
                yield message
        except EOFError:
            self._process.join()
            yield from self._ended(f"ended with {self._process.exitcode}")

    def check_time(self) -> Iterator[tuple[Any, ...]]:
        """End a child that has been at one schema for too long."""
        if time.monotonic() - self.began > MAX_WALL_SECONDS:
            self._process.kill()
            self._process.join()
            yield from self._ended("too long by the clock on the wall")

    def _ended(self, why: str) -> Iterator[tuple[Any, ...]]:
        kind = "hang" if "-27" in why or "wall" in why else "death"
        yield ("found", self.under_way, [(kind, "any", why)], {})
        self.connection.close()
        self.began = time.monotonic()
        self._start()


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
    parser.add_argument("--only", type=int, help="show this schema and what is found of it, in this process")
    arguments = parser.parse_args()
    if arguments.only is not None:
        return _show(arguments)
    numbers = range(arguments.first, arguments.first + arguments.count)
    jobs = [_Job(arguments, list(numbers[at :: arguments.jobs])) for at in range(arguments.jobs)]
    counts: Counter[str] = Counter()
    found_kinds: Counter[str] = Counter()
    started = time.monotonic()
    while jobs:
        wait([job.connection for job in jobs], timeout=5)
        for job in list(jobs):
            for message in [*job.messages(), *job.check_time()]:
                if message[0] == "done":
                    jobs.remove(job)
                    break
                if message[0] == "found":
                    _, number, found, counted = message
                    counts.update(counted)
                    counts["schemas"] += 1
                    if counts["schemas"] % 1000 == 0:
                        print(
                            f"-- {counts['schemas']} in {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True
                        )
                    for kind, path, detail in found:
                        found_kinds[f"{path}: {kind}"] += 1
                        print(json.dumps([number, path, kind, detail], ensure_ascii=False), flush=True)
    for title, counter in (("counts", counts), ("findings", found_kinds)):
        print(f"# {title}")
        for name, count in sorted(counter.items()):
            print(f"{name}\t{count}")
    return 1 if found_kinds else 0


def _show(arguments: argparse.Namespace) -> int:
    sys.setrecursionlimit(MAX_FRAMES)
    schema, values, own = case(arguments.seed, arguments.only)
    print(canonical_json(schema))
    paths = ("product", "form") if arguments.path == "both" else (arguments.path,)
    examiner = Examiner(tokenizer_at(arguments.tokenizer), num_walks=arguments.walks, paths=paths)
    examined = examiner.examine(schema, values, seed=own)
    for one in examined.findings:
        print(f"{one.path}: {one.kind}: {one.detail}")
    print(dict(examined.counts))
    return 1 if examined.findings else 0


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main())
