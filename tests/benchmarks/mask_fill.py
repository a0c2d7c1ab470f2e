"""How long a batch of masks of one artifact takes, by how many prototypes its sequences are spread over.

    PYTHONPATH=. python tests/benchmarks/mask_fill.py [--model DIR] [--rounds 100] [--passes 5]

Every sequence walks its own seeded way; the fills of one round are timed together, on two threads, and the variants
take turns. The median is what the machine gave; the mean of the quickest tenth, what it can give when nobody else is
on it.
"""

import argparse
import json
import random
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import torch
from llguidance import LLExecutor, LLMatcher
from llguidance.numpy import allocate_token_bitmask, fill_next_token_bitmask_par

from compiler_pool.tokenizer import BoundTokenizer, load_tokenizer
from compiler_pool.trial import engine_limits
from inference_node.bitmask_row import Bitmask
from inference_node.grammar import Prototype
from inference_node.mask_filler import MaskFill, MaskFiller
from inference_node.mask_rows import MaskRows
from inference_node.matcher import GrammarMatcher
from kernels.bitmask import bitmask_words
from policy.limits import TENANT

NUM_THREADS = 2
SCHEMA = {
    "type": "object",
    "properties": {
        "title": {"type": "string", "maxLength": 60},
        "status": {"enum": ["open", "closed", "waiting for the customer", "waiting for us"]},
        "email": {"type": "string", "pattern": "^[a-z0-9.]{1,20}@[a-z]{2,12}[.](com|org|net)$"},
        "lines": {
            "type": "array",
            "maxItems": 6,
            "items": {
                "type": "object",
                "properties": {"name": {"type": "string"}, "price": {"type": "number"}, "paid": {"type": "boolean"}},
                "required": ["name", "price"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["title", "status", "lines"],
    "additionalProperties": False,
}

GRAMMARS = {
    "ordinary": f"start: %json {json.dumps(SCHEMA)}",
    "dear": 'start: W (" " W){5,60}\nW: /[a-z]{1,6}|[A-Z][a-z]{1,10}|[0-9]{1,4}(st|nd|th)/',
}
"""By what one mask costs: some microseconds, the better part of a millisecond."""

SLOW_GRAMMARS = {
    "one of dear masks": GRAMMARS["dear"],
    "one of masks up to 30 ms": 'start: W (" " W){5,60}\nW: /([a-z]{1,6}|[A-Z][a-z]{1,10}|[0-9]{1,4}(st|nd|th)){1,9}/',
}


def choose(row: np.ndarray, ends: frozenset[int], source: random.Random) -> int | None:
    """An allowed token that is no end; None: hardly any is."""
    allowed = np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little"))
    for _ in range(8):
        token_id = int(allowed[source.randrange(len(allowed))])
        if token_id not in ends:
            return token_id
    return None


def by_executor(tokenizer: BoundTokenizer, grammar: str, *, batch: int, prototypes: int, rounds: int) -> list[float]:
    """The engine's own parallel fill: seconds of each round."""
    limits, ends = engine_limits(TENANT.engine), frozenset(tokenizer.end_ids)
    roots = [LLMatcher(tokenizer.engine, grammar, log_level=0, limits=limits) for _ in range(prototypes)]
    executor, source = LLExecutor(num_threads=NUM_THREADS), random.Random(0)
    mask = allocate_token_bitmask(batch, tokenizer.vocabulary_size)
    # Rows of one prototype stand together: the executor gives each thread a run of neighbours.
    lane = [row * prototypes // batch for row in range(batch)]
    matchers = [roots[lane[row]].deep_copy() for row in range(batch)]
    seconds = []
    for _ in range(rounds):
        started = time.perf_counter()
        fill_next_token_bitmask_par(executor, list(zip(matchers, range(batch), strict=True)), mask)
        seconds.append(time.perf_counter() - started)
        for row, matcher in enumerate(matchers):
            assert not matcher.is_error(), matcher.get_error()
            token_id = choose(mask[row], ends, source)
            if token_id is None or not matcher.consume_token(token_id) or matcher.is_stopped():
                matchers[row] = roots[lane[row]].deep_copy()
    return seconds


def by_filler(tokenizer: BoundTokenizer, grammar: str, *, batch: int, prototypes: int, rounds: int) -> list[float]:
    """The node's own way, all that it looks after included: seconds of each round."""
    ends, source = frozenset(tokenizer.end_ids), random.Random(0)
    roots = [Prototype.build(tokenizer, grammar, TENANT.engine) for _ in range(prototypes)]
    with node(tokenizer) as (rows, masks):
        taken = rows.take(batch)
        matchers: list[GrammarMatcher] = [roots[row * prototypes // batch].matcher() for row in range(batch)]
        seconds = []
        for _ in range(rounds):
            fills = [MaskFill(matcher=matcher, rows=[row]) for matcher, row in zip(matchers, taken, strict=True)]
            started = time.perf_counter()
            masks.start(fills)
            for fill in fills:
                fill.done.result()
            seconds.append(time.perf_counter() - started)
            for at, matcher in enumerate(matchers):
                matchers[at] = went_on(matcher, rows.row(taken[at]), ends, source)
    return seconds


def beside_a_slow_one(tokenizer: BoundTokenizer, *, slow_grammar: str, rounds: int) -> tuple[list[float], list[float]]:
    """Thirty-one sequences of ordinary contracts of their own and one of another: what each step's ordinary rows took
    from start to there, the last of them, and what the other one's did. Nobody waits for the other one."""
    ends, source = frozenset(tokenizer.end_ids), random.Random(0)
    others = [Prototype.build(tokenizer, GRAMMARS["ordinary"], TENANT.engine).matcher() for _ in range(31)]
    slow = Prototype.build(tokenizer, slow_grammar, TENANT.engine).matcher()
    ordinary: list[float] = []
    its_own: list[float] = []
    with node(tokenizer) as (rows, masks):
        *taken, slow_row = rows.take(32)
        slow_fill: MaskFill | None = None
        for _ in range(rounds):
            fills = [MaskFill(matcher=matcher, rows=[row]) for matcher, row in zip(others, taken, strict=True)]
            begun = list(fills)
            if slow_fill is None:
                slow_fill = MaskFill(matcher=slow, rows=[slow_row])
                begun.append(slow_fill)
            masks.start(begun)
            ordinary.append(max(fill.done.result().seconds for fill in fills))
            for at, matcher in enumerate(others):
                others[at] = went_on(matcher, rows.row(taken[at]), ends, source)
            if slow_fill.done.done():
                its_own.append(slow_fill.done.result().seconds)
                slow, slow_fill = went_on(slow, rows.row(slow_row), ends, source), None
    return ordinary, its_own


@contextmanager
def node(tokenizer: BoundTokenizer) -> Iterator[tuple[MaskRows, MaskFiller]]:
    """Rows and threads as the node has them."""
    rows = MaskRows(words=bitmask_words(tokenizer.vocabulary_size), device=torch.device("cpu"))
    masks = MaskFiller(rows, num_threads=NUM_THREADS)
    try:
        yield rows, masks
    finally:
        masks.close()


def went_on(matcher: GrammarMatcher, row: Bitmask, ends: frozenset[int], source: random.Random) -> GrammarMatcher:
    """The matcher one token further, or another at the start."""
    token_id = choose(row, ends, source)
    if token_id is not None:
        matcher.advance([token_id])
    assert not matcher.is_broken
    return matcher.prototype.matcher() if token_id is None or matcher.is_terminated else matcher


def token_cost(tokenizer: BoundTokenizer, *, num_tokens: int) -> list[float]:
    """Microseconds on the step thread for each token: take it, then ask what is forced."""
    ends, source = frozenset(tokenizer.end_ids), random.Random(0)
    matcher = Prototype.build(tokenizer, GRAMMARS["ordinary"], TENANT.engine).matcher()
    row = np.zeros(bitmask_words(tokenizer.vocabulary_size), dtype=np.int32)
    taken = []
    for _ in range(num_tokens):
        matcher.fill_bitmask(row)
        token_id = choose(row, ends, source)
        if token_id is None:
            matcher = matcher.prototype.matcher()
            continue
        started = time.perf_counter()
        matcher.advance([token_id])
        matcher.forced_tokens()
        taken.append((time.perf_counter() - started) * 1e6)
        if matcher.is_terminated:
            matcher = matcher.prototype.matcher()
    return taken


def spread(seconds: list[float]) -> str:
    """Median, 99th percentile and the longest, in milliseconds."""
    ordered = sorted(seconds)
    return " | ".join(f"{value * 1e3:.2f}" for value in (
        statistics.median(ordered), ordered[min(len(ordered) - 1, len(ordered) * 99 // 100)], ordered[-1]
    ))  # fmt: skip


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, default=Path(".cache/SmolLM2-135M-Instruct"))
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--passes", type=int, default=5)
    arguments = parser.parse_args()
    tokenizer = load_tokenizer(arguments.model)
    measures = {"executor": by_executor, "mask filler": by_filler}
    seconds: dict[tuple[str, int, int, str], list[float]] = {
        (cost, batch, prototypes, name): []
        for cost in GRAMMARS for batch in (8, 32, 128) for prototypes in (1, 2, 8) for name in measures
    }  # fmt: skip
    for _ in range(arguments.passes):
        for (cost, batch, prototypes, name), taken in seconds.items():
            # A dear batch of 128 takes the better part of a second.
            rounds = arguments.rounds if cost == "ordinary" else max(2, arguments.rounds * 8 // (10 * batch // 8))
            taken.extend(measures[name](tokenizer, GRAMMARS[cost], batch=batch, prototypes=prototypes, rounds=rounds))
    print("| masks | batch | prototypes | filled by | median ms | quickest tenth, ms |")
    print("| --- | --- | --- | --- | --- | --- |")
    for (cost, batch, prototypes, name), taken in seconds.items():
        tenth = statistics.mean(sorted(taken)[: max(1, len(taken) // 10)])
        middle = statistics.median(taken)
        print(f"| {cost} | {batch} | {prototypes} | {name} | {middle * 1e3:.2f} | {tenth * 1e3:.2f} |")
    print("\n| beside 31 ordinary ones | theirs: median ms | 99th | longest | its own: median ms | 99th | longest |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name, grammar in {"ordinary": GRAMMARS["ordinary"], **SLOW_GRAMMARS}.items():
        theirs, its_own = beside_a_slow_one(tokenizer, slow_grammar=grammar, rounds=arguments.rounds * 5)
        print(f"| {name} | {spread(theirs)} | {spread(its_own)} |")
    micros = sorted(token_cost(tokenizer, num_tokens=5000))
    print(f"\nA token taken, and what is forced after it: median {statistics.median(micros):.2f} us, "
          f"mean {statistics.mean(micros):.2f} us, 99th {micros[len(micros) * 99 // 100]:.2f} us")  # fmt: skip


if __name__ == "__main__":
    main()
