"""An engine that is led along drafts, to be asked for the mask after each, and back."""

from collections.abc import Sequence
from dataclasses import dataclass

from inference_node.bitmask_row import Bitmask
from inference_node.grammar_engine import first_line, is_engine_fault
from inference_node.matcher import GrammarMatcher


@dataclass(slots=True, kw_only=True, eq=False)
class DraftWalk:
    """`move_on` and `believes` in turns, then `move_back` and `settle`. The matcher's own books stay where they are: if
    the engine cannot be brought back, or failed on the way, the matcher is broken, never ahead of its tokens.
    """

    matcher: GrammarMatcher
    drafts: Sequence[int]
    _num_moved: int = 0
    _num_tried: int = 0
    _trouble: str = ""

    def move_on(self, row: Bitmask) -> bool:
        """Take the next draft, if the row at this place offers it. Whether a mask after it is to be asked for."""
        if self._num_tried == len(self.drafts):
            return False
        draft = self.drafts[self._num_tried]
        self._num_tried += 1
        word, bit = divmod(draft, 32)
        is_end = draft in self.matcher.prototype.tokenizer.end_ids
        if is_end or not 0 <= word < len(row) or not int(row[word]) >> bit & 1:
            return False
        try:
            engine = self.matcher.engine
            num_taken = engine.try_consume_tokens([draft])
            self._num_moved += num_taken
            self._check()
            return num_taken == 1 and not self._trouble and not engine.is_stopped()
        except BaseException as error:
            return self._note(error)

    def believes(self, *, offers: bool, offers_end: bool) -> bool:
        """After the mask was written: whether it is a mask. It may be none where nothing can continue the draft."""
        try:
            self._check()
            return not self._trouble and offers and (not offers_end or self.matcher.engine.is_accepting())
        except BaseException as error:
            return self._note(error)

    def move_back(self) -> None:
        """To where the matcher is."""
        if self._trouble or self.matcher.is_broken:
            return
        try:
            engine = self.matcher.engine
            if self._num_moved and not engine.rollback(self._num_moved):
                self._trouble = "the grammar engine could not take drafts back"
            elif engine.is_accepting() != self.matcher.is_accepting:
                self._trouble = "the grammar engine came back to another place than it had left"
            self._check()
        except BaseException as error:
            self._note(error)

    def settle(self, *, is_sound: bool) -> bool:
        """Whether the matcher is as it was, and the masks on the way are to be believed. If not, it is broken."""
        if not is_sound:
            self._trouble = self._trouble or "the lexer broke over a draft"
        if self._trouble:
            self.matcher.break_over_draft(self._trouble)
        return self.matcher.has_next_token

    def _check(self) -> None:
        if self.matcher.engine.is_error():
            self._trouble = self._trouble or first_line(self.matcher.engine.get_error())

    def _note(self, error: BaseException) -> bool:
        """It raised. False, for callers to pass on."""
        if not is_engine_fault(error):
            raise error
        self._trouble = first_line(str(error))
        return False
