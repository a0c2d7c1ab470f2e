"""The one spelling of a string in generated texts: every character as it is, but for those that JSON must escape.

U+007F is escaped too, although JSON does not ask for it: it is invisible, and the engine's own strings leave it out.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from registry.pattern_syntax import CodePointRanges

SHORT_ESCAPES: Final[Mapping[int, str]] = MappingProxyType(
    {0x22: '"', 0x5C: "\\", 0x08: "b", 0x0C: "f", 0x0A: "n", 0x0D: "r", 0x09: "t"}
)
"""Characters with an escape of one letter, which is then the only way in which they are written."""

ESCAPED: Final[CodePointRanges] = ((0x00, 0x1F), (0x22, 0x22), (0x5C, 0x5C), (0x7F, 0x7F))
"""Characters that never stand for themselves."""

_SPELLINGS: Final = {
    code_point: "\\" + SHORT_ESCAPES[code_point] if code_point in SHORT_ESCAPES else f"\\u{code_point:04x}"
    for low, high in ESCAPED
    for code_point in range(low, high + 1)
}


def spell_characters(text: str) -> str:
    """The text between the quotes of a JSON string."""
    return text.translate(_SPELLINGS)


def spell_string(text: str) -> str:
    """The JSON string, quotes included."""
    return f'"{spell_characters(text)}"'
