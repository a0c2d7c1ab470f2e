"""Why a sequence is over."""

from dataclasses import dataclass
from typing import Final, NamedTuple, Self

from inference_node.matcher import GrammarMatcher
from inference_node.protocol import StopCause


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """`message` is for what went wrong, and holds nothing of the grammar's text."""

    cause: StopCause
    stop_string: str | None = None
    message: str | None = None


ORDERLY_CAUSES: Final = frozenset({"end_of_sequence", "grammar_end", "max_tokens", "context_full", "stop_string"})
"""After these the matcher can say whether the text that was sent is complete. After any other the answer is no: nothing
that broke off is called whole."""


def ending_by_grammar(matcher: GrammarMatcher | None) -> Ending | None:
    """What a matcher's state says; None: go on."""
    if matcher is None:
        return None
    if matcher.failure is not None:
        return Ending(cause="grammar_failed", message="the grammar engine hit a limit or failed")
    if matcher.is_dead_end:
        return Ending(cause="dead_end", message="no token can continue the text under the grammar")
    if matcher.is_terminated:
        return Ending(cause="grammar_end")
    return None


class Standing(NamedTuple):
    """Where a matcher stood after a token: asked once, since the matcher may be another thread's afterwards."""

    is_standing: bool
    accepting: bool
    ending: Ending | None

    @classmethod
    def of(cls, matcher: GrammarMatcher) -> Self:
        """Now."""
        return cls(matcher.is_standing, matcher.is_accepting, ending_by_grammar(matcher))
