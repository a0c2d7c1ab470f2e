"""The terminals of `%import common.…`, as llguidance 1.9.1 defines them: in Rust's dialect of regular expressions."""

from types import MappingProxyType
from typing import Final

_EXPONENT: Final = r"[eE](\+|-)?[0-9]+"
_DECIMAL: Final = r"([0-9]+\.[0-9]*|\.[0-9]+)"
_FLOAT: Final = rf"{_DECIMAL}({_EXPONENT})?|[0-9]+{_EXPONENT}"
_SIGN: Final = r"(\+|-)?"

COMMON_TERMINALS: Final = MappingProxyType(
    {
        "DIGIT": "[0-9]",
        "HEXDIGIT": "[a-fA-F0-9]",
        "INT": "[0-9]+",
        "SIGNED_INT": rf"{_SIGN}[0-9]+",
        "DECIMAL": r"([0-9]+\.[0-9]*)|(\.[0-9]+)",
        "_EXP": _EXPONENT,
        "FLOAT": _FLOAT,
        "SIGNED_FLOAT": rf"{_SIGN}({_FLOAT})",
        "NUMBER": rf"([0-9]+)|{_FLOAT}",
        "SIGNED_NUMBER": rf"{_SIGN}(([0-9]+)|{_FLOAT})",
        "ESCAPED_STRING": r'"([^"\\]|\\.)*"',
        "LCASE_LETTER": "[a-z]",
        "UCASE_LETTER": "[A-Z]",
        "LETTER": "[A-Za-z]",
        "WORD": "[A-Za-z]+",
        "CNAME": "[_A-Za-z][_A-Za-z0-9]*",
        "WS_INLINE": r"[ \t]+",
        "WS": r"[ \t\f\r\n]+",
        "CR": r"\r",
        "LF": r"\n",
        "NEWLINE": r"(\r?\n)+",
        "SH_COMMENT": r"#[^\n]*",
        "CPP_COMMENT": r"//[^\n]*",
        "C_COMMENT": r"\/\*[^*]*\*+(?:[^/*][^*]*\*+)*\/",
        "SQL_COMMENT": r"--[^\n]*",
    }
)
