"""What llguidance does to copies of one matcher, held as it is: the reason for shelves, repairs and moves."""

from typing import Any

from llguidance import LLMatcher

from compiler_pool.tokenizer import BoundTokenizer
from compiler_pool.trial import engine_limits
from tests.inference_node.poison import BUDGET, GRAMMAR, LETTERS


def build(tokenizer: BoundTokenizer) -> Any:
    engine = LLMatcher(tokenizer.engine, GRAMMAR, log_level=0, limits=engine_limits(BUDGET))
    assert not engine.is_error()
    return engine


def walk(tokenizer: BoundTokenizer, engine: Any, text: bytes) -> bool:
    """Masks and tokens, as in decoding. Whether the engine came to the end."""
    for token_id in tokenizer.encode_exact(text):
        engine.compute_bitmask()
        if engine.is_error() or not engine.consume_token(token_id):
            return False
    return True


def broken_by_a_sibling(tokenizer: BoundTokenizer, text: bytes) -> tuple[Any, Any]:
    """A prototype whose copy walked into the maze, and another copy that had come to the end of `text` before."""
    prototype = build(tokenizer)
    sibling, culprit = prototype.deep_copy(), prototype.deep_copy()
    assert walk(tokenizer, sibling, text)
    assert not walk(tokenizer, culprit, b"t" + LETTERS)
    assert "lexer error" in culprit.get_error()
    return prototype, sibling


def test_an_error_in_one_copy_is_an_error_in_every_copy_at_its_next_mask(tokenizer: BoundTokenizer) -> None:
    prototype, sibling = broken_by_a_sibling(tokenizer, b'a{"word":"')
    late = prototype.deep_copy()
    for engine in (sibling, late, prototype):
        assert not engine.is_error()
        engine.compute_bitmask()
        assert "lexer error" in engine.get_error()


def test_after_the_error_the_mask_is_the_end_of_the_sequence_and_nothing_else(tokenizer: BoundTokenizer) -> None:
    _, sibling = broken_by_a_sibling(tokenizer, b'a{"word":"')
    mask = int.from_bytes(sibling.compute_bitmask(), "little")
    assert mask == sum(1 << token_id for token_id in tokenizer.end_ids)


def test_a_copy_that_has_not_looked_refuses_tokens_without_an_error(tokenizer: BoundTokenizer) -> None:
    _, sibling = broken_by_a_sibling(tokenizer, b'a{"word":"')
    assert sibling.try_consume_tokens(tokenizer.encode_exact(b"abc")) == 0
    assert not sibling.is_error()


def test_a_copy_that_has_not_looked_forces_nothing_without_an_error(tokenizer: BoundTokenizer) -> None:
    well = build(tokenizer).deep_copy()
    assert walk(tokenizer, well, b"a")
    assert well.compute_ff_tokens()
    _, sibling = broken_by_a_sibling(tokenizer, b"a")
    assert sibling.compute_ff_tokens() == []
    assert not sibling.is_error()


def test_two_matchers_that_were_compiled_apart_do_not_share_a_lexer(tokenizer: BoundTokenizer) -> None:
    apart = build(tokenizer)
    broken_by_a_sibling(tokenizer, b"a")
    assert walk(tokenizer, apart, b'a{"word":"abc')


def test_consuming_needs_no_budget_of_states_that_masks_would_have_used_up(tokenizer: BoundTokenizer) -> None:
    # A replay without masks proves nothing about the run that it repeats: it may well succeed where that one failed.
    assert not walk(tokenizer, build(tokenizer), b"t" + LETTERS)
    token_ids = tokenizer.encode_exact(b"t" + LETTERS)
    assert build(tokenizer).try_consume_tokens(token_ids) == len(token_ids)
