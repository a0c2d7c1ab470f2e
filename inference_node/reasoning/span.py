"""The thought before one answer, token by token: free until its end marker, and the contract holds after it.

The end is looked for in bytes, so it does not matter how the model spells it: as one token, as several, or with bytes
behind it in the same token. Those are not let through to either side: the token is replaced by one that ends with the
marker, and the model picks what follows again, under the contract. A marker that is a token without text is known by
its id.
"""

import codecs
from collections import deque
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from compiler_pool.tokenizer import BoundTokenizer
from inference_node.protocol import ReasoningReport
from inference_node.reasoning.markers import ReasoningMarkers


class _Place(Enum):
    BEGINNING = auto()
    THINKING = auto()
    LEADING_IN = auto()
    OVER = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanStep:
    """What became of one token. `token_ids` go into the sequence in its place; `text` is thought that may be sent."""

    token_ids: tuple[int, ...]
    text: str
    is_last: bool
    """Whether the answer begins after it."""


class ReasoningSpan:
    """Calling order: while `is_open`, take what is `owed` before anything is picked, and give each token to `take`.

    What it does follows from the tokens alone: one that is given the same tokens again stands at the same place.
    """

    def __init__(
        self, markers: ReasoningMarkers, tokenizer: BoundTokenizer, *, is_begun: bool, budget_tokens: int | None
    ) -> None:
        """`is_begun`: the prompt ends within the thought."""
        self._markers: Final = markers
        self._tokenizer: Final = tokenizer
        self._end: Final = markers.dialect.end.encode()
        self._begin: Final = markers.dialect.begin.encode()
        self._budget_tokens: Final = budget_tokens
        self._place = _Place.THINKING if is_begun else _Place.BEGINNING
        self._owed: deque[int] = deque(() if is_begun else markers.opening_ids)
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._held = b""
        """The last bytes of the thought that may become the end marker."""
        self._passed = b""
        """The last bytes that may become a begin marker."""
        self._num_tokens = 0
        self._num_picked = 0
        self._num_repeated = 0
        self._is_cut = False
        self._close_where_due()

    @property
    def is_open(self) -> bool:
        """Whether the next token is none of the answer's: no mask, no forced token of the grammar, no stop string."""
        return self._place is not _Place.OVER

    @property
    def is_finished(self) -> bool:
        """Whether the end marker has come."""
        return self._place in {_Place.LEADING_IN, _Place.OVER}

    def owed(self) -> list[int]:
        """Tokens that this node writes itself, next: a marker, or what leads in to the answer."""
        return list(self._owed)

    def take(self, token_id: int) -> SpanStep:
        """The next token, picked or owed. Raises ValueError where another one was owed, or the span is over."""
        if not self.is_open or (self._owed and self._owed[0] != token_id):
            raise ValueError(f"token {token_id} is not the next one of this thought")
        is_owed = bool(self._owed)
        if is_owed:
            self._owed.popleft()
        if self._place is _Place.THINKING:
            return self._think(token_id, is_owed=is_owed)
        self._num_tokens += 1
        if not self._owed:
            self._place = _Place.THINKING if self._place is _Place.BEGINNING else _Place.OVER
            self._close_where_due()
        return self._step((token_id,))

    def flush(self) -> str:
        """What was held back and became no marker, where the sequence ends within the thought."""
        held, self._held = self._held, b""
        return self._decoder.decode(held)

    def report(self) -> ReasoningReport:
        """How the thought went, so far."""
        finished = "budget" if self._is_cut else "closed"
        return ReasoningReport(
            tokens=self._num_tokens,
            state=finished if self.is_finished else "unfinished",
            num_repeated_markers=self._num_repeated,
        )

    def _think(self, token_id: int, *, is_owed: bool) -> SpanStep:
        if not is_owed:
            self._num_picked += 1
        if token_id == self._markers.end_id:
            self._num_tokens += 1
            return self._closed((token_id,), self._held)
        # A special token stands for no text, whatever its name is.
        is_text = token_id not in self._tokenizer.special
        data = self._tokenizer.token_bytes[token_id] if is_text else b""
        if not is_text and token_id == self._markers.begin_id:
            self._num_repeated += 1
        held = self._held + data
        found = held.find(self._end)
        if found < 0:
            self._num_tokens += 1
            self._count_begins(data)
            num_kept = _num_undecided(held, self._end)
            certain, self._held = held[: len(held) - num_kept], held[len(held) - num_kept :]
            self._close_where_due()
            return self._step((token_id,), certain)
        num_beyond = len(held) - found - len(self._end)
        token_ids: tuple[int, ...] = (token_id,)
        if num_beyond:
            token_ids = tuple(self._tokenizer.encode_exact(data[: len(data) - num_beyond]))
        self._num_tokens += len(token_ids)
        return self._closed(token_ids, held[:found])

    def _closed(self, token_ids: tuple[int, ...], thought: bytes) -> SpanStep:
        self._held = b""
        self._owed = deque(self._markers.lead_in_ids)
        self._place = _Place.LEADING_IN if self._owed else _Place.OVER
        return self._step(token_ids, thought)

    def _close_where_due(self) -> None:
        """At its budget the thought is ended by us."""
        is_due = self._budget_tokens is not None and self._num_picked >= self._budget_tokens
        if self._place is _Place.THINKING and is_due and not self._owed:
            self._is_cut = True
            self._owed = deque(self._markers.closing_ids)

    def _count_begins(self, data: bytes) -> None:
        passed = self._passed + data
        self._num_repeated += passed.count(self._begin)
        at = passed.rfind(self._begin)
        rest = passed if at < 0 else passed[at + len(self._begin) :]
        self._passed = rest[max(0, len(rest) - len(self._begin) + 1) :]

    def _step(self, token_ids: tuple[int, ...], thought: bytes = b"") -> SpanStep:
        return SpanStep(token_ids=token_ids, text=self._decoder.decode(thought), is_last=not self.is_open)


def _num_undecided(data: bytes, marker: bytes) -> int:
    """How many bytes at the end could be the start of the marker."""
    for length in range(min(len(marker) - 1, len(data)), 0, -1):
        if data.endswith(marker[:length]):
            return length
    return 0
