"""What masks inside numbers cost, written as exact decimal texts and left to the engine. Prints a table.

    python -m tests.benchmarks.number_masks TOKENIZER.json [--num-texts 200]

Both walk seeded texts, one number after another in an array, and count the thread's CPU time of each mask. The engine's
own numbers are doubles: where it is wrong or refuses the schema, its columns are there for the cost only, or empty.
"""

import argparse
import json
import random
import time
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from llguidance import LLMatcher

from compiler_pool.form.numbers import number_set
from compiler_pool.lark.grammar import LarkRules
from compiler_pool.lark.numbers import number_body
from compiler_pool.tokenizer import BoundTokenizer, load_tokenizer
from registry.algebra.formulas import All, AtLeast, AtMost, Formula, Multiple

SCHEMAS: dict[str, dict[str, Any]] = {
    "number": {"type": "number"},
    "integer": {"type": "integer"},
    "integer from 0": {"type": "integer", "minimum": 0},
    "integer 1 to 100": {"type": "integer", "minimum": 1, "maximum": 100},
    "port": {"type": "integer", "minimum": 0, "maximum": 65535},
    "64-bit": {"type": "integer", "minimum": -(2**63), "maximum": 2**63 - 1},
    "number from 0": {"type": "number", "minimum": 0},
    "number 0 to 1": {"type": "number", "minimum": 0, "maximum": 1},
    "latitude": {"type": "number", "minimum": -90, "maximum": 90},
    "tiny": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1e-10},
    "cents": {"type": "number", "multipleOf": 0.01, "minimum": 0},
    "multiples of 5": {"type": "integer", "multipleOf": 5},
    "multiples of 3": {"type": "integer", "multipleOf": 3, "minimum": 0, "maximum": 1_000_000},
    "multiples of 7": {"type": "integer", "multipleOf": 7},
    "multiples of 997": {"type": "integer", "multipleOf": 997},
    "multiples of 7, 64-bit": {"type": "integer", "multipleOf": 7, "minimum": 0, "maximum": 2**63 - 1},
    "multiples of 0.07": {"type": "number", "multipleOf": 0.07},
}


def _formula(schema: dict[str, Any]) -> Formula:
    parts: list[Formula] = [Multiple(step=Fraction(1), positive=True)] if schema["type"] == "integer" else []
    for keyword, value in schema.items():
        exact = Fraction(Decimal(str(value))) if keyword != "type" else Fraction(0)
        match keyword:
            case "minimum" | "exclusiveMinimum":
                parts.append(AtLeast(bound=exact, is_open=keyword != "minimum"))
            case "maximum" | "exclusiveMaximum":
                parts.append(AtMost(bound=exact, is_open=keyword != "maximum"))
            case "multipleOf":
                parts.append(Multiple(step=exact, positive=True))
    return All(parts=tuple(parts))


def _exact(schema: dict[str, Any]) -> str:
    rules = LarkRules()
    body = number_body(number_set(_formula(schema), lambda _count: None), rules, name="value")
    lines = [f'start: "[" n ("," n)* "]"\nn: {body}', *(f"{name}: {text}" for name, text in rules.entries())]
    return "\n".join(lines) + "\n"


def _engines_own(schema: dict[str, Any]) -> str:
    return f'start: "[" n ("," n)* "]"\nn: %json {json.dumps(schema)}\n'


def _measured(grammar: str, tokenizer: BoundTokenizer, num_texts: int) -> tuple[str, ...]:
    begun = time.thread_time()
    matcher = LLMatcher(tokenizer.engine, grammar, log_level=0)
    made = time.thread_time() - begun
    if matcher.is_error():
        return ("", "", "")
    choose = random.Random(7)
    times: list[float] = []
    for _ in range(num_texts):
        walking = matcher.deep_copy()
        for _ in range(40):
            begun = time.thread_time()
            mask = walking.compute_bitmask()
            times.append(time.thread_time() - begun)
            assert not walking.is_error(), walking.get_error()
            allowed = [8 * at + bit for at, byte in enumerate(mask) if byte for bit in range(8) if byte >> bit & 1]
            if not allowed or walking.is_stopped():
                break
            walking.consume_token(choose.choice(allowed))
    times.sort()
    shown = (made * 1e3, times[len(times) // 2] * 1e6, times[int(len(times) * 0.99)] * 1e6)
    return tuple(f"{value:.1f}" for value in shown)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("tokenizer", type=Path)
    parser.add_argument("--num-texts", type=int, default=40)
    arguments = parser.parse_args()
    tokenizer = load_tokenizer(arguments.tokenizer)
    print("| numbers | make ms | p50 us | p99 us | engine: make ms | p50 us | p99 us | bytes |")
    print("|---|---|---|---|---|---|---|---|")
    for name, schema in SCHEMAS.items():
        exact = _exact(schema)
        ours = _measured(exact, tokenizer, arguments.num_texts)
        theirs = _measured(_engines_own(schema), tokenizer, arguments.num_texts)
        print(f"| {name} | {' | '.join(ours)} | {' | '.join(theirs)} | {len(exact)} |")


if __name__ == "__main__":
    main()
