"""How long a batch of masks of one artifact takes, by how many prototypes its sequences are spread over.

    python tests/benchmarks/mask_fill.py [--model DIR] [--rounds 100] [--passes 5]

Every sequence walks its own seeded way; the fills of one round are timed together, on two threads, and the variants
take turns. The median is what the machine gave; the mean of the quickest tenth, what it can give when nobody else is
on it.
"""

import argparse
import json
import random
import statistics
import time
from concurrent.futures import wait
from pathlib import Path

import numpy as np
from llguidance import LLExecutor, LLMatcher
from llguidance.numpy import allocate_token_bitmask, fill_next_token_bitmask_par

from compiler_pool.tokenizer import BoundTokenizer, load_tokenizer
from compiler_pool.trial import engine_limits
from inference_node.grammar import Prototype
from inference_node.mask_filler import MaskFiller
from inference_node.matcher import GrammarMatcher
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
    """The node's own threads: seconds of each round."""
    ends, source = frozenset(tokenizer.end_ids), random.Random(0)
    roots = [Prototype.build(tokenizer, grammar, TENANT.engine) for _ in range(prototypes)]
    masks = MaskFiller(tokenizer, num_places=batch, num_threads=NUM_THREADS)
    matchers: list[GrammarMatcher] = [roots[row % prototypes].matcher() for row in range(batch)]
    seconds = []
    for _ in range(rounds):
        started = time.perf_counter()
        wait([masks.start(matcher, row) for row, matcher in enumerate(matchers)])
        seconds.append(time.perf_counter() - started)
        rows = masks.rows(list(range(batch))).numpy()
        for row, matcher in enumerate(matchers):
            token_id = choose(rows[row], ends, source)
            if token_id is not None:
                matcher.advance([token_id])
            assert not matcher.is_broken
            if token_id is None or matcher.is_terminated:
                matchers[row] = roots[row % prototypes].matcher()
    masks.close()
    return seconds


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, default=Path(".cache/SmolLM2-135M-Instruct"))
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--passes", type=int, default=5)
    arguments = parser.parse_args()
    tokenizer = load_tokenizer(arguments.model)
    measures = {"executor": by_executor, "mask filler": by_filler}
    seconds: dict[tuple[str, str, int, int], list[float]] = {
        (cost, name, batch, prototypes): []
        for cost in GRAMMARS for name in measures for batch in (8, 32) for prototypes in (1, 2)
    }  # fmt: skip
    for _ in range(arguments.passes):
        for (cost, name, batch, prototypes), taken in seconds.items():
            taken.extend(
                measures[name](tokenizer, GRAMMARS[cost], batch=batch, prototypes=prototypes, rounds=arguments.rounds)
            )
    print("| masks | filled by | batch | prototypes | median ms | quickest tenth, ms |")
    print("| --- | --- | --- | --- | --- | --- |")
    for (cost, name, batch, prototypes), taken in seconds.items():
        tenth = statistics.mean(sorted(taken)[: max(1, len(taken) // 10)])
        middle = statistics.median(taken)
        print(f"| {cost} | {name} | {batch} | {prototypes} | {middle * 1e3:.2f} | {tenth * 1e3:.2f} |")


if __name__ == "__main__":
    main()
