"""What there is to know of one spelling of calls, as data. Nothing here needs an engine."""

from dataclasses import dataclass
from typing import Final

_NAME: Final = "NAME"


@dataclass(frozen=True, slots=True, kw_only=True)
class ParameterSpelling:
    """Arguments that stand one by one instead of in one JSON object.

    A value is JSON, or a string's text as it stands; the marker before it says which.
    """

    json_begin: str
    """`NAME` is the parameter's name in it, here and below."""
    text_begin: str
    end: str

    def begin(self, name: str, *, is_text: bool) -> str:
        """What stands before a value."""
        return (self.text_begin if is_text else self.json_begin).replace(_NAME, name)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolDialect:
    """Calls are `begin opening call (again call)* end`, a call is `head arguments tail`.

    `begin` is what free words never hold, so that calls can be told from them; where calls stand in place of words,
    it is what words do not begin with.
    """

    name: str
    begin: str
    opening: str = ""
    again: str | None
    """None: an answer holds one call at most."""
    separator: str = ""
    """May stand after a call that has its tail."""
    end: str = ""
    function_begin: str
    """`NAME` is the tool's name in it. A name has only letters, digits, `_` and `-`: nothing to escape."""
    function_end: str
    custom_begin: str | None
    """None: a tool whose input is text cannot be called."""
    custom_end: str = ""
    parameters: ParameterSpelling | None = None
    """None: the arguments are one JSON object."""
    follows_words: bool = True
    """Whether calls come after words; otherwise they stand in their place."""
    has_open_calls: bool = False
    """Whether a call's input may run to the end of the text, without a tail."""
    result_begin: str = ""
    result_end: str = ""

    @property
    def takes_text(self) -> bool:
        """Whether tools can be called whose input is text."""
        return self.custom_begin is not None

    def head(self, name: str, *, is_custom: bool) -> str:
        """From where a call begins up to its arguments or its input."""
        begin = self.custom_begin if is_custom else self.function_begin
        assert begin is not None, "the composer refuses tools that the dialect cannot call"
        return begin.replace(_NAME, name)

    def tail(self, *, is_custom: bool) -> str:
        """From the end of the arguments or the input."""
        return self.custom_end if is_custom else self.function_end

    def call_text(self, name: str, text: str, *, is_custom: bool) -> str:
        """One call as a whole, alone in its answer. `text` is the arguments as they are spelled, or the input."""
        head, tail = self.head(name, is_custom=is_custom), self.tail(is_custom=is_custom)
        return f"{self.begin}{self.opening}{head}{text}{tail}{self.end}"

    def result_text(self, text: str) -> str:
        """What a tool answered."""
        return f"{self.result_begin}{text}{self.result_end}"
