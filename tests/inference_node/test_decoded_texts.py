"""A text that was decoded mask by mask is taken again from its beginning, and whoever judges it says the same."""

import numpy as np

from compiler_pool.tokenizer import BoundTokenizer
from inference_node.bitmask_row import new_row
from inference_node.grammar import Prototype
from inference_node.metrics import NodeMetrics
from inference_node.prototype_shelf import PrototypeShelf
from policy.limits import TENANT

_CHARACTER = r"""(?:[^\x{0}-\x{1F}"\x{5C}\x{7F}]|\x{5C}(?:["\x{5C}bfnrt]|u00(?:0[0-7bef]|1[0-9a-f]|7[f])))"""
_HEX = "[0-9A-Fa-f]"
_DASHED = r"\x{2D}".join(f"{_HEX}{{{count}}}" for count in (8, 4, 4, 4, 12))
GRAMMAR = f"""start: FREE "," DASHED
FREE: /"{_CHARACTER}{{0,60}}"/
DASHED: /"{_CHARACTER}*{_DASHED}{_CHARACTER}*"/ & /"{_CHARACTER}{{0,60}}"/
"""
"""Somewhere within sixty characters a run of digits and dashes: the lexer needs much work for a character, and less of
it in one step where masks were computed before."""

TEXT = b'"\', soups \xd0\xba\xd0\xb0 urry","\', ]) ventral daAbECEf-ffbf-eeBA-0123-0123456789ab"'


def test_a_decoded_text_is_taken_again_without_its_masks(tokenizer: BoundTokenizer) -> None:
    token_ids = tokenizer.encode_exact(TEXT)
    decoded = Prototype.build(tokenizer, GRAMMAR, TENANT.engine).matcher()
    for token_id in token_ids:
        row = new_row(tokenizer)
        decoded.fill_bitmask(row)
        assert decoded.has_next_token
        assert row[token_id // 32] >> np.int32(token_id % 32) & 1
        decoded.advance([token_id])
    assert decoded.is_accepting
    again = Prototype.build(tokenizer, GRAMMAR, TENANT.engine).matcher()
    assert again.accept_tokens(token_ids)
    assert again.is_accepting
    assert decoded.accepts_text(TEXT)
    assert not decoded.accepts_text(TEXT[:-1])


def test_tokens_that_are_refused_after_others_leave_the_matcher_where_it_was(tokenizer: BoundTokenizer) -> None:
    matcher = Prototype.build(tokenizer, GRAMMAR, TENANT.engine).matcher()
    assert matcher.accept_tokens(tokenizer.encode_exact(b'"ab'))
    assert not matcher.accept_tokens(tokenizer.encode_exact(b'c","x" and more'))
    assert tokenizer.decode(matcher.tokens) == b'"ab'
    assert matcher.accept_tokens(tokenizer.encode_exact(b'c",'))


def test_where_masks_are_slow_a_text_is_judged_on_a_lexer_that_nobody_waits_for(tokenizer: BoundTokenizer) -> None:
    shelf = PrototypeShelf(tokenizer, GRAMMAR, TENANT.engine, capacity=1, metrics=NodeMetrics())
    matcher = shelf.matcher()
    shared, before = matcher.prototype, matcher.prototype._num_copies
    assert matcher.accepts_text(TEXT)
    assert shared._num_copies > before
    after = shared._num_copies
    shared.pace.timed(1.0)
    assert shared.pace.is_slow
    assert matcher.accepts_text(TEXT)
    assert not matcher.accepts_text(TEXT[:-1])
    assert shared._num_copies == after
