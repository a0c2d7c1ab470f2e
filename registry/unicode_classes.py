"""Unicode property escapes that ECMA-262, RE2 and Rust's regex mean alike (each by its own edition of Unicode)."""

from typing import Final

# Left out: C and Cn (RE2's C has no unassigned code points), Cs (no surrogate in UTF-8), LC (unknown to RE2).
_CATEGORIES: Final = {
    "Letter": "L", "Lowercase_Letter": "Ll", "Modifier_Letter": "Lm", "Other_Letter": "Lo", "Titlecase_Letter": "Lt",
    "Uppercase_Letter": "Lu", "Mark": "M", "Combining_Mark": "M", "Spacing_Mark": "Mc", "Enclosing_Mark": "Me",
    "Nonspacing_Mark": "Mn", "Number": "N", "Decimal_Number": "Nd", "digit": "Nd", "Letter_Number": "Nl",
    "Other_Number": "No", "Punctuation": "P", "punct": "P", "Connector_Punctuation": "Pc", "Dash_Punctuation": "Pd",
    "Close_Punctuation": "Pe", "Final_Punctuation": "Pf", "Initial_Punctuation": "Pi", "Other_Punctuation": "Po",
    "Open_Punctuation": "Ps", "Symbol": "S", "Currency_Symbol": "Sc", "Modifier_Symbol": "Sk", "Math_Symbol": "Sm",
    "Other_Symbol": "So", "Separator": "Z", "Line_Separator": "Zl", "Paragraph_Separator": "Zp",
    "Space_Separator": "Zs", "Control": "Cc", "cntrl": "Cc", "Format": "Cf", "Private_Use": "Co",
}  # fmt: skip
_SHORT: Final = frozenset(_CATEGORIES.values())
_SCRIPTS: Final = frozenset(
    {
        "Arabic", "Armenian", "Bengali", "Bopomofo", "Braille", "Cherokee", "Common", "Coptic", "Cyrillic",
        "Devanagari", "Ethiopic", "Georgian", "Gothic", "Greek", "Gujarati", "Gurmukhi", "Han", "Hangul", "Hebrew",
        "Hiragana", "Inherited", "Kannada", "Katakana", "Khmer", "Lao", "Latin", "Malayalam", "Mongolian", "Myanmar",
        "Ogham", "Oriya", "Runic", "Sinhala", "Syriac", "Tamil", "Telugu", "Thaana", "Thai", "Tibetan",
    }
)  # fmt: skip


def unicode_class(expression: str) -> str | None:
    """The shared spelling of what stands in `\\p{…}`, or `None` if the engines do not share it."""
    key, separator, value = expression.partition("=")
    if not separator:
        key, value = "General_Category", expression
    if key in {"General_Category", "gc"}:
        return value if value in _SHORT else _CATEGORIES.get(value)
    if key in {"Script", "sc"} and value in _SCRIPTS:
        return value
    return None
