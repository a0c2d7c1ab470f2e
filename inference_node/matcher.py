"""One sequence's place in its grammar, and how it survives what others do to the lexer that it shares.

The engine reports failures as states, never as exceptions, and after a failure it offers nothing but the end of the
sequence: a matcher that did not look would call a broken run finished. Every call here looks, and no answer of the
engine's is believed before the prototype was found sound after it.

A matcher whose engine fails is broken, not failed: it stands still until `repair` has moved it to another lexer and
replayed its tokens there. Only one that fails on a lexer of its own, with the masks computed as if it had been alone
from the start, has failed.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np

from compiler_pool.errors import TokenizerError
from inference_node.bitmask_row import Bitmask, check_row, offered_tokens_bitmask
from inference_node.errors import GrammarError

if TYPE_CHECKING:
    from inference_node.grammar import Prototype

_PIECE_TOKENS: Final = 64
"""Tokens replayed at once: the engine holds the interpreter lock meanwhile, at 2 to 20 microseconds a token."""

_REPEAT_CPU_SECONDS: Final = 1.0
"""What repeating a whole decode, masks and all, may cost: some 10,000 tokens under an ordinary contract."""


class Move(Enum):
    """Where a broken matcher goes; it makes each move at most once, in this order, and a bystander makes the first."""

    BESIDE = "beside"
    """To a sound prototype that others use too: for one whose lexer broke through another."""
    ALONE = "alone"
    """To a prototype of its own."""
    REPEAT = "repeat"
    """The same, every mask computed on the way: a lexer that has seen them needs less work in one step than a new one,
    so this is the run that it would have had without company."""


class MatcherHome(Protocol):
    """Where a matcher gets another prototype from. Called from any thread; can take as long as compiling."""

    def matcher(self) -> "GrammarMatcher":
        """A matcher at the grammar's start. Raises GrammarError."""

    def prototype_for(self, move: Move) -> "Prototype":
        """A sound prototype, shared or not as the move says. Raises GrammarError."""


@dataclass(slots=True, kw_only=True, eq=False, weakref_slot=True)
class GrammarMatcher:
    """Used by one thread at a time.

    Order of calls while decoding: `fill_bitmask`, then `advance` with a token of that mask, and between them
    `forced_tokens`. After each, `is_broken` asks for `repair` (which compiles, so on another thread than the step
    loop's) and the same call again; `failure` and `is_dead_end` are final.
    """

    prototype: "Prototype"
    failure: str | None = None
    """The engine hit a limit or failed although nobody shared it: for this sequence the grammar cannot be decided."""
    is_dead_end: bool = False
    """No token can continue and the text so far is not complete."""
    is_broken: bool = False
    """The engine has failed, by whosever doing. What was accepted until then still holds."""
    _accepts: bool
    _is_stopped: bool
    _engine: Any
    _home: MatcherHome | None
    _tokens: list[int] = field(default_factory=list)
    _has_ended: bool = False
    _moves_left: list[Move] = field(default_factory=lambda: list(Move))
    _is_bystander: bool = False
    _trouble: str = ""

    @property
    def tokens(self) -> Sequence[int]:
        """What was accepted, the end token excepted."""
        return self._tokens

    @property
    def is_standing(self) -> bool:
        """Neither failed nor at a dead end."""
        return self.failure is None and not self.is_dead_end

    @property
    def is_accepting(self) -> bool:
        """Whether what was accepted is a whole sentence of the grammar. False once failed."""
        return self.is_standing and self._accepts

    @property
    def is_terminated(self) -> bool:
        """Whether the sentence is whole and nothing more can follow (an end token was taken, or only one could be)."""
        return self._has_ended or (self.is_accepting and self._is_stopped)

    def accept_tokens(self, token_ids: Sequence[int]) -> bool:
        """Move on by all of the tokens, or by none and answer False. Repairs by itself, so not for the step loop.

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
        if any(token_id in ends for token_id in text_ids):
            return False
        self.repair()
        taken = self._consume(text_ids)
        while self.is_broken and self.is_standing:
            self.repair()
            taken = self._consume(text_ids)
        if not taken or not self.is_standing:
            return False
        if has_end and not self.is_accepting:
            self.rollback(len(text_ids))
            return False
        self._has_ended = has_end
        return True

    def advance(self, token_ids: Sequence[int]) -> None:
        """Move on by tokens that this matcher itself offered, in a mask or as forced. By none where it breaks."""
        *head, last = token_ids
        text_ids = head if last in self.prototype.tokenizer.end_ids else [*head, last]
        if not self.is_standing or self.is_broken or self._has_ended:
            raise ValueError("this matcher has no next token")
        if not self._consume(text_ids):
            self._break("the grammar engine refused a token that it offered")
        elif len(text_ids) < len(token_ids):
            if self.is_accepting:
                self._has_ended = True
            else:
                self.failure = "the grammar engine offered an end where the text is not complete"

    def forced_tokens(self) -> list[int]:
        """Tokens that must follow whatever the model says; never an end token. Does not move on."""
        if not self.is_standing or self.is_broken or self.is_terminated:
            return []
        forced: list[int] = self._engine.compute_ff_tokens()
        if not self._look():
            return []
        ends = self.prototype.tokenizer.end_ids
        for position, token_id in enumerate(forced):
            if token_id in ends:
                return forced[:position]
        return forced

    def fill_bitmask(self, row: Bitmask) -> None:
        """Write the mask of the next token into a row (`check_row`). Releases the interpreter lock.

        A matcher that does not stand afterwards, or is broken, leaves a row of zeros: nothing is allowed.

        Raises:
            ValueError: a row of another shape or type.
        """
        check_row(row, self.prototype.tokenizer)
        if self.is_standing and not self.is_broken and not self._has_ended:
            self.prototype.num_masks += 1
            self._engine.unsafe_compute_mask_ptr(row.ctypes.data, row.nbytes)
            if self._look():
                self._check_offer(row)
        if not self.is_standing or self.is_broken or self._has_ended:
            row[:] = 0

    def accepts_text(self, data: bytes) -> bool:
        """Whether exactly these bytes are a whole sentence of the grammar, judged from its start on a matcher apart."""
        try:
            token_ids = self.prototype.tokenizer.encode_exact(data)
        except TokenizerError:
            return False
        matcher = self.prototype.matcher() if self._home is None else self._home.matcher()
        return matcher.accept_tokens(token_ids) and matcher.is_accepting

    def rollback(self, num_tokens: int) -> None:
        """Take back the last tokens, the end token counted as one. Repairs by itself.

        Raises:
            ValueError: more than were accepted, which would break the engine's state for good.
        """
        num_text_tokens = num_tokens - (1 if self._has_ended and num_tokens else 0)
        if num_text_tokens < 0 or num_text_tokens > len(self._tokens):
            raise ValueError(f"cannot take back {num_tokens} of {len(self._tokens)} tokens")
        if num_tokens:
            self._has_ended = False
        if num_text_tokens:
            del self._tokens[-num_text_tokens:]
            if not self.is_broken:
                # The engine has its own count after a stop; where it disagrees, ours is replayed.
                if not self._engine.rollback(num_text_tokens):
                    self._break("the grammar engine could not take tokens back")
                elif self._look():
                    return
            self.repair()

    def repair(self) -> None:
        """Move a broken matcher to another lexer and replay its tokens there, or find that it has failed."""
        while self.is_broken and self.is_standing:
            if not self._is_bystander and self._moves_left[:1] == [Move.BESIDE]:
                self._moves_left.pop(0)
            if not self._moves_left:
                self.failure = self._trouble
                return
            self._move(self._moves_left.pop(0))

    def _move(self, move: Move) -> None:
        try:
            prototype = self.prototype.rebuilt() if self._home is None else self._home.prototype_for(move)
        except GrammarError as refused:
            self.failure = refused.reason
            return
        self.prototype, self._engine = prototype, prototype.copied_engine()
        prototype.adopt(self)
        self.is_broken = self._is_bystander = False
        if not self._replay(has_masks=move is Move.REPEAT) and not self.is_broken:
            self._break("the grammar engine refused, on a second run, tokens that it took before")

    def _replay(self, *, has_masks: bool) -> bool:
        """Bring a fresh engine to where the tokens end. Whether it got there."""
        deadline = time.thread_time() + _REPEAT_CPU_SECONDS
        row = np.zeros(-(-self.prototype.tokenizer.vocabulary_size // 32), dtype=np.int32)
        piece_tokens = 1 if has_masks else _PIECE_TOKENS
        for start in range(0, len(self._tokens), piece_tokens):
            piece = self._tokens[start : start + piece_tokens]
            if has_masks:
                self._engine.unsafe_compute_mask_ptr(row.ctypes.data, row.nbytes)
                if time.thread_time() > deadline:
                    return self._break("the grammar engine took too long to decode again")
            if self._engine.is_error() or self._engine.try_consume_tokens(piece) < len(piece):
                self._is_believable()
                return False
        return self._look()

    def _consume(self, token_ids: list[int]) -> bool:
        """Take all of the tokens or none. False: refused, or broken."""
        if not token_ids:
            return True
        if not self.is_standing:
            return False
        taken = self._engine.try_consume_tokens(token_ids)
        if taken < len(token_ids):
            # A lexer that somebody broke refuses tokens without saying why; this tells the two apart.
            if self._is_believable() and taken and not (self._engine.rollback(taken) and self._look()):
                self._break("the grammar engine could not take tokens back")
            return False
        if not self._look():
            return False
        if not self._tokens and self.prototype.known_token is None:
            self.prototype.known_token = token_ids[0]
        self._tokens.extend(token_ids)
        return True

    def _look(self) -> bool:
        """Note where the engine stands, if its last answer is to be believed. Whether it is."""
        accepts, is_stopped = bool(self._engine.is_accepting()), bool(self._engine.is_stopped())
        if not self._is_believable():
            return False
        self._accepts, self._is_stopped = accepts, is_stopped
        return True

    def _is_believable(self) -> bool:
        """Whether what the engine said until now was said without error and on a sound lexer. If not, note which."""
        is_error = bool(self._engine.is_error())
        if not self.prototype.is_sound():
            return self._break(first_line(self._engine.get_error()), by_lexer=True)
        if is_error and is_dead_end(self._engine):
            self.is_dead_end = True
            return False
        return not is_error or self._break(first_line(self._engine.get_error()))

    def _break(self, trouble: str, *, by_lexer: bool = False) -> bool:
        """Stand still until repaired. False, for callers to pass on."""
        if not self.is_broken and self.is_standing:
            # Who finds a lexer broken that was known to be is not the one who broke it.
            self._is_bystander = by_lexer and self.prototype.is_broken
            self.is_broken, self._trouble = True, trouble
            self.prototype.is_broken |= by_lexer
        return False

    def _check_offer(self, row: Bitmask) -> None:
        """The last look before a mask is believed."""
        tokenizer = self.prototype.tokenizer
        np.bitwise_and(row, offered_tokens_bitmask(tokenizer), out=row)
        if not self._accepts and any(row[token_id // 32] >> (token_id % 32) & 1 for token_id in tokenizer.end_ids):
            self.failure = "the grammar engine offers an end where the text is not complete"
        elif not row.any():
            self.is_dead_end = True


def is_dead_end(engine: Any) -> bool:
    """Whether an engine's error says that no token can continue, which is a property of the text, not a fault."""
    return bool(engine.get_error().startswith("NoExtensionBias"))


def first_line(error: str) -> str:
    """What fits into a log of the engine's own words, the parser's state left out."""
    return error.split("\n", 1)[0][:200] or "the grammar engine failed without a reason"
