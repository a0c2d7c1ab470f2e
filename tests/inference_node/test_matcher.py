"""A matcher whose lexer was broken by another stands still, is repaired, and goes on as if nothing had been."""

from dataclasses import replace

import numpy as np
import pytest

from compiler_pool.tokenizer import BoundTokenizer
from inference_node.grammar import Prototype
from inference_node.matcher import GrammarMatcher
from inference_node.matcher_home import Move
from inference_node.metrics import NodeMetrics
from tests.inference_node.poison import BUDGET, GRAMMAR, LETTERS, guilty, innocent, new_shelf

HEAD = b'{"word":"abc'


def offered(matcher: GrammarMatcher) -> set[int]:
    row = np.full(-(-matcher.prototype.tokenizer.vocabulary_size // 32), -1, dtype=np.int32)
    matcher.fill_bitmask(row)
    return set(np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little")).tolist())


def step(matcher: GrammarMatcher, text: bytes) -> None:
    """Decode a text, with masks, as far as the matcher goes."""
    for token_id in matcher.prototype.tokenizer.encode_exact(text):
        offered(matcher)
        if matcher.is_broken or not matcher.is_standing:
            return
        matcher.advance([token_id])


def run_into_the_maze(matcher: GrammarMatcher) -> None:
    """Until its lexer breaks."""
    step(matcher, LETTERS)
    assert matcher.is_broken
    assert matcher.prototype.is_broken


def moves(metrics: NodeMetrics) -> dict[str, float]:
    return {
        move.value: metrics.registry.get_sample_value("schemagate_node_replayed_sequences_total", {"move": move.value})
        or 0.0
        for move in Move
    }


def alone(tokenizer: BoundTokenizer, text: bytes) -> GrammarMatcher:
    matcher = innocent(Prototype.build(tokenizer, GRAMMAR, BUDGET))
    step(matcher, text)
    return matcher


def test_an_innocent_matcher_offers_the_same_mask_after_its_sibling_broke_their_lexer(
    tokenizer: BoundTokenizer,
) -> None:
    shelf = new_shelf(tokenizer)
    well, ill = innocent(shelf), guilty(shelf)
    step(well, HEAD)
    run_into_the_maze(ill)
    assert offered(well) == set()
    assert well.is_broken
    assert well.is_standing
    well.repair()
    assert offered(well) == offered(alone(tokenizer, HEAD))


def test_a_token_that_a_broken_lexer_refuses_is_not_lost_and_not_taken_twice(tokenizer: BoundTokenizer) -> None:
    shelf = new_shelf(tokenizer)
    well, ill = innocent(shelf), guilty(shelf)
    step(well, HEAD)
    before = list(well.tokens)
    (token_id,) = tokenizer.encode_exact(b"d")
    assert token_id in offered(well)
    run_into_the_maze(ill)
    well.advance([token_id])
    assert well.is_broken
    assert list(well.tokens) == before
    well.repair()
    well.advance([token_id])
    assert list(well.tokens) == [*before, token_id]
    assert not well.is_broken


def test_what_is_forced_is_said_after_the_repair_and_nothing_before(tokenizer: BoundTokenizer) -> None:
    expected = alone(tokenizer, b"").forced_tokens()
    assert expected
    shelf = new_shelf(tokenizer)
    well, ill = innocent(shelf), guilty(shelf)
    run_into_the_maze(ill)
    assert well.forced_tokens() == []
    assert well.is_broken
    well.repair()
    assert well.forced_tokens() == expected


def test_tokens_can_be_taken_back_on_a_lexer_that_is_broken(tokenizer: BoundTokenizer) -> None:
    shelf = new_shelf(tokenizer)
    well, ill = innocent(shelf), guilty(shelf)
    step(well, HEAD)
    num_tokens = len(tokenizer.encode_exact(HEAD))
    run_into_the_maze(ill)
    well.rollback(num_tokens - 1)
    assert well.is_standing
    assert list(well.tokens) == [*tokenizer.encode_exact(b"a"), tokenizer.encode_exact(HEAD)[0]]
    step(well, b"")
    fresh = alone(tokenizer, b"")
    fresh.advance([tokenizer.encode_exact(HEAD)[0]])
    assert offered(well) == offered(fresh)


def test_a_whole_text_stays_whole_when_a_sibling_breaks_the_lexer_after_its_last_token(
    tokenizer: BoundTokenizer,
) -> None:
    shelf = new_shelf(tokenizer)
    well, ill = innocent(shelf), guilty(shelf)
    assert well.accept_tokens(tokenizer.encode_exact(b'{"word":"abc","last":"xyz"}' * 6 + b"."))
    run_into_the_maze(ill)
    assert well.is_accepting
    assert well.is_terminated


def test_text_is_judged_rightly_on_a_shelf_whose_lexer_broke_unseen(tokenizer: BoundTokenizer) -> None:
    shelf = new_shelf(tokenizer)
    text = b'a{"word":"abc","last":"xyz"}' + b'{"word":"abc","last":"xyz"}' * 5 + b"."
    well, ill = innocent(shelf), guilty(shelf)
    run_into_the_maze(ill)
    well.prototype.is_broken = False  # as between a failure on one thread and its discovery
    assert well.accepts_text(text)
    assert not well.accepts_text(text[:-1])


def test_the_guilty_fails_on_a_lexer_of_its_own_and_breaks_no_other(tokenizer: BoundTokenizer) -> None:
    metrics = NodeMetrics()
    shelf = new_shelf(tokenizer, metrics)
    ill = guilty(shelf)
    run_into_the_maze(ill)
    for _ in Move:
        if ill.failure is None:
            ill.repair()
            step(ill, LETTERS[len(ill.tokens) - 1 :])
    assert ill.failure == "lexer error: too many states: 240 >= 240"
    assert not ill.is_accepting
    assert offered(ill) == set()
    assert moves(metrics) == {"beside": 0, "alone": 1, "repeat": 1}
    well = innocent(shelf)
    step(well, HEAD)
    assert well.is_standing
    assert not well.is_broken


def test_accepting_tokens_ends_where_no_move_is_left(tokenizer: BoundTokenizer) -> None:
    ill = guilty(new_shelf(tokenizer))
    run_into_the_maze(ill)
    ill.repair()
    step(ill, LETTERS[len(ill.tokens) - 1 :])
    assert ill.is_broken
    assert ill.failure is None
    assert not ill.accept_tokens(tokenizer.encode_exact(b"a"))
    assert ill.failure


def test_a_bystander_is_moved_beside_others_and_then_to_a_lexer_of_its_own(tokenizer: BoundTokenizer) -> None:
    metrics = NodeMetrics()
    shelf = new_shelf(tokenizer, metrics)
    well = innocent(shelf)
    step(well, HEAD)
    for expected in ({"beside": 1, "alone": 0, "repeat": 0}, {"beside": 1, "alone": 1, "repeat": 0}):
        ill = guilty(well.prototype)
        run_into_the_maze(ill)
        offered(well)
        assert well.is_broken
        well.repair()
        assert moves(metrics) == expected
        assert offered(well) == offered(alone(tokenizer, HEAD))
    assert well.prototype.num_live == 1


def test_a_broken_matcher_has_no_next_token_until_it_is_repaired(tokenizer: BoundTokenizer) -> None:
    shelf = new_shelf(tokenizer)
    well, ill = innocent(shelf), guilty(shelf)
    run_into_the_maze(ill)
    offered(well)
    with pytest.raises(ValueError, match="no next token"):
        well.advance(tokenizer.encode_exact(b"{"))


def test_a_limit_of_the_parser_breaks_nobody_else(tokenizer: BoundTokenizer) -> None:
    grammar = 'start: "a" "x"{9} | "t" (("c" | "cc" | "ccc" | "cccc" | "ccccc")+){2}'
    prototype = Prototype.build(tokenizer, grammar, replace(BUDGET, max_items_in_row=12))
    well, ill = innocent(prototype), guilty(prototype)
    step(ill, b"c" * 40)
    assert ill.is_broken
    assert not prototype.is_broken
    assert offered(well)
    assert not well.is_broken
