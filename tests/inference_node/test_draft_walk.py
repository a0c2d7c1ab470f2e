"""Drafts are asked about, walked along and walked back, and the matcher is where it was."""

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from compiler_pool.tokenizer import BoundTokenizer
from inference_node.grammar import Prototype
from inference_node.grammar_engine import new_parallel_fill
from inference_node.group_fill import fill_rows
from inference_node.mask_filler import MaskFill
from inference_node.mask_rows import MaskRows
from inference_node.matcher import GrammarMatcher
from kernels.bitmask import bitmask_words
from policy.limits import TENANT
from tests.inference_node.poison import guilty, innocent, new_shelf

WORDS = 'start: "[" W ("," W)* "]"\nW: /(foo|bar|[a-z]{3,9}x)[0-9]{1,20}[a-q]*zz/'


def build(tokenizer: BoundTokenizer, grammar: str) -> GrammarMatcher:
    return Prototype.build(tokenizer, grammar, TENANT.engine).matcher()


def offered(matcher: GrammarMatcher) -> set[int]:
    row = np.zeros(bitmask_words(matcher.prototype.tokenizer.vocabulary_size), dtype=np.int32)
    matcher.fill_bitmask(row)
    return ids_of(row)


def ids_of(row: np.ndarray) -> set[int]:
    return set(np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little")).tolist())


def test_as_many_drafts_are_allowed_as_the_grammar_takes_in_a_row(tokenizer: BoundTokenizer) -> None:
    matcher = build(tokenizer, "start: /[0-9]{2,4}/")
    digit, letter, end = *tokenizer.encode_exact(b"7"), *tokenizer.encode_exact(b"b"), tokenizer.end_ids[0]
    assert matcher.allowed_drafts([]) == 0
    assert matcher.allowed_drafts([letter]) == 0
    assert matcher.allowed_drafts([digit, letter, digit]) == 1
    assert matcher.allowed_drafts([digit] * 9) == 4
    assert matcher.allowed_drafts([digit, digit, end, digit]) == 2
    assert matcher.allowed_drafts([end]) == 0
    assert list(matcher.tokens) == []
    assert digit in offered(matcher)


def test_nothing_is_allowed_after_the_end_or_beside_a_broken_lexer(tokenizer: BoundTokenizer) -> None:
    digit = tokenizer.encode_exact(b"7")
    ended = build(tokenizer, "start: /[0-9]{1,4}/")
    ended.advance([*digit, tokenizer.end_ids[0]])
    assert ended.allowed_drafts(digit) == 0
    shelf = new_shelf(tokenizer)
    well, ill = innocent(shelf), guilty(shelf)
    ill.prototype.set_broken()
    before = list(well.tokens)
    assert well.allowed_drafts(tokenizer.encode_exact(b"{")) == 0
    assert well.is_broken
    well.repair()
    assert list(well.tokens) == before
    assert well.allowed_drafts(tokenizer.encode_exact(b"{")) == 1


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    head=st.lists(st.integers(min_value=0, max_value=2**32), max_size=8),
    ahead=st.lists(st.integers(min_value=0, max_value=2**32), min_size=1, max_size=5),
    wrong=st.none() | st.integers(min_value=0, max_value=49_151),
)
def test_rows_after_drafts_are_those_of_a_matcher_that_took_them(
    tokenizer: BoundTokenizer, head: list[int], ahead: list[int], wrong: int | None
) -> None:
    matcher, walker = build(tokenizer, WORDS), build(tokenizer, WORDS)
    ends = set(tokenizer.end_ids)
    for choice in head:
        allowed = sorted(offered(walker) - ends)
        if not allowed:
            break
        token_id = allowed[choice % len(allowed)]
        matcher.advance([token_id])
        walker.advance([token_id])
    before = list(matcher.tokens)
    expected, drafts = [offered(walker)], []
    for choice in ahead:
        allowed = sorted(expected[-1] - ends)
        if not allowed or walker.is_terminated:
            break
        drafts.append(allowed[choice % len(allowed)])
        walker.advance(drafts[-1:])
        expected.append(offered(walker))
    if wrong is not None:
        drafts.append(wrong)
    rows = MaskRows(words=bitmask_words(tokenizer.vocabulary_size), device=torch.device("cpu"))
    fill = MaskFill(matcher=matcher, rows=rows.take(1 + len(drafts)), drafts=drafts)
    if not matcher.has_next_token or matcher.is_terminated:
        return
    (num_rows,) = fill_rows([fill], rows, new_parallel_fill(1))
    for row, mask in zip(fill.rows[:num_rows], expected, strict=False):
        assert ids_of(rows.row(row)) == mask
    # Where the text is whole and nothing can follow, no mask is asked for.
    assert num_rows >= len(expected) - walker.is_terminated
    assert (list(matcher.tokens), matcher.is_broken) == (before, False)
    assert offered(matcher) == expected[0]


@pytest.mark.parametrize("num_rows", [1, 2, 3])
def test_no_more_rows_are_filled_than_were_given(tokenizer: BoundTokenizer, num_rows: int) -> None:
    matcher = build(tokenizer, "start: /[0-9]{1,9}/")
    rows = MaskRows(words=bitmask_words(tokenizer.vocabulary_size), device=torch.device("cpu"))
    fill = MaskFill(matcher=matcher, rows=rows.take(num_rows), drafts=tokenizer.encode_exact(b"7") * 4)
    assert fill_rows([fill], rows, new_parallel_fill(1)) == [num_rows]
    assert matcher.allowed_drafts(fill.drafts) == 4
