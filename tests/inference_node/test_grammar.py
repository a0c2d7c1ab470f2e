from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from compiler_pool.tokenizer import BoundTokenizer, load_tokenizer
from inference_node.bitmask_row import Bitmask
from inference_node.errors import GrammarError
from inference_node.grammar import Prototype
from inference_node.matcher import GrammarMatcher
from policy.limits import TENANT, EngineBudget

BUDGET = TENANT.engine
WORDS = 'start: "[" W ("," W)* "]"\nW: /(foo|bar|[a-z]{3,9}x)[0-9]{1,20}[a-q]*zz/'


def new_row(tokenizer: BoundTokenizer) -> Bitmask:
    return np.full(-(-tokenizer.vocabulary_size // 32), -1, dtype=np.int32)


def allowed(matcher: GrammarMatcher) -> set[int]:
    """What the next mask offers, repairs included: as the step loop goes about it."""
    row = new_row(matcher.prototype.tokenizer)
    matcher.fill_bitmask(row)
    while matcher.is_broken and matcher.is_standing:
        assert not row.any()
        matcher.repair()
        matcher.fill_bitmask(row)
    return set(np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little")).tolist())


def advance(matcher: GrammarMatcher, token_id: int) -> None:
    while not matcher.is_broken or matcher.is_standing:
        before = len(matcher.tokens)
        matcher.repair()
        if not matcher.is_standing:
            return
        matcher.advance([token_id])
        if len(matcher.tokens) > before:
            return


def ends(matcher: GrammarMatcher) -> tuple[bool, bool]:
    return matcher.is_accepting, matcher.is_terminated


def build(tokenizer: BoundTokenizer, grammar: str, budget: EngineBudget = BUDGET) -> Prototype:
    return Prototype.build(tokenizer, grammar, budget)


def test_a_mask_offers_what_the_grammar_allows_and_nothing_else(tokenizer: BoundTokenizer) -> None:
    matcher = build(tokenizer, 'start: "true" | "false"').matcher()
    assert {tokenizer.token_bytes[index] for index in allowed(matcher)} == {
        text for text in tokenizer.token_bytes if text and (b"true".startswith(text) or b"false".startswith(text))
    }


def test_a_sentence_that_nothing_can_follow_is_terminated_and_accepting(tokenizer: BoundTokenizer) -> None:
    matcher = build(tokenizer, 'start: "true" | "false"').matcher()
    assert ends(matcher) == (False, False)
    assert matcher.accept_tokens(tokenizer.encode_exact(b"true"))
    assert ends(matcher) == (True, True)
    assert matcher.is_standing


def test_every_end_token_is_offered_only_where_the_text_is_complete(tokenizer: BoundTokenizer) -> None:
    assert len(tokenizer.end_ids) > 1
    matcher = build(tokenizer, "start: /[0-9]{2,3}/").matcher()
    assert not allowed(matcher) & set(tokenizer.end_ids)
    assert not matcher.accept_tokens([tokenizer.end_ids[0]])
    assert matcher.accept_tokens(tokenizer.encode_exact(b"12"))
    assert allowed(matcher) >= set(tokenizer.end_ids)


@pytest.mark.parametrize("which", [0, 1])
def test_an_end_token_terminates_and_can_be_taken_back(tokenizer: BoundTokenizer, which: int) -> None:
    matcher = build(tokenizer, "start: /[0-9]{1,3}/").matcher()
    assert matcher.accept_tokens([*tokenizer.encode_exact(b"12"), tokenizer.end_ids[which]])
    assert ends(matcher) == (True, True)
    assert allowed(matcher) == set()
    matcher.rollback(1)
    assert ends(matcher) == (True, False)
    assert matcher.accept_tokens(tokenizer.encode_exact(b"3"))
    assert ends(matcher) == (True, True)


def test_nothing_follows_an_end_token(tokenizer: BoundTokenizer) -> None:
    matcher = build(tokenizer, "start: /[0-9]{1,3}/").matcher()
    digit, end = tokenizer.encode_exact(b"1")[0], tokenizer.end_ids[0]
    assert not matcher.accept_tokens([digit, end, digit])
    assert matcher.accept_tokens([digit, end])
    assert not matcher.accept_tokens([digit])
    assert not matcher.accept_tokens([end])


def test_tokens_are_accepted_all_or_none(tokenizer: BoundTokenizer) -> None:
    matcher = build(tokenizer, 'start: "abc" | "abd"').matcher()
    a, b, x = (tokenizer.encode_exact(character)[0] for character in (b"a", b"b", b"x"))
    before = allowed(matcher)
    assert not matcher.accept_tokens([a, b, x])
    assert list(matcher.tokens) == []
    assert allowed(matcher) == before
    assert matcher.accept_tokens([a, b])
    assert matcher.is_standing


def test_rolling_back_past_the_start_is_refused(tokenizer: BoundTokenizer) -> None:
    matcher = build(tokenizer, 'start: "abc"').matcher()
    assert matcher.accept_tokens(tokenizer.encode_exact(b"abc"))
    with pytest.raises(ValueError, match="cannot take back 9"):
        matcher.rollback(9)
    assert matcher.is_terminated


def test_rollback_after_the_grammar_ended_reopens_it(tokenizer: BoundTokenizer) -> None:
    matcher = build(tokenizer, 'start: "ab" | "ac"').matcher()
    a, b, c = (tokenizer.encode_exact(character)[0] for character in (b"a", b"b", b"c"))
    assert matcher.accept_tokens([a, b])
    assert matcher.is_terminated
    matcher.rollback(1)
    assert matcher.accept_tokens([c])
    assert matcher.is_terminated


def test_forced_tokens_spell_what_must_come(tokenizer: BoundTokenizer) -> None:
    matcher = build(tokenizer, 'start: "{\\"name\\":\\"" /[a-z]{1,3}/ "\\"}"').matcher()
    forced = matcher.forced_tokens()
    assert tokenizer.decode(forced) == b'{"name":"'
    matcher.advance(forced)
    assert matcher.forced_tokens() == []
    matcher.advance(tokenizer.encode_exact(b"abc"))
    assert tokenizer.decode(matcher.forced_tokens()) == b'"}'


def test_an_end_token_is_never_forced(tokenizer: BoundTokenizer) -> None:
    matcher = build(tokenizer, 'start: "yes"').matcher()
    matcher.advance(matcher.forced_tokens())
    assert matcher.is_terminated
    assert matcher.forced_tokens() == []


def test_a_dead_end_is_neither_an_end_nor_a_failure(tokenizer: BoundTokenizer) -> None:
    matcher = build(tokenizer, 'start: A B\nA: "a"\nB: /b/ & /c/').matcher()
    assert matcher.accept_tokens(tokenizer.encode_exact(b"a"))
    assert allowed(matcher) == set()
    assert matcher.is_dead_end
    assert matcher.failure is None
    assert not matcher.is_accepting
    assert not matcher.is_terminated


@pytest.mark.parametrize(
    "budget",
    [
        replace(BUDGET, max_lexer_states=20),
        replace(BUDGET, step_lexer_fuel=20),
        replace(BUDGET, step_max_items=3),
        replace(BUDGET, max_items_in_row=1),
    ],
)
def test_a_limit_in_decoding_is_a_failure_that_allows_nothing(tokenizer: BoundTokenizer, budget: EngineBudget) -> None:
    matcher = build(tokenizer, WORDS, budget).matcher()
    for token_id in tokenizer.encode_exact(b"[foo12abzz,bar1zz]"):
        offered = allowed(matcher)
        if not matcher.is_standing:
            break
        assert token_id in offered
        advance(matcher, token_id)
    assert matcher.failure
    assert not matcher.is_dead_end
    assert not matcher.is_accepting
    assert not matcher.is_terminated
    assert allowed(matcher) == set()


def test_a_sibling_of_a_failed_matcher_goes_on_where_it_was(tokenizer: BoundTokenizer) -> None:
    # 60 states are enough for a short text, and are used up by a longer one that shares the lexer.
    prototype = build(tokenizer, WORDS, replace(BUDGET, max_lexer_states=_states_for(tokenizer, b"[foo1zz]")))
    innocent, guilty = prototype.matcher(), prototype.matcher()
    head, tail = tokenizer.encode_exact(b"[foo1"), tokenizer.encode_exact(b"zz]")
    for token_id in head:
        assert token_id in allowed(innocent)
        innocent.advance([token_id])
    for token_id in tokenizer.encode_exact(b"[abcdefghx12345678901234567890aqaqaqzz,barx1zz,foo99zz]"):
        allowed(guilty)
        if not guilty.is_standing:
            break
        guilty.advance([token_id])
    assert guilty.failure
    assert prototype.is_broken
    for token_id in tail:
        assert token_id in allowed(innocent)
        innocent.advance([token_id])
    assert innocent.is_accepting
    assert innocent.failure is None


def test_text_is_judged_apart_even_when_the_prototype_is_broken(tokenizer: BoundTokenizer) -> None:
    prototype = build(tokenizer, WORDS, replace(BUDGET, max_lexer_states=_states_for(tokenizer, b"[foo1zz]")))
    good = prototype.matcher()
    broken = prototype.matcher()
    for token_id in tokenizer.encode_exact(b"[abcdefghx12345678901234567890aqaqaqzz,barx1zz,foo99zz]"):
        allowed(broken)
        if not broken.is_standing:
            break
        broken.advance([token_id])
    assert broken.failure
    assert good.accepts_text(b"[foo1zz]")
    assert not good.accepts_text(b"[foo1zz")
    assert not good.accepts_text(b"[foo1zz]x")


def test_accepting_text_leaves_the_matcher_where_it_was(tokenizer: BoundTokenizer) -> None:
    matcher = build(tokenizer, "start: /[0-9]{1,3}/").matcher()
    assert matcher.accepts_text(b"123")
    assert not matcher.accepts_text(b"")
    assert not matcher.accepts_text(b"12a")
    assert list(matcher.tokens) == []


def test_a_grammar_that_the_engine_refuses_is_an_error_without_a_dump(tokenizer: BoundTokenizer) -> None:
    with pytest.raises(GrammarError) as caught:
        build(tokenizer, "start: missing_rule")
    assert caught.value.reason
    assert "\n" not in caught.value.reason


@pytest.mark.parametrize(
    "row",
    [np.zeros(10, dtype=np.int32), np.zeros(1536, dtype=np.int64), np.zeros(3072, dtype=np.int32)[::2]],
)
def test_a_row_of_another_shape_type_or_stride_is_refused(tokenizer: BoundTokenizer, row: Bitmask) -> None:
    with pytest.raises(ValueError, match="contiguous int32"):
        build(tokenizer, 'start: "a"').matcher().fill_bitmask(row)


def test_ids_past_the_tokenizer_are_never_offered(model_directory: Path, tmp_path: Path) -> None:
    for name in ("tokenizer.json", "tokenizer_config.json", "generation_config.json"):
        (tmp_path / name).write_bytes((model_directory / name).read_bytes())
    (tmp_path / "config.json").write_text('{"vocab_size": 49290}')
    padded = load_tokenizer(tmp_path)
    matcher = build(padded, "start: /(.|\\n)*/").matcher()
    offered = allowed(matcher)
    assert len(offered) > 40_000
    assert max(offered) < 49_152


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(choices=st.lists(st.integers(min_value=0, max_value=2**32), min_size=1, max_size=12))
def test_any_walk_inside_the_masks_stands_and_can_be_walked_back(tokenizer: BoundTokenizer, choices: list[int]) -> None:
    matcher = build(tokenizer, WORDS).matcher()
    masks = []
    for choice in choices:
        offered = sorted(allowed(matcher) - set(tokenizer.end_ids))
        if not offered:
            break
        masks.append(set(offered))
        matcher.advance([offered[choice % len(offered)]])
        assert matcher.is_standing
    for mask in reversed(masks):
        matcher.rollback(1)
        assert allowed(matcher) - set(tokenizer.end_ids) == mask


def _states_for(tokenizer: BoundTokenizer, text: bytes) -> int:
    """The least number of lexer states under which a lone matcher decodes `text`."""
    for states in range(8, 400, 4):
        try:
            matcher = build(tokenizer, WORDS, replace(BUDGET, max_lexer_states=states)).matcher()
        except GrammarError:
            continue
        for token_id in tokenizer.encode_exact(text):
            allowed(matcher)
            if not matcher.is_standing:
                break
            matcher.advance([token_id])
        if matcher.is_accepting:
            return states
    raise AssertionError("no number of states is enough")
