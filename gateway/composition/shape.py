"""How the text of an answer is to be read: what may stand in it, and where."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from inference_node.tool_dialects.dialect import ToolDialect
from inference_node.tool_dialects.hermes import NEUTRAL


class Words(StrEnum):
    """What an answer in words is."""

    NONE = "none"
    """There is none: a tool has to be called."""
    FREE = "free"
    """Any text; calls may come after it."""
    JSON = "json"
    """A JSON text under the caller's contract."""
    TEXT = "text"
    """Another text under the caller's contract."""


class Thought(StrEnum):
    """Whether a span of thought stands before the answer."""

    NEVER = "never"
    MAYBE = "maybe"
    ALWAYS = "always"
    """Before free text that calls may follow: nothing else would tell it from that text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What the grammar allows, as far as reading needs to know it."""

    words: Words
    customs: Mapping[str, bool] = field(default_factory=dict)
    """The tools that can be called, by name, and whether each takes text (a custom tool) or arguments."""
    open_ended: frozenset[str] = frozenset()
    """Custom tools whose input runs to the end of the text, without an end marker."""
    may_refuse: bool = False
    thought: Thought = Thought.NEVER
    dialect: ToolDialect = NEUTRAL
    """How calls are spelled."""
    whole_call: str | None = None
    """The custom tool whose input the whole text is, without any markup."""

    @property
    def is_plain(self) -> bool:
        """Whether the text is the answer as it stands."""
        return not self.customs and not self.may_refuse and self.thought is Thought.NEVER and self.whole_call is None

    @property
    def is_constrained(self) -> bool:
        """Whether words stand under a contract."""
        return self.words in {Words.JSON, Words.TEXT}


FREE_TEXT = Shape(words=Words.FREE)
