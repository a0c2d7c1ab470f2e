"""A thought over a real vocabulary, told in bytes."""

from collections.abc import Sequence
from dataclasses import dataclass

from compiler_pool.tokenizer import BoundTokenizer
from inference_node.reasoning.dialects import ReasoningDialect
from inference_node.reasoning.markers import ReasoningMarkers
from inference_node.reasoning.span import ReasoningSpan

THINK = ReasoningDialect(name="think", begin="<think>", end="</think>")


def markers(tokenizer: BoundTokenizer, dialect: ReasoningDialect = THINK, *, lead_in: str = "") -> ReasoningMarkers:
    """The dialect in this vocabulary, no token of which is a marker as a whole."""
    return ReasoningMarkers(
        dialect=dialect,
        opening_ids=tuple(tokenizer.encode_exact(dialect.begin.encode())),
        closing_ids=tuple(tokenizer.encode_exact(dialect.end.encode())),
        lead_in_ids=tuple(tokenizer.encode_exact(lead_in.encode())),
        begin_id=None,
        end_id=None,
    )


@dataclass(slots=True, kw_only=True)
class Heard:
    """What came of tokens: the thought, all tokens of the span, and the bytes that were left for the answer."""

    thought: str
    span_ids: list[int]
    answer: bytes


def hear(span: ReasoningSpan, tokenizer: BoundTokenizer, picks: Sequence[int]) -> Heard:
    """Give a span its owed tokens and, between them, the picks; those after its end are the answer's."""
    thought, span_ids, left = "", list[int](), list(picks)
    while span.is_open and (span.owed() or left):
        owed = span.owed()
        step = span.take(owed[0] if owed else left.pop(0))
        thought += step.text
        span_ids += step.token_ids
        assert step.is_last is not span.is_open
    if span.is_open:
        thought += span.flush()
    return Heard(thought=thought, span_ids=span_ids, answer=tokenizer.decode(left))
