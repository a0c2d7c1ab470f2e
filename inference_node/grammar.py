"""Grammar state over llguidance: a prototype per artifact, a matcher per sequence.

The engine reports failures as states, never as exceptions, and after a failure it offers nothing but the end of the
sequence: a matcher that did not look would call a broken run finished. Every call here looks.

Copies of one prototype share a lexer, and a lexer error in one is an error in all of them. So a matcher that fails is
rebuilt once, alone, and its tokens are replayed: the innocent go on, the guilty fail again with nobody beside them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import numpy as np
from llguidance import LLMatcher
from numpy.typing import NDArray

from compiler_pool.artifact import EngineBudget
from compiler_pool.errors import TokenizerError
from compiler_pool.tokenizer import BoundTokenizer
from compiler_pool.trial import engine_limits
from inference_node.errors import GrammarError

Bitmask = NDArray[np.int32]
"""Packed: bit `i % 32` of word `i // 32` is set where token `i` may follow."""

_DEAD_END: Final = "NoExtensionBias"
"""How the engine's error text begins when no token can continue, which is a property of the text, not a fault."""

_MAX_COPIES: Final = 256
"""Copies use up their prototype's lexer states for good; past this many a fresh prototype is made."""


@dataclass(slots=True, kw_only=True, eq=False)
class Prototype:
    """A compiled grammar from which matchers are copied in microseconds. One tenant's partition each.

    `is_suspect` is set by the first copy that fails: such a prototype makes no more copies worth having.
    """

    tokenizer: BoundTokenizer
    grammar: str
    budget: EngineBudget
    is_suspect: bool = False
    _engine: Any
    _num_copies: int = 0

    @classmethod
    def build(cls, tokenizer: BoundTokenizer, grammar: str, budget: EngineBudget) -> "Prototype":
        """Compile. Milliseconds to hundreds of them; releases the GIL. Only for grammars the compiler accepted.

        Raises:
            GrammarError: the engine refused it.
        """
        return cls(tokenizer=tokenizer, grammar=grammar, budget=budget, _engine=_compile(tokenizer, grammar, budget))

    @property
    def is_worn(self) -> bool:
        """Whether the next matcher should come from a fresh prototype."""
        return self.is_suspect or self._num_copies >= _MAX_COPIES

    def rebuilt(self) -> "Prototype":
        """The same grammar, compiled anew, sharing nothing. Raises GrammarError."""
        return Prototype.build(self.tokenizer, self.grammar, self.budget)

    def matcher(self) -> "GrammarMatcher":
        """A matcher at the grammar's start."""
        self._num_copies += 1
        return GrammarMatcher(prototype=self, _engine=self._engine.deep_copy())


@dataclass(slots=True, kw_only=True, eq=False)
class GrammarMatcher:
    """One sequence's place in its grammar. Used by one thread at a time.

    Order of calls while decoding: `fill_bitmask`, then `accept_tokens` with a token of that mask, and between them
    `forced_tokens`. After each, `failure` and `is_dead_end` tell whether it still stands; both are final.
    """

    prototype: Prototype
    failure: str | None = None
    """The engine hit a limit or failed, twice: for this sequence the grammar cannot be decided."""
    is_dead_end: bool = False
    """No token can continue and the text so far is not complete."""
    _engine: Any
    _tokens: list[int] | None = None
    _has_ended: bool = False
    _is_alone: bool = False

    @property
    def tokens(self) -> Sequence[int]:
        """What was accepted, the end token excepted."""
        return self._tokens or ()

    @property
    def is_standing(self) -> bool:
        """Neither failed nor at a dead end."""
        return self.failure is None and not self.is_dead_end

    @property
    def is_accepting(self) -> bool:
        """Whether what was accepted is a whole sentence of the grammar. False once failed."""
        return self.is_standing and bool(self._engine.is_accepting()) and not self._engine.is_error()

    @property
    def is_terminated(self) -> bool:
        """Whether the sentence is whole and nothing more can follow (an end token was taken, or only one could be)."""
        return self._has_ended or (self.is_accepting and bool(self._engine.is_stopped()))

    def accept_tokens(self, token_ids: Sequence[int]) -> bool:
        """Move on by all of the tokens, or by none and answer False.

        An end token may only be last, and only where the grammar accepts. Other splits of the same bytes than the
        mask would offer are accepted too.
        """
        if not self.is_standing or self._has_ended:
            return not token_ids
        ends = self.prototype.tokenizer.end_ids
        text_ids, has_end = list(token_ids), False
        if text_ids and text_ids[-1] in ends:
            text_ids.pop()
            has_end = True
        if any(token_id in ends for token_id in text_ids) or not self._consume(text_ids, is_offered=False):
            return False
        if has_end and not self.is_accepting:
            self.rollback(len(text_ids))
            return False
        self._has_ended = has_end
        return True

    def advance(self, token_ids: Sequence[int]) -> None:
        """Move on by tokens that this matcher itself offered, in a mask or as forced; refusing them is a failure."""
        *head, last = token_ids
        text_ids = head if last in self.prototype.tokenizer.end_ids else [*head, last]
        if not self.is_standing or self._has_ended:
            raise ValueError("this matcher has no next token")
        if not self._consume(text_ids, is_offered=True):
            if self.is_standing:
                self.failure = "the grammar engine refused a token that it offered"
        elif len(text_ids) < len(token_ids):
            if self.is_accepting:
                self._has_ended = True
            else:
                self.failure = "the grammar engine offered an end where the text is not complete"

    def forced_tokens(self) -> list[int]:
        """Tokens that must follow whatever the model says; never an end token. Does not move on."""
        if not self.is_standing or self.is_terminated:
            return []
        forced: list[int] = self._engine.compute_ff_tokens()
        if self._engine.is_error():
            if not self._recover():
                return []
            forced = self._engine.compute_ff_tokens()
        ends = self.prototype.tokenizer.end_ids
        for position, token_id in enumerate(forced):
            if token_id in ends:
                return forced[:position]
        return forced

    def fill_bitmask(self, row: Bitmask) -> None:
        """Write the mask of the next token into a contiguous row of `ceil(vocabulary_size / 32)` words.

        A matcher that does not stand afterwards leaves a row of zeros: nothing is allowed. Releases the GIL.

        Raises:
            ValueError: a row of another shape or type.
        """
        words = -(-self.prototype.tokenizer.vocabulary_size // 32)
        if row.shape != (words,) or row.dtype != np.int32 or not row.flags["C_CONTIGUOUS"]:
            raise ValueError(f"a mask row is {words} contiguous int32 words, not {row.dtype}{list(row.shape)}")
        if self.is_standing and not self._has_ended:
            self._fill(row)
            if self._engine.is_error() and self._recover():
                self._fill(row)
                self._note_error()
            if self.is_standing:
                self._check_row(row)
        if not self.is_standing or self._has_ended:
            row[:] = 0

    def accepts_text(self, data: bytes) -> bool:
        """Whether exactly these bytes are a whole sentence of the grammar, judged from its start on a matcher apart."""
        try:
            token_ids = self.prototype.tokenizer.encode_exact(data)
        except TokenizerError:
            return False
        matcher = self.prototype.matcher()
        return matcher.accept_tokens(token_ids) and matcher.is_accepting

    def rollback(self, num_tokens: int) -> None:
        """Take back the last tokens, the end token counted as one.

        Raises:
            ValueError: more than were accepted, which would break the engine's state for good.
        """
        num_text_tokens = num_tokens - (1 if self._has_ended and num_tokens else 0)
        if num_text_tokens < 0 or num_text_tokens > len(self.tokens):
            raise ValueError(f"cannot take back {num_tokens} of {len(self.tokens)} tokens")
        if num_tokens:
            self._has_ended = False
        if num_text_tokens and self._tokens is not None:
            del self._tokens[-num_text_tokens:]
            # The engine has its own count after a stop; where it disagrees, ours is replayed.
            if not self._engine.rollback(num_text_tokens) or self._engine.is_error():
                self._recover()

    def _consume(self, token_ids: list[int], *, is_offered: bool) -> bool:
        if not token_ids:
            return True
        taken = self._engine.try_consume_tokens(token_ids)
        # A copy whose sibling broke the shared lexer refuses tokens without saying why.
        is_doubtful = self._engine.is_error() or (taken < len(token_ids) and (is_offered or self.prototype.is_suspect))
        if is_doubtful and self._recover():
            taken = self._engine.try_consume_tokens(token_ids)
            self._note_error()
        if not self.is_standing:
            return False
        if taken < len(token_ids):
            if taken and (not self._engine.rollback(taken) or self._engine.is_error()):
                self._recover()
            return False
        if self._tokens is None:
            self._tokens = []
        self._tokens.extend(token_ids)
        return True

    def _fill(self, row: Bitmask) -> None:
        self._engine.unsafe_compute_mask_ptr(row.ctypes.data, row.nbytes)

    def _check_row(self, row: Bitmask) -> None:
        """The last look before a row is believed."""
        padding = real_tokens_bitmask(self.prototype.tokenizer)
        if padding is not None:
            np.bitwise_and(row, padding, out=row)
        offers_end = any(row[token_id // 32] >> (token_id % 32) & 1 for token_id in self.prototype.tokenizer.end_ids)
        if offers_end and not self._engine.is_accepting():
            self.failure = "the grammar engine offers an end where the text is not complete"
        elif not row.any():
            self.is_dead_end = True

    def _recover(self) -> bool:
        """After an error: start over on a prototype of its own and replay. False if that was tried, or fails too."""
        error = self._engine.get_error()
        if error.startswith(_DEAD_END):
            self.is_dead_end = True
            return False
        self.prototype.is_suspect = True
        if self._is_alone:
            self.failure = _first_line(error)
            return False
        try:
            own = self.prototype.rebuilt()
        except GrammarError as refused:
            self.failure = refused.reason
            return False
        self.prototype, self._is_alone = own, True
        self._engine = own.matcher()._engine  # noqa: SLF001 - of the same class
        replayed = self._engine.try_consume_tokens(list(self.tokens))
        self._note_error()
        if self.is_standing and replayed < len(self.tokens):
            self.failure = "the grammar engine refused, on a second run, tokens that it took before"
        return self.is_standing

    def _note_error(self) -> None:
        """Make an engine error final. Only for an engine of this matcher's own."""
        if not self._engine.is_error():
            return
        error = self._engine.get_error()
        if error.startswith(_DEAD_END):
            self.is_dead_end = True
        else:
            self.failure = _first_line(error)


def _compile(tokenizer: BoundTokenizer, grammar: str, budget: EngineBudget) -> Any:
    engine = LLMatcher(tokenizer.engine, grammar, log_level=0, limits=engine_limits(budget))
    if engine.is_error():
        raise GrammarError(reason=_first_line(engine.get_error()))
    return engine


@lru_cache(maxsize=8)
def real_tokens_bitmask(tokenizer: BoundTokenizer) -> Bitmask | None:
    """The ids that stand for something; None where all do. Logits are often wider than the tokenizer."""
    stands = np.array(
        [bool(data) or index in tokenizer.special for index, data in enumerate(tokenizer.token_bytes)], dtype=np.bool_
    )
    if stands.all():
        return None
    padded = np.zeros(-(-tokenizer.vocabulary_size // 32) * 32, dtype=np.bool_)
    padded[: len(stands)] = stands
    return np.packbits(padded, bitorder="little").view(np.int32)


def _first_line(error: str) -> str:
    return error.split("\n", 1)[0][:200] or "the grammar engine failed without a reason"
