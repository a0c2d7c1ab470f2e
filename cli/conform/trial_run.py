"""One instance against one compiled contract: token by token, as decoding would go."""

import time
from dataclasses import dataclass, field

import numpy as np

from compiler_pool.errors import TokenizerError
from compiler_pool.tokenizer import BoundTokenizer
from inference_node.grammar import Prototype


@dataclass(slots=True, kw_only=True)
class TrialRun:
    """Tries texts on a grammar and keeps the times of the masks it fills on the way."""

    tokenizer: BoundTokenizer
    prototype: Prototype
    mask_us: list[float] = field(default_factory=list)
    first_mask_ms: float = 0.0

    def start(self) -> None:
        """Fill the first mask, which is slow because the engine's automata are still empty."""
        matcher = self.prototype.matcher()
        row = np.zeros(-(-self.tokenizer.vocabulary_size // 32), dtype=np.int32)
        began = time.perf_counter()
        matcher.fill_bitmask(row)
        self.first_mask_ms = round((time.perf_counter() - began) * 1000, 3)

    def consumes(self, text: bytes) -> bool:
        """Whether the matcher takes every token of the text and ends where it is complete.

        The mask is filled before each token, as decoding does, but not asked: inside forced text it offers the
        canonical token alone, while other splits of the same bytes are as good.
        """
        try:
            token_ids = self.tokenizer.encode_exact(text)
        except TokenizerError:
            return False
        if self.prototype.is_worn:
            self.prototype = self.prototype.rebuilt()
        matcher = self.prototype.matcher()
        row = np.zeros(-(-self.tokenizer.vocabulary_size // 32), dtype=np.int32)
        for token_id in token_ids:
            began = time.perf_counter()
            matcher.fill_bitmask(row)
            self.mask_us.append((time.perf_counter() - began) * 1e6)
            if not matcher.accept_tokens([token_id]):
                return False
        return matcher.is_accepting
