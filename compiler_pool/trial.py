"""Compile a grammar and decode a few hundred steps of it before anybody relies on it.

Runs in a killable child only: the engine's own limits do not bound its constructor, and some grammars take the process
with them. A grammar that compiles may still stall, dead-end or fail in decoding; this is where that shows.
"""

import random
import re
import time
from dataclasses import dataclass
from functools import lru_cache

from llguidance import LLMatcher, LLParserLimits

from compiler_pool.tokenizer import BoundTokenizer
from policy.limits import EngineBudget, TrialBudget

_SEED = 0
_ENDING_BIAS = 0.15
"""Share of steps that take a token likely to close what is open, so that endings are tried as well as openings."""
_ALLOWING = re.compile(rb"[^\x00]")
"""A byte of a mask that allows some token."""
_CLOSERS = (b'"', b"}", b"]", b'"}', b'"]', b"]}", b"}]", b"}}", b'",', b'":', b",")


@dataclass(frozen=True, slots=True, kw_only=True)
class Passed:
    """What the trial measured, in thread CPU time; the worst step is over masks after the first."""

    compile_seconds: float
    trial_seconds: float
    first_mask_seconds: float
    worst_mask_seconds: float
    mask_seconds: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CompileFailed:
    """The engine does not take the grammar. `engine_words` stay in the pool's logs."""

    is_limit: bool
    engine_words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialFailed:
    """It compiled, and then: `engine_limit`, `dead_end`, `special_token` (one that the tokenizer's declaration does not
    grant was offered), `first_mask_too_slow` or `step_too_slow`."""

    reason: str
    observed_seconds: float | None = None


TrialOutcome = Passed | CompileFailed | TrialFailed


def engine_limits(budget: EngineBudget) -> LLParserLimits:
    """The engine's form of our budget, without the parser state in its messages."""
    return LLParserLimits(
        max_items_in_row=budget.max_items_in_row,
        initial_lexer_fuel=budget.initial_lexer_fuel,
        step_lexer_fuel=budget.step_lexer_fuel,
        step_max_items=budget.step_max_items,
        max_lexer_states=budget.max_lexer_states,
        max_grammar_size=budget.max_grammar_size,
        verbose_errors=False,
    )


def try_grammar(grammar: str, tokenizer: BoundTokenizer, *, engine: EngineBudget, trial: TrialBudget) -> TrialOutcome:
    """Compile, then decode `trial.num_steps` seeded steps. Deterministic but for the times it measures.

    A step over the limit is measured once more from the start before it counts: a busy machine makes anything slow.
    """
    outcome = _attempt(grammar, tokenizer, engine, trial)
    if isinstance(outcome, TrialFailed) and outcome.observed_seconds is not None:
        outcome = _attempt(grammar, tokenizer, engine, trial)
    return outcome


def _failure(matcher: LLMatcher) -> CompileFailed | None:
    if not matcher.is_error():
        return None
    words = matcher.get_error()
    return CompileFailed(
        is_limit="limit" in words or "too many" in words or "too large" in words or "fuel" in words,
        engine_words=words[:500],
    )


def _attempt(grammar: str, tokenizer: BoundTokenizer, engine: EngineBudget, trial: TrialBudget) -> TrialOutcome:
    started = time.thread_time()
    matcher = LLMatcher(tokenizer.engine, grammar, log_level=0, limits=engine_limits(engine))
    compiled = time.thread_time()
    failure = _failure(matcher)
    if failure is not None:
        return failure
    walk, withheld = _Walk(tokenizer), _withheld_bits(tokenizer)
    times: list[float] = []
    current = matcher.deep_copy()
    last_new, sizes = 0, set[int]()
    for step in range(trial.num_steps):
        if step - last_new > trial.num_idle_steps:
            break
        before = time.thread_time()
        mask = current.compute_bitmask()
        times.append(time.thread_time() - before)
        # A limit that trips in a fill leaves an end-only mask behind and says so nowhere else.
        if current.is_error():
            return TrialFailed(reason="engine_limit")
        if any(mask[at] & bits for at, bits in withheld):
            return TrialFailed(reason="special_token")
        if times[-1] > trial.max_step_seconds:
            reason = "step_too_slow" if len(times) > 1 else "first_mask_too_slow"
            return TrialFailed(reason=reason, observed_seconds=times[-1])
        size = mask.count(0)
        if size not in sizes:
            sizes.add(size)
            last_new = step
        token = walk.choose(mask)
        is_end = token in tokenizer.end_ids
        if token is None or (is_end and not current.is_accepting()):
            return TrialFailed(reason="dead_end")
        if is_end or not current.consume_token(token) or current.is_stopped():
            if current.is_error():
                return TrialFailed(reason="engine_limit")
            current = matcher.deep_copy()
    return Passed(
        compile_seconds=compiled - started,
        trial_seconds=time.thread_time() - compiled,
        first_mask_seconds=times[0] if times else 0.0,
        worst_mask_seconds=max(times[1:], default=0.0),
        mask_seconds=tuple(times),
    )


@lru_cache(maxsize=8)
def _withheld_bits(tokenizer: BoundTokenizer) -> tuple[tuple[int, int], ...]:
    """The ids that no mask may allow, by the bytes of a mask that hold them. Few: reading a whole mask is dear."""
    bits: dict[int, int] = {}
    for token in sorted(tokenizer.withheld):
        bits[token >> 3] = bits.get(token >> 3, 0) | 1 << (token & 7)
    return tuple(bits.items())


class _Walk:
    """A seeded way through masks: the first allowed token after a random place, with a nudge towards endings."""

    def __init__(self, tokenizer: BoundTokenizer) -> None:
        self._random = random.Random(_SEED)  # noqa: S311 - repeatable on purpose, nothing secret
        closing = (tokenizer.longest_first.get(closer) for closer in _CLOSERS)
        self._closing = [*tokenizer.end_ids, *(token for token in closing if token is not None)]

    def choose(self, mask: bytes) -> int | None:
        """An allowed token, or None if the mask allows none."""
        if self._random.random() < _ENDING_BIAS:
            allowed = [token for token in self._closing if mask[token >> 3] >> (token & 7) & 1]
            if allowed:
                return self._random.choice(allowed)
        found = _ALLOWING.search(mask, self._random.randrange(len(mask))) or _ALLOWING.search(mask)
        if found is None:
            return None
        bits = [bit for bit in range(8) if mask[found.start()] >> bit & 1]
        return found.start() * 8 + self._random.choice(bits)
