"""One sequence's place in its grammar, and how it survives what others do to the lexer that it shares.

The engine reports failures as states, never as exceptions, and after a failure it offers nothing but the end of the
sequence: a matcher that did not look would call a broken run finished. Every call here looks, and no answer of the
engine's is believed before the prototype was found sound after it. Should it raise all the same, that is a failure too.

A matcher whose engine fails is broken, not failed: it stands still until `repair` has moved it to another lexer and
replayed its tokens there. Only one that fails on a lexer of its own, with the masks computed as if it had been alone
from the start, has failed.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from compiler_pool.errors import TokenizerError
from inference_node.bitmask_row import Bitmask, Offer, check_row, new_row, offer_rule
from inference_node.errors import GrammarError
from inference_node.grammar_engine import GrammarEngine, first_line, is_dead_end, is_engine_fault
from inference_node.matcher_home import MatcherHome, Move
from inference_node.replay_tokens import REPEAT_CPU_SECONDS, replay

if TYPE_CHECKING:
    from inference_node.grammar import Prototype


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
    has_one_choice: bool = False
    """Whether the last mask was of one token alone, no end: then `forced_tokens` are some."""
    takes_drafts: bool = True
    """False once its engine failed over a draft: what might have come shall not cost it what does."""
    _accepts: bool
    _is_stopped: bool
    _engine: GrammarEngine
    _home: MatcherHome | None
    _tokens: list[int] = field(default_factory=list)
    _has_ended: bool = False
    _moves_left: list[Move] = field(default_factory=lambda: list(Move))
    _is_bystander: bool = False
    _has_free_move: bool = False
    _trouble: str = ""

    @property
    def tokens(self) -> Sequence[int]:
        """What was accepted, the end token excepted."""
        return self._tokens

    @property
    def engine(self) -> GrammarEngine:
        """For whoever fills masks of several matchers at once; `settle_mask` has to follow."""
        return self._engine

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

    @property
    def has_next_token(self) -> bool:
        """Whether a mask can be asked for: it stands, is not broken and has taken no end."""
        return self.failure is None and not (self.is_dead_end or self.is_broken or self._has_ended)

    def accept_tokens(self, token_ids: Sequence[int]) -> bool:
        """Move on by all of the tokens, or by none and answer False. Repairs by itself, so not for the step loop.
        An end token may only be last, where the grammar accepts. Other splits than masks offer are taken too."""
        if not self.is_standing or self._has_ended:
            return not token_ids
        ends = self.prototype.tokenizer.end_ids
        has_end = bool(token_ids) and token_ids[-1] in ends
        text_ids = token_ids[: len(token_ids) - has_end]
        if any(token_id in ends for token_id in text_ids):
            return False
        num_before, deadline = len(self._tokens), time.thread_time() + REPEAT_CPU_SECONDS
        if not all(self._accept_one(token_id, deadline=deadline) for token_id in text_ids):
            self.rollback(len(self._tokens) - num_before)
            return False
        if has_end and not self.is_accepting:
            self.rollback(len(text_ids))
            return False
        self._has_ended = has_end
        return True

    def _accept_one(self, token_id: int, *, deadline: float) -> bool:
        """By itself, for the engine's limits are of a call. On its last lexer after its mask, as it was decoded."""
        while self.is_standing:
            self.repair()
            if not self._moves_left and self.has_next_token:
                self.fill_bitmask(new_row(self.prototype.tokenizer))
                if time.thread_time() > deadline:
                    self.failure = "the grammar engine took too long to decode again"
            taken = self.has_next_token and self._consume([token_id])
            if not self.is_broken:
                return taken and self.is_standing
        return False

    def advance(self, token_ids: Sequence[int]) -> None:
        """Move on by tokens that this matcher itself offered, in a mask or as forced. By none where it breaks."""
        if not self.has_next_token:
            raise ValueError("this matcher has no next token")
        text_ids = list(token_ids)
        has_end = text_ids[-1] in self.prototype.tokenizer.end_ids
        if has_end:
            text_ids.pop()
        if not self._consume(text_ids):
            self._break("the grammar engine refused a token that it offered")
        elif has_end:
            if self.is_accepting:
                self._has_ended = True
            else:
                self._break("the grammar engine offered an end where the text is not complete")

    def forced_tokens(self) -> list[int]:
        """Tokens that must follow whatever the model says; never an end token. Does not move on."""
        if not self.has_next_token or self.is_terminated:
            return []
        try:
            forced = self._engine.compute_ff_tokens()
            is_believable = self._look()
        except BaseException as error:
            self.break_by(error)
            return []
        if not is_believable:
            return []
        ends = self.prototype.tokenizer.end_ids
        for position, token_id in enumerate(forced):
            if token_id in ends:
                return forced[:position]
        return forced

    def allowed_drafts(self, token_ids: Sequence[int]) -> int:
        """How many of some tokens the grammar would take from here. Does not move on; on any doubt, none.

        Never as far as an end token. Where text is forced it takes other splits of it than a mask would offer.
        """
        if not (token_ids and self.takes_drafts and self.has_next_token) or self.is_terminated:
            return 0
        ends = self.prototype.tokenizer.end_ids
        text_ids = list(token_ids)
        for position, token_id in enumerate(text_ids):
            if token_id in ends:
                del text_ids[position:]
                break
        if not text_ids:
            return 0
        try:
            num_allowed = self._engine.validate_tokens(text_ids)
            if self._engine.is_error() or not 0 <= num_allowed <= len(text_ids):
                self.break_over_draft("the grammar engine failed over tokens that it was only asked about")
            elif self._is_believable(is_sound=self.prototype.is_sound()):
                return num_allowed
        except BaseException as error:
            self.break_by(error)
        return 0

    def fill_bitmask(self, row: Bitmask) -> None:
        """Write the mask of the next token into a row; ValueError unless `check_row` passes it. Releases the
        interpreter lock. A matcher that does not stand afterwards, or is broken, leaves a row of zeros: nothing is
        allowed.
        """
        tokenizer = self.prototype.tokenizer
        check_row(row, tokenizer)
        is_filled = False
        if self.has_next_token:
            self.prototype.num_masks += 1
            try:
                self._engine.unsafe_compute_mask_ptr(row.ctypes.data, row.nbytes)
                offer = offer_rule(tokenizer).apply(row)
                is_filled = self.settle_mask(offer, is_sound=self.prototype.is_sound(), is_shared=False)
            except BaseException as error:
                self.break_by(error)
        if not is_filled:
            row[:] = 0

    def settle_mask(self, offer: Offer, *, is_sound: bool, is_shared: bool) -> bool:
        """After a mask was written, whether it is to be believed; if not, nothing is allowed.

        `is_sound`: whether the prototype was, asked after the mask was there. `is_shared`: whether other masks of the
        prototype were written meanwhile, so that it is not known whose broke the lexer.
        """
        try:
            if not self._look(is_sound=is_sound, is_shared=is_shared):
                return False
        except BaseException as error:
            self.break_by(error)
            return False
        if offer.ends and not self._accepts:
            return self._break("the grammar engine offers an end where the text is not complete")
        self.is_dead_end = not offer.anything
        self.has_one_choice = offer.is_one and not offer.ends
        return offer.anything

    def break_over_draft(self, trouble: str) -> None:
        """Its engine failed where a draft had led it: repaired for free, and there are no more drafts for it."""
        self.takes_drafts = False
        self._break(trouble, by_lexer=not self.prototype.is_sound(), is_free=True)

    def break_by(self, error: BaseException) -> None:
        """A call into its engine raised. Raises again what is no fault of the engine's."""
        if not is_engine_fault(error):
            raise error
        self._break(first_line(str(error)), by_lexer=not self.prototype.is_sound())

    def accepts_text(self, data: bytes) -> bool:
        """Whether exactly these bytes are a whole sentence of the grammar, judged from its start on a matcher apart."""
        try:
            token_ids = self.prototype.tokenizer.encode_exact(data)
        except TokenizerError:
            return False
        # Who waits for a lexer while a mask is computed on it holds the interpreter lock: not where masks are slow.
        source = self.prototype.rebuilt() if self.prototype.pace.is_slow else self._home or self.prototype
        matcher = source.matcher()
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
                try:
                    # The engine has its own count after a stop; where it disagrees, ours is replayed.
                    if not self._engine.rollback(num_text_tokens):
                        self._break("the grammar engine could not take tokens back")
                    elif self._look():
                        return
                except BaseException as error:
                    self.break_by(error)
            self.repair()

    def repair(self) -> None:
        """Move a broken matcher to another lexer and replay its tokens there, or find that it has failed."""
        while self.is_broken and self.is_standing:
            if self._has_free_move:
                self._has_free_move = False
                self._move(Move.BESIDE)
                continue
            if not self._is_bystander and self._moves_left[:1] == [Move.BESIDE]:
                self._moves_left.pop(0)
            if not self._moves_left:
                self.failure = self._trouble
                return
            self._move(self._moves_left.pop(0))

    def _move(self, move: Move) -> None:
        try:
            prototype = self.prototype.rebuilt() if self._home is None else self._home.prototype_for(move)
            engine = prototype.copied_engine()
        except GrammarError as error:
            self.failure = error.reason
            return
        self.prototype, self._engine, self.is_broken = prototype, engine, False
        prototype.adopt(self)
        try:
            trouble = replay(engine, self._tokens, prototype.tokenizer, has_masks=move is Move.REPEAT)
            if trouble and self._is_believable(is_sound=prototype.is_sound()):
                self._break(trouble)
            elif not trouble:
                self._look()
        except BaseException as error:
            self.break_by(error)

    def _consume(self, token_ids: list[int]) -> bool:
        """Take all of the tokens or none. False: refused, or broken."""
        if not token_ids:
            return True
        if not self.is_standing:
            return False
        try:
            taken = self._engine.try_consume_tokens(token_ids)
            if taken != len(token_ids):
                # A lexer that somebody broke refuses tokens without saying why; this tells the two apart.
                is_believable = self._is_believable(is_sound=self.prototype.is_sound())
                if is_believable and taken and not (self._engine.rollback(taken) and self._look()):
                    self._break("the grammar engine could not take tokens back")
                return False
            if not self._look():
                return False
        except BaseException as error:
            self.break_by(error)
            return False
        if not self._tokens and self.prototype.known_token is None:
            self.prototype.known_token = token_ids[0]
        self._tokens.extend(token_ids)
        self.has_one_choice = False
        return True

    def _look(self, *, is_sound: bool | None = None, is_shared: bool = False) -> bool:
        """Note where the engine stands, if its last answer is to be believed. Whether it is."""
        accepts, is_stopped = self._engine.is_accepting(), self._engine.is_stopped()
        is_sound = self.prototype.is_sound() if is_sound is None else is_sound
        if not self._is_believable(is_sound=is_sound, is_shared=is_shared):
            return False
        self._accepts, self._is_stopped = accepts, is_stopped
        return True

    def _is_believable(self, *, is_sound: bool, is_shared: bool = False) -> bool:
        """Whether what the engine said until now was said without error and on a sound lexer. If not, note which."""
        is_error = self._engine.is_error()
        if not is_sound:
            return self._break(first_line(self._engine.get_error()), by_lexer=True, is_free=is_shared)
        if is_error and is_dead_end(self._engine):
            self.is_dead_end = True
            return False
        return not is_error or self._break(first_line(self._engine.get_error()))

    def _break(self, trouble: str, *, by_lexer: bool = False, is_free: bool = False) -> bool:
        """Stand still until repaired. False, for callers to pass on."""
        if not self.is_broken and self.is_standing:
            # Who finds a lexer broken that was known to be is not the one who broke it.
            self._is_bystander = by_lexer and self.prototype.is_broken
            self._has_free_move = is_free
            self.is_broken, self._trouble = True, trouble
            if by_lexer:
                self.prototype.set_broken()
        return False
