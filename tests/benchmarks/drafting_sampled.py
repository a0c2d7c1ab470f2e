"""Sampled decoding with drafts under many schemas: is every token the grammar's, every finished object the contract's?

The model is small and random over the real vocabulary; its drafts come from its own first layer (a model of one layer
with the same weights), or by lookup, turn about. It says nothing of sense, so it strays wherever the mask lets it.
"""

import json
import random
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from time import monotonic
from typing import Final

import numpy as np

from cli.conform.corpora import bench_cases
from compiler_pool.tokenizer import BoundTokenizer
from gateway.validation.verdict import Invalid, Unjudged, Valid
from inference_node.engine import TorchEngine
from inference_node.grammar import Prototype
from inference_node.sampling import SamplingChoice
from kernels.bitmask import bitmask_words
from policy.limits import TENANT
from policy.text_bounds import TextBounds
from registry.text import canonical_json
from tests.benchmarks.drafting_cases import Contract, compiled
from tests.benchmarks.drafting_engine import Answer, Asked, decode, running_engine
from tests.differential.schemas import drawn_schema
from tests.inference_node.model_worlds import tiny_config, write_model

_BOUNDS: Final = TextBounds(max_digits=8, max_string_length=24, max_items=4, max_depth=4, max_undeclared=0)
"""Short, so that many objects are finished."""

_MAX_TOKENS: Final = 256
_CONTEXT_TOKENS: Final = 512
_SEQUENCES: Final = 8
"""Of one contract at a time, each with its own seed and choice."""

_REPEATED_NAME: Final = "duplicate_name"
"""A member that the contract does not name, twice: no grammar can keep a model from it, and the report says so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stray:
    """A token that the fresh matcher's mask does not have, or an object that breaks its contract."""

    schema_text: str
    text: str
    what: str


def run_sampled(directory: Path, *, num_tokens: int, seconds: float, state: Path | None) -> int:
    """Decode until there are so many tokens or the time is over. Status 1 where anything strayed."""
    counts, next_number = _read(state)
    deadline = monotonic() + seconds
    with tempfile.TemporaryDirectory() as scratch, ExitStack() as stack:
        model = write_model(Path(scratch) / "random", directory, tiny_config())
        layer = write_model(Path(scratch) / "random-first-layer", directory, tiny_config(num_hidden_layers=1))
        engines = [
            stack.enter_context(
                running_engine(
                    model, draft=draft, dtype="float32", max_sequences=_SEQUENCES, context_tokens=_CONTEXT_TOKENS
                )
            )
            for draft in ("prompt_lookup", str(layer))
        ]
        tokenizer = engines[0].tokenizer
        for number, schema_text in _schemas(next_number):
            if counts["tokens"] >= num_tokens or monotonic() > deadline:
                break
            contract = compiled(schema_text, tokenizer, bounds=_BOUNDS)
            counts["schemas refused" if contract is None else "schemas"] += 1
            if contract is not None:
                for stray in _examined(engines[number % 2], contract, number, schema_text, counts):
                    print(f"STRAYED: {stray.what}\n  schema {stray.schema_text}\n  text {stray.text!r}", flush=True)
            _write(state, counts, number + 1)
    for name, value in sorted(counts.items()):
        print(f"{name:40} {value:>12,}")
    return 1 if counts["tokens outside the grammar"] or counts["objects that break their contract"] else 0


def _examined(
    engine: TorchEngine, contract: Contract, number: int, schema_text: str, counts: Counter[str]
) -> Iterator[Stray]:
    draw = random.Random(number)
    asked = [
        Asked(
            prompt_ids=[draw.randrange(1000, 40_000) for _ in range(draw.randint(1, 40))],
            grammar=contract.grammar,
            choice=SamplingChoice(
                temperature=draw.choice((0.3, 0.7, 1.0, 1.5)),
                top_p=draw.choice((1.0, 1.0, 0.9)),
                top_k=draw.choice((0, 0, 50)),
                seed=draw.getrandbits(62),
            ),
            max_tokens=_MAX_TOKENS,
        )
        for _ in range(_SEQUENCES)
    ]
    answers, _ = decode(engine, asked, batch=_SEQUENCES, drafts=True)
    for answer in answers:
        finish = answer.ended()
        counts["sequences"] += 1
        counts["tokens"] += len(answer.token_ids)
        counts["tokens forced"] += finish.usage.forced_tokens
        counts["tokens drafted"] += finish.decoding.drafted_tokens
        counts["tokens drafted and taken"] += finish.decoding.accepted_draft_tokens
        counts[f"ended by {finish.stop_cause}"] += 1
        outside = _outside(engine.tokenizer, contract.grammar, answer.token_ids)
        counts["tokens outside the grammar"] += outside
        if outside:
            yield Stray(schema_text=schema_text, text=answer.text, what=f"{outside} tokens outside the grammar")
        if finish.accepting:
            yield from _judged(contract, answer, schema_text, counts)


def _judged(contract: Contract, answer: Answer, schema_text: str, counts: Counter[str]) -> Iterator[Stray]:
    counts["objects finished"] += 1
    match contract.judge.judge(answer.text.encode()):
        case Valid():
            counts["objects valid"] += 1
        case Invalid(keyword=keyword) if keyword == _REPEATED_NAME:
            counts["objects with a repeated undeclared name"] += 1
        case Invalid(pointer=pointer, keyword=keyword, message=message):
            counts["objects that break their contract"] += 1
            yield Stray(schema_text=schema_text, text=answer.text, what=f"{keyword} at {pointer!r}: {message}")
        case Unjudged(reason=reason):
            counts[f"objects unjudged: {reason}"] += 1


def _outside(tokenizer: BoundTokenizer, grammar: str, token_ids: Sequence[int]) -> int:
    """How many tokens, from the first on that a fresh matcher's mask does not have."""
    matcher = Prototype.build(tokenizer, grammar, TENANT.engine).matcher()
    row = np.zeros(bitmask_words(tokenizer.vocabulary_size), dtype=np.int32)
    for at, token_id in enumerate(token_ids):
        matcher.fill_bitmask(row)
        if not row[token_id // 32] >> (token_id % 32) & 1:
            return len(token_ids) - at
        matcher.advance([token_id])
    return 0


def _schemas(first: int) -> Iterator[tuple[int, str]]:
    """Numbered without end: three that are drawn, then a real one."""
    real = [case.schema_text() for case in bench_cases()]
    for number in count(first):
        if number % 4 == 3:
            yield number, real[(number * 7919) % len(real)]
        else:
            yield number, canonical_json(drawn_schema(random.Random(number)))


def _read(state: Path | None) -> tuple[Counter[str], int]:
    if state is None or not state.is_file():
        return Counter(), 0
    told = json.loads(state.read_text())
    return Counter(told["counts"]), told["next"]


def _write(state: Path | None, counts: Counter[str], next_number: int) -> None:
    if state is not None:
        # A new file takes the old one's place whole: a piece that is cut off loses one schema.
        beside = state.with_suffix(".new")
        beside.write_text(json.dumps({"next": next_number, "counts": counts}, indent=1))
        beside.replace(state)
