"""Schemagate's compiler against plain llguidance: cold first masks, masks while decoding, and where the time goes.

    python -m tests.benchmarks.compiler_vs_llguidance --tokenizer ../shared/tokenizers/qwen3.json [--every 3]

Both get the same schemas of the sample in turn, in one process, and are timed by the CPU time of the thread. "Cold" is
what a contract costs before its first mask is there: lowering, the engine's constructor and one fill for us; the
constructor and one fill for llguidance. The trial decode, which llguidance does not have, is told apart. Masks are
timed along a valid instance that both take. `--xgrammar N` adds xgrammar on N of the schemas, where it is installed.
"""

import argparse
import gc
import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from llguidance import LLMatcher

from cli.conform.corpora import CorpusCase, _text, bench_cases
from cli.conform.serialise import Serialiser
from compiler_pool.forcing import with_safe_forcing
from compiler_pool.lowering.outcome import Refused
from compiler_pool.schema_grammar import schema_grammar
from compiler_pool.tokenizer import BoundTokenizer, load_tokenizer
from compiler_pool.trial import Passed, engine_limits, try_grammar
from gateway.validation.judge import Judge
from policy.enforcement import EnforcementPolicy, Unknown
from policy.limits import UNLIMITED
from registry.canonical import read_canonical
from registry.contract import JsonValue
from registry.errors import ContractRejectedError
from registry.json_schema import read_json_schema
from registry.parsing import parse_json

POLICY = EnforcementPolicy(unknown_keyword=Unknown.ANNOTATION, unknown_format=Unknown.ANNOTATION)
PLAIN_OPTIONS = {"whitespace_flexible": False, "item_separator": ",", "key_separator": ":"}
"""The same texts as ours: compact ones."""


@dataclass(slots=True, kw_only=True)
class Times:
    """Thread CPU seconds of one engine."""

    cold: list[float] = field(default_factory=list)
    masks: list[float] = field(default_factory=list)

    def row(self, name: str) -> str:
        """p50 and p99 of both."""
        cold, masks = sorted(self.cold), sorted(self.masks)
        colds = f"{len(cold):>10}{rank(cold, 0.5) * 1e3:>14.2f}{rank(cold, 0.99) * 1e3:>14.1f}"
        if not masks:
            return f"{name:<12}{colds}"
        return f"{name:<12}{colds}{len(masks):>12}{rank(masks, 0.5) * 1e6:>12.1f}{rank(masks, 0.99) * 1e6:>12.0f}"


@dataclass(slots=True, kw_only=True)
class Stages:
    """Where our time goes, in thread CPU seconds over all contracts."""

    lower: float = 0.0
    construct: float = 0.0
    first_mask: float = 0.0
    trial: float = 0.0

    def table(self) -> str:
        """The share of each stage."""
        parts = {"lower": self.lower, "construct": self.construct, "first mask": self.first_mask, "trial": self.trial}
        total = sum(parts.values())
        return ", ".join(f"{name} {value / total:.0%}" for name, value in parts.items())


def rank(ranked: list[float], fraction: float) -> float:
    """A quantile of a sorted list."""
    return ranked[min(len(ranked) - 1, int(fraction * len(ranked)))]


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    """What a call returns, and its thread CPU seconds."""
    started = time.thread_time()
    result = call()
    return result, time.thread_time() - started


def canonical_of(case: CorpusCase) -> "JsonValue | None":
    """The canonical schema, or None where the registry refuses it."""
    try:
        schema = parse_json(case.schema_text(), max_bytes=1 << 26, max_nesting=256)
        return read_canonical(read_json_schema(schema, limits=UNLIMITED.contract, policy=POLICY).text)
    except ContractRejectedError:
        return None


def grammar_of(schema: JsonValue) -> str | None:
    """Our Lark text; None where the contract is refused."""
    exact = schema_grammar(schema, limits=UNLIMITED, policy=POLICY)
    return None if isinstance(exact, Refused) else exact.grammar.text()


def matcher(tokenizer: BoundTokenizer, grammar: str) -> LLMatcher | None:
    """The engine on a grammar; None if it refuses."""
    made = LLMatcher(tokenizer.engine, grammar, log_level=0, limits=engine_limits(UNLIMITED.engine))
    return None if made.is_error() else made


def walk(made: LLMatcher, tokens: list[int]) -> list[float] | None:
    """The time of each mask along a text; None if the engine does not take it."""
    current, times = made.deep_copy(), []
    for token in tokens:
        _, seconds = timed(current.compute_bitmask)
        times.append(seconds)
        if not current.consume_token(token):
            return None
    return times if current.is_accepting() else None


def texts(case: CorpusCase, schema: JsonValue) -> Iterator[bytes]:
    """The valid instances as the contract generates them."""
    judge = Judge.prepare(json.dumps(schema, default=str))
    admits = judge.admits if isinstance(judge, Judge) else (lambda _value, _schema: False)
    for data, is_valid in case.instances:
        if is_valid:
            yield from Serialiser(schema, admits).candidates(
                parse_json(_text(data), max_bytes=1 << 26, max_nesting=512)
            )


@dataclass(slots=True, kw_only=True)
class Comparison:
    """Both engines on the schemas that both take."""

    tokenizer: BoundTokenizer
    ours: Times = field(default_factory=Times)
    plain: Times = field(default_factory=Times)
    stages: Stages = field(default_factory=Stages)

    def add(self, case: CorpusCase) -> str | None:
        """Time one schema on both; answers its text if both took it."""
        schema = canonical_of(case)
        document = json.loads(case.schema_text())
        if schema is None or not isinstance(document, dict):
            return None
        raw = f"start: %json {json.dumps(document | {'x-guidance': PLAIN_OPTIONS})}\n"
        their, construct = timed(lambda: matcher(self.tokenizer, raw))
        grammar, lowering = timed(lambda: grammar_of(schema)) if their is not None else (None, 0.0)
        if their is None or grammar is None:
            return None
        _, first = timed(their.deep_copy().compute_bitmask)
        safe, forcing = timed(lambda: with_safe_forcing(grammar, self.tokenizer))
        own, own_construct = timed(lambda: matcher(self.tokenizer, safe))
        if own is None:
            return None
        _, own_first = timed(own.deep_copy().compute_bitmask)
        self.plain.cold.append(construct + first)
        self.ours.cold.append(lowering + forcing + own_construct + own_first)
        outcome = try_grammar(safe, self.tokenizer, engine=UNLIMITED.engine, trial=UNLIMITED.trial)
        self.stages.lower += lowering + forcing
        self.stages.construct += own_construct
        self.stages.first_mask += own_first
        self.stages.trial += outcome.trial_seconds if isinstance(outcome, Passed) else 0.0
        self._masks(case, schema, their, own)
        return json.dumps(document)

    def _masks(self, case: CorpusCase, schema: JsonValue, their: LLMatcher, own: LLMatcher) -> None:
        """The masks along one valid instance that both take."""
        for text in texts(case, schema):
            tokens = self.tokenizer.encode_exact(text)
            theirs, mine = walk(their, tokens), walk(own, tokens)
            if theirs is not None and mine is not None:
                self.plain.masks += theirs
                self.ours.masks += mine
                return


def xgrammar_times(path: Path, schemas: list[str], vocabulary_size: int) -> Times:
    """xgrammar's cold first masks on the same schemas, in CPU time of the process: it has threads."""
    import xgrammar  # type: ignore[import-not-found]
    from transformers import PreTrainedTokenizerFast

    held = PreTrainedTokenizerFast(tokenizer_file=str(path))  # type: ignore[no-untyped-call]
    tokenizer = xgrammar.TokenizerInfo.from_huggingface(held, vocab_size=vocabulary_size)
    compiler = xgrammar.GrammarCompiler(tokenizer, max_threads=1, cache_enabled=False)
    times, bitmask = Times(), xgrammar.allocate_token_bitmask(1, vocabulary_size)
    for schema in schemas:
        started = time.process_time()
        try:
            made = xgrammar.GrammarMatcher(compiler.compile_json_schema(schema, any_whitespace=False))
        except RuntimeError:
            continue
        made.fill_next_token_bitmask(bitmask)
        times.cold.append(time.process_time() - started)
    return times


def main() -> int:
    """Print the table; status 1 if a ratio is above its bound."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--every", type=int, default=1, help="take every n-th schema of the sample")
    parser.add_argument("--xgrammar", type=int, default=0, help="of so many schemas, xgrammar's times as well")
    arguments = parser.parse_args()
    sys.setrecursionlimit(20_000)
    tokenizer = load_tokenizer(arguments.tokenizer)
    comparison = Comparison(tokenizer=tokenizer)
    taken: list[str] = []
    gc.disable()
    for at, case in enumerate(bench_cases()):
        if at % arguments.every == 0:
            schema = comparison.add(case)
            taken += [] if schema is None else [schema]
            gc.collect()
    ours, plain = comparison.ours, comparison.plain
    print(f"{'':<12}{'contracts':>10}{'cold p50 ms':>14}{'cold p99 ms':>14}{'masks':>12}{'p50 us':>12}{'p99 us':>12}")
    print(plain.row("llguidance"))
    print(ours.row("schemagate"))
    print(f"our time: {comparison.stages.table()}")
    is_within = held_to_bounds(ours, plain)
    if arguments.xgrammar:
        step = max(len(taken) // arguments.xgrammar, 1)
        others = xgrammar_times(arguments.tokenizer, taken[::step][: arguments.xgrammar], tokenizer.vocabulary_size)
        print(others.row("xgrammar"))
        ratio = rank(sorted(others.cold), 0.5) / rank(sorted(ours.cold[::step][: arguments.xgrammar]), 0.5)
        print(f"xgrammar's median cold first mask takes {ratio:.0f} times ours (at least 100 is the goal)")
    return 0 if is_within else 1


def held_to_bounds(ours: Times, plain: Times) -> bool:
    """Print each ratio beside its bound."""
    is_within = True
    for name, own, other, fraction, bound in (
        ("cold p50", ours.cold, plain.cold, 0.5, 3.0),
        ("cold p99", ours.cold, plain.cold, 0.99, 2.0),
        ("mask p50", ours.masks, plain.masks, 0.5, 1.1),
        ("mask p99", ours.masks, plain.masks, 0.99, 1.1),
    ):
        ratio = rank(sorted(own), fraction) / rank(sorted(other), fraction)
        print(f"{name}: {ratio:.2f} of llguidance's (bound {bound})")
        is_within = is_within and ratio <= bound
    return is_within


if __name__ == "__main__":
    sys.exit(main())
