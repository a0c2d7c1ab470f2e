"""Brings an engine at the grammar's start to where some tokens end."""

import time
from collections.abc import Sequence
from typing import Final

from compiler_pool.tokenizer import BoundTokenizer
from inference_node.bitmask_row import new_row
from inference_node.grammar_engine import GrammarEngine

_PIECE_TOKENS: Final = 64
"""Tokens replayed at once: the engine holds the interpreter lock meanwhile, at 2 to 20 microseconds a token."""

REPEAT_CPU_SECONDS: Final = 1.0
"""What repeating a whole decode, masks and all, may cost: some 10,000 tokens under an ordinary contract."""


def replay(engine: GrammarEngine, token_ids: Sequence[int], tokenizer: BoundTokenizer, *, has_masks: bool) -> str:
    """Take the tokens, with `has_masks` as in decoding. What went wrong, or "": the engine may know better."""
    deadline = time.thread_time() + REPEAT_CPU_SECONDS
    row = new_row(tokenizer)
    piece_tokens = 1 if has_masks else _PIECE_TOKENS
    for start in range(0, len(token_ids), piece_tokens):
        piece = list(token_ids[start : start + piece_tokens])
        if has_masks:
            engine.unsafe_compute_mask_ptr(row.ctypes.data, row.nbytes)
            if time.thread_time() > deadline:
                return "the grammar engine took too long to decode again"
        if engine.is_error() or engine.try_consume_tokens(piece) != len(piece):
            return "the grammar engine refused a token that it had taken"
    return ""
