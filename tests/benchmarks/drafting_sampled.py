"""Sampled decoding with drafts under many schemas: is every token the grammar's, every finished object the contract's?

The model is small and random over the real vocabulary; its drafts come from its own first layer (a model of one layer
with the same weights), or by lookup, turn about. It says nothing of sense, so it strays wherever the mask lets it.
"""

import json
import random
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from time import monotonic
from typing import Final

import numpy as np

from cli.conform.corpora import bench_cases
from compiler_pool.tokenizer import BoundTokenizer, load_tokenizer
from gateway.validation.verdict import Invalid, Unjudged, Valid
from inference_node.block_pool import BlockPool
from inference_node.decoder import Decoder
from inference_node.drafting.draft_model import DraftModel
from inference_node.drafting.guarded import GuardedDrafts
from inference_node.drafting.prompt_lookup import PromptLookup
from inference_node.drafting.source import DraftSource
from inference_node.grammar import Prototype
from inference_node.sampling import SamplingChoice
from kernels.bitmask import bitmask_words
from policy.limits import TENANT
from policy.text_bounds import TextBounds
from registry.text import canonical_json
from tests.benchmarks.drafting_cases import Contract, compiled
from tests.benchmarks.drafting_engine import Answer, Asked, CountedRunner, Decoding, decode
from tests.differential.schemas import drawn_schema
from tests.inference_node.model_worlds import load_decoder, tiny_config, write_model
from tests.inference_node.worlds import on_cpu, running_loop

_BOUNDS: Final = TextBounds(max_digits=12, max_string_length=40, max_items=6, max_depth=5, max_undeclared=0)
"""Short, so that nearly all objects are finished."""

_MAX_TOKENS: Final = 256
_CONTEXT_TOKENS: Final = 512
_NUM_BLOCKS: Final = 512
_SEQUENCES: Final = 16
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
        first_layer = write_model(Path(scratch) / "first-layer", directory, tiny_config(num_hidden_layers=1))
        tokenizer = load_tokenizer(model)
        decoder = load_decoder(model, context_tokens=_CONTEXT_TOKENS)
        sources = (PromptLookup(row_cost=0.0), _drafting_by(first_layer))
        engines = [stack.enter_context(_running(decoder, tokenizer, source)) for source in sources]
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


def _drafting_by(directory: Path) -> DraftModel:
    """As if its passes cost little, so that it drafts wherever some drafts are taken."""
    decoder = load_decoder(directory, context_tokens=_CONTEXT_TOKENS)
    return DraftModel(
        on_cpu(decoder, num_blocks=_NUM_BLOCKS),
        BlockPool(_NUM_BLOCKS),
        name="first layer",
        context_tokens=_CONTEXT_TOKENS,
        max_rows=256,
        row_cost=0.0,
        pass_cost=0.1,
        device=decoder.device,
    )


@contextmanager
def _running(decoder: Decoder, tokenizer: BoundTokenizer, source: DraftSource) -> Iterator[Decoding]:
    guarded = GuardedDrafts(source, vocabulary_size=tokenizer.vocabulary_size)
    runner = CountedRunner(on_cpu(decoder, num_blocks=_NUM_BLOCKS))
    with running_loop(
        runner, tokenizer, max_sequences=_SEQUENCES, num_blocks=_NUM_BLOCKS, max_drafts=7, drafts=guarded
    ) as loop:
        yield Decoding(loop=loop, runner=runner, tokenizer=tokenizer, context_tokens=_CONTEXT_TOKENS)
    assert not guarded.is_off, "the source failed"


def _examined(
    engine: Decoding, contract: Contract, number: int, schema_text: str, counts: Counter[str]
) -> Iterator[Stray]:
    draw = random.Random(number)
    # Filters make a draw ten times as dear on a CPU, for all rows of a step.
    has_filters = number % 8 < 2
    asked = [
        Asked(
            prompt_ids=[draw.randrange(1000, 40_000) for _ in range(draw.randint(1, 40))],
            grammar=contract.grammar,
            choice=SamplingChoice(
                temperature=draw.choice((0.3, 0.7, 1.0, 1.5)),
                top_p=draw.choice((1.0, 0.9)) if has_filters else 1.0,
                top_k=draw.choice((0, 50)) if has_filters else 0,
                seed=draw.getrandbits(62),
            ),
            max_tokens=_MAX_TOKENS,
        )
        for _ in range(_SEQUENCES)
    ]
    answers, _ = decode(engine, asked, batch=_SEQUENCES, drafts=True)
    # Apart from what decoded: nothing that broke there can hide here.
    apart = Prototype.build(engine.tokenizer, contract.grammar, TENANT.engine)
    for answer in answers:
        finish = answer.ended()
        counts["sequences"] += 1
        counts["tokens"] += len(answer.token_ids)
        counts["tokens forced"] += finish.usage.forced_tokens
        counts["tokens drafted"] += finish.decoding.drafted_tokens
        counts["tokens drafted and taken"] += finish.decoding.accepted_draft_tokens
        counts[f"ended by {finish.stop_cause}"] += 1
        outside = _num_outside(apart, answer.token_ids)
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


def _num_outside(prototype: Prototype, token_ids: Sequence[int]) -> int:
    """How many tokens, from the first on that a fresh matcher's mask does not have."""
    matcher = prototype.matcher()
    row = np.zeros(bitmask_words(prototype.tokenizer.vocabulary_size), dtype=np.int32)
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
