"""What the node asks of llguidance: every call that it makes is declared here, and this module alone imports it.

Failures of the engine's are states, not exceptions, and after one it offers only the end of the sequence; where its
native code gives up, Python sees an exception that is no `Exception`. Whoever calls looks for both.
"""

from typing import Protocol

from llguidance import LLExecutor, LLMatcher

from compiler_pool.artifact import EngineBudget
from compiler_pool.tokenizer import BoundTokenizer
from compiler_pool.trial import engine_limits


class GrammarEngine(Protocol):
    """One place in one compiled grammar. All calls hold the interpreter lock, but for the mask."""

    def is_error(self) -> bool:
        """Whether it failed, which it stays."""

    def get_error(self) -> str:
        """Why; the first line is fit for a log."""

    def is_accepting(self) -> bool:
        """Whether the text is complete. False too on a lexer that broke."""

    def is_stopped(self) -> bool:
        """Whether nothing but an end can follow."""

    def deep_copy(self) -> "GrammarEngine":
        """Another at the same place, which shares the lexer."""

    def consume_token(self, sampled_token: int, /) -> bool:
        """Move on. False is an error state."""

    def try_consume_tokens(self, tokens: list[int], /) -> int:
        """Move on by as many as the grammar takes, without an error state."""

    def validate_tokens(self, tokens: list[int], /) -> int:
        """How many it would take. Does not move."""

    def compute_ff_tokens(self) -> list[int]:
        """What must follow. Does not move."""

    def rollback(self, num_tokens: int, /) -> bool:
        """Move back. Too far is an error state."""

    def unsafe_compute_mask_ptr(self, trg_pointer: int, trg_byte_size: int, /) -> None:
        """Write the next token's mask to an address. Releases the interpreter lock."""


class ParallelFill(Protocol):
    """Threads of the engine's own that fill several rows in one call."""

    def unsafe_compute_mask_ptr(
        self, interpreters: list[tuple[GrammarEngine, int]], trg_pointer: int, one_mask_bytes: int, batch: int, /
    ) -> None:
        """Write each one's mask at `trg_pointer` plus its index of masks. Releases the interpreter lock until all are
        there. What fails in one is a state of that one."""


class GrammarCompiler(Protocol):
    """Makes an engine of a grammar."""

    def __call__(self, tokenizer: BoundTokenizer, grammar: str, budget: EngineBudget, /) -> GrammarEngine:
        """At the grammar's start, or in an error state."""


def compile_engine(tokenizer: BoundTokenizer, grammar: str, budget: EngineBudget) -> GrammarEngine:
    """Milliseconds to hundreds of them; releases the interpreter lock. Look at `is_error`."""
    return LLMatcher(tokenizer.engine, grammar, log_level=0, limits=engine_limits(budget))


def new_parallel_fill(num_threads: int) -> ParallelFill:
    """Its threads live as long as it does."""
    return _Executor(LLExecutor(num_threads=num_threads))


class _Executor:
    def __init__(self, executor: LLExecutor) -> None:
        self._executor = executor

    def unsafe_compute_mask_ptr(
        self, interpreters: list[tuple[GrammarEngine, int]], trg_pointer: int, one_mask_bytes: int, batch: int, /
    ) -> None:
        self._executor.unsafe_compute_mask_ptr(interpreters, trg_pointer, one_mask_bytes, batch)  # type: ignore[arg-type]  # it takes its own matchers only, and refuses others


def is_engine_fault(error: BaseException) -> bool:
    """Whether a call into the engine raised, its panics included; not an interrupt or an exit of this process."""
    return isinstance(error, Exception) or type(error).__name__ == "PanicException"


def is_dead_end(engine: GrammarEngine) -> bool:
    """Whether an engine's error says that no token can continue, which is a property of the text, not a fault."""
    return engine.get_error().startswith("NoExtensionBias")


def first_line(error: str) -> str:
    """What fits into a log of the engine's own words, the parser's state left out."""
    return error.split("\n", 1)[0][:200] or "the grammar engine failed without a reason"
