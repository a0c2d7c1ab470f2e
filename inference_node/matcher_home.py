"""Where a matcher whose lexer broke goes."""

from enum import Enum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from inference_node.grammar import Prototype
    from inference_node.matcher import GrammarMatcher


class Move(Enum):
    """Where a broken matcher goes; it makes each move at most once, in this order, and a bystander makes the first."""

    BESIDE = "beside"
    """To a sound prototype that others use too: for one whose lexer broke through another."""
    ALONE = "alone"
    """To a prototype of its own."""
    REPEAT = "repeat"
    """The same, every mask computed on the way: a lexer that has seen them needs less work in one step than a new one,
    so this is the run that it would have had without company."""


class MatcherHome(Protocol):
    """Where a matcher gets another prototype from. Called from any thread; can take as long as compiling."""

    def matcher(self) -> "GrammarMatcher":
        """A matcher at the grammar's start. Raises GrammarError."""

    def prototype_for(self, move: Move) -> "Prototype":
        """A sound prototype, shared or not as the move says. Raises GrammarError."""
