"""A reasoning dialect as one model spells it: its markers' tokens, and the line feeds that its template puts there."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from inference_node.reasoning.dialects import ReasoningDialect, plain_source


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasoningMarkers:
    """`opening_ids`, `closing_ids` and `lead_in_ids` are what this node writes itself.

    A lead-in stands between the end marker and the answer, and belongs to neither.
    """

    dialect: ReasoningDialect
    opening_ids: tuple[int, ...]
    closing_ids: tuple[int, ...]
    lead_in_ids: tuple[int, ...]
    begin_id: int | None
    """The token that is the begin marker as a whole, where there is one: it may have no text to be looked for."""
    end_id: int | None


def markers_of(
    dialect: ReasoningDialect, template: str, encode: Callable[[str], list[int]], whole_tokens: Mapping[str, int]
) -> ReasoningMarkers:
    """`encode` recognises special tokens, as in a template's own text; `whole_tokens` are the added ones by text."""
    source = plain_source(template)
    begin, end = dialect.begin, dialect.end
    opening = begin + ("\n" if f"{begin}\n" in source else "")
    # As the template writes earlier turns: the model was trained to go on so, and the contract begins after it.
    line_feeds = next((feeds for feeds in ("\n\n", "\n") if f"{end}{feeds}" in source), "")
    return ReasoningMarkers(
        dialect=dialect,
        opening_ids=tuple(encode(opening)),
        closing_ids=tuple(encode(end)),
        lead_in_ids=tuple(encode(line_feeds + dialect.after)) if line_feeds or dialect.after else (),
        begin_id=whole_tokens.get(begin),
        end_id=whole_tokens.get(end),
    )


def is_open_after(tail: str, dialect: ReasoningDialect) -> bool:
    """Whether a prompt whose generation part is `tail` ends within a thought.

    The part is the template's own, so no message can open or close a thought there.
    """
    return tail.rfind(dialect.begin) > tail.rfind(dialect.end)
