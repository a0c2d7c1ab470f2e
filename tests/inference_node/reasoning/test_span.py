import codecs
import os
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from compiler_pool.tokenizer import BoundTokenizer, load_tokenizer
from inference_node.reasoning.dialects import ReasoningDialect
from inference_node.reasoning.markers import ReasoningMarkers
from inference_node.reasoning.span import ReasoningSpan
from tests.inference_node.reasoning.worlds import THINK, hear, markers

_SHARED = Path(os.environ.get("SCHEMAGATE_CORPORA", Path(__file__).parents[4] / "shared" / "corpora")).parent
QWEN = _SHARED / "tokenizers" / "qwen3.json"


def begun(tokenizer: BoundTokenizer, *, budget_tokens: int | None = None, lead_in: str = "") -> ReasoningSpan:
    return ReasoningSpan(markers(tokenizer, lead_in=lead_in), tokenizer, is_begun=True, budget_tokens=budget_tokens)


def spelled(tokenizer: BoundTokenizer, *pieces: bytes) -> list[int]:
    """Tokens that end where the pieces do."""
    return [token_id for piece in pieces for token_id in tokenizer.encode_exact(piece)]


@pytest.mark.parametrize("cuts", [(), (1,), (2, 7), (1, 2, 3, 4, 5, 6, 7)])
def test_the_end_marker_is_found_however_it_is_cut_into_tokens(
    cuts: tuple[int, ...], tokenizer: BoundTokenizer
) -> None:
    marker, places = b"</think>", (0, *cuts, 8)
    pieces = [marker[a:b] for a, b in pairwise(places)]
    span = begun(tokenizer)
    heard = hear(span, tokenizer, spelled(tokenizer, b"So: 6", *pieces, b'{"a":1}'))
    assert (heard.thought, heard.answer) == ("So: 6", b'{"a":1}')
    assert span.report().state == "closed"


def test_bytes_behind_the_marker_in_the_same_token_reach_neither_side(tokenizer: BoundTokenizer) -> None:
    behind = next(each for data, each in tokenizer.longest_first.items() if data.startswith(b">") and len(data) > 1)
    span = begun(tokenizer)
    heard = hear(span, tokenizer, [*spelled(tokenizer, b"x", b"</think"), behind, *spelled(tokenizer, b"{}")])
    assert (heard.thought, heard.answer) == ("x", b"{}")
    assert tokenizer.decode(heard.span_ids) == b"x</think>"


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    picks=st.lists(
        st.one_of(st.integers(0, 49_151), st.sampled_from([b"</", b"think", b">", b"</think", b">>"])), max_size=30
    )
)
def test_no_byte_is_in_the_thought_and_the_answer_and_none_but_the_markers_is_in_neither(
    picks: list[int | bytes], tokenizer: BoundTokenizer
) -> None:
    ids = [
        token_id
        for pick in picks
        for token_id in (spelled(tokenizer, pick) if isinstance(pick, bytes) else [pick])
        if token_id not in tokenizer.special
    ]
    span = begun(tokenizer)
    heard = hear(span, tokenizer, ids)
    written = tokenizer.decode(heard.span_ids)
    head, marker, rest = written.partition(b"</think>")
    assert rest == b""
    assert bool(marker) is span.is_finished
    assert heard.thought == codecs.getincrementaldecoder("utf-8")("replace").decode(head)
    # What the model had picked and was not taken is at most the rest of one token.
    assert tokenizer.decode(ids).startswith(written)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(picks=st.lists(st.sampled_from([b"a", b"</", b"think", b">", b"</think", b"<think>", b"\xc3\xa9"]), max_size=12))
def test_the_same_tokens_again_lead_to_the_same_place(picks: list[bytes], tokenizer: BoundTokenizer) -> None:
    first, again = (
        ReasoningSpan(markers(tokenizer, lead_in="\n\n"), tokenizer, is_begun=False, budget_tokens=5) for _ in range(2)
    )
    heard = hear(first, tokenizer, spelled(tokenizer, *picks))
    for token_id in heard.span_ids:
        assert again.take(token_id).token_ids == (token_id,)
    assert (again.report(), again.owed(), again.is_open) == (first.report(), first.owed(), first.is_open)


def test_a_thought_that_the_prompt_did_not_begin_is_begun_by_the_node(tokenizer: BoundTokenizer) -> None:
    span = ReasoningSpan(markers(tokenizer), tokenizer, is_begun=False, budget_tokens=None)
    heard = hear(span, tokenizer, spelled(tokenizer, b"hm", b"</think>", b"1"))
    assert (heard.thought, heard.answer) == ("hm", b"1")
    assert tokenizer.decode(heard.span_ids) == b"<think>hm</think>"
    assert span.report().tokens == len(heard.span_ids)


@pytest.mark.parametrize("budget_tokens", [0, 1, 3])
def test_at_its_budget_the_node_writes_the_end(budget_tokens: int, tokenizer: BoundTokenizer) -> None:
    span = begun(tokenizer, budget_tokens=budget_tokens, lead_in="\n\n")
    picks = spelled(tokenizer, b"a", b"b", b"c", b"d", b"e")
    heard = hear(span, tokenizer, picks)
    assert heard.thought == "abcde"[:budget_tokens]
    assert tokenizer.decode(heard.span_ids).endswith(b"</think>\n\n")
    assert span.report().state == "budget"


def test_a_thought_that_ends_on_its_last_token_was_closed_by_the_model(tokenizer: BoundTokenizer) -> None:
    picks = spelled(tokenizer, b"a", b"</think>")
    span = begun(tokenizer, budget_tokens=len(picks))
    assert hear(span, tokenizer, picks).thought == "a"
    assert span.report().state == "closed"


def test_the_beginning_of_a_marker_before_the_budget_ends_is_thought(tokenizer: BoundTokenizer) -> None:
    picks = spelled(tokenizer, b"a", b"</", b"think")
    span = begun(tokenizer, budget_tokens=len(picks))
    assert hear(span, tokenizer, picks).thought == "a</think"


def test_a_thought_that_never_ends_is_unfinished_and_loses_nothing(tokenizer: BoundTokenizer) -> None:
    span = begun(tokenizer)
    assert hear(span, tokenizer, spelled(tokenizer, b"if a ", b"</")).thought == "if a </"
    assert (span.is_open, span.report().state) == (True, "unfinished")


def test_begin_markers_within_a_thought_are_counted_and_stay_text(tokenizer: BoundTokenizer) -> None:
    span = begun(tokenizer)
    heard = hear(span, tokenizer, spelled(tokenizer, b"<", b"think", b"> <think><think", b"> x", b"</think>"))
    assert heard.thought == "<think> <think><think> x"
    assert span.report().num_repeated_markers == 3


def test_a_token_that_is_not_the_owed_one_is_no_token_of_the_thought(tokenizer: BoundTokenizer) -> None:
    span = ReasoningSpan(markers(tokenizer), tokenizer, is_begun=False, budget_tokens=None)
    with pytest.raises(ValueError, match="next one of this thought"):
        span.take(span.owed()[0] + 1)


def test_a_marker_without_text_is_known_by_its_id(tokenizer: BoundTokenizer) -> None:
    begin_id, end_id = sorted(tokenizer.special - set(tokenizer.end_ids))[:2]
    special = ReasoningMarkers(
        dialect=ReasoningDialect(name="special", begin="[THINK]", end="[/THINK]"),
        opening_ids=(begin_id,),
        closing_ids=(end_id,),
        lead_in_ids=(),
        begin_id=begin_id,
        end_id=end_id,
    )
    span = ReasoningSpan(special, tokenizer, is_begun=False, budget_tokens=None)
    heard = hear(span, tokenizer, [*spelled(tokenizer, b"[/THINK"), begin_id, end_id, *spelled(tokenizer, b"7")])
    assert (heard.thought, heard.answer) == ("[/THINK", b"7")
    assert (span.report().state, span.report().num_repeated_markers) == ("closed", 1)


@pytest.mark.corpus
@pytest.mark.skipif(not QWEN.exists(), reason=f"Qwen3's tokenizer is not at {QWEN}")
def test_qwens_marker_ends_a_thought_as_its_own_token_and_spelled_out() -> None:
    qwen = load_tokenizer(QWEN)
    own = ReasoningMarkers(
        dialect=THINK, opening_ids=(151667,), closing_ids=(151668,), lead_in_ids=(271,), begin_id=151667, end_id=151668
    )
    for end in ([151668], spelled(qwen, b"</", b"think>\n\n")):
        span = ReasoningSpan(own, qwen, is_begun=True, budget_tokens=None)
        heard = hear(span, qwen, [*spelled(qwen, b"\xe5\x85\xad"), *end, *spelled(qwen, b"{}")])
        assert heard.thought == "\u516d"
        assert heard.answer.endswith(b"{}")
        assert not span.is_open
        assert span.report().state == "closed"
