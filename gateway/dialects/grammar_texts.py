"""Grammars in fields whose name does not say what they are written in.

Nothing is guessed and nothing converted. A text that defines `root` with `::=` is GBNF, one that defines `start` with
`:` is Lark, `%llguidance {}` in front says Lark; what is neither or both is refused with the way to name it.
"""

import re
from typing import Final

from gateway.dialects.carried import Carried, enforced, text
from gateway.errors import InvalidRequestError, RequestFault
from registry.contract import ContractKind, JsonValue

_MARK: Final = re.compile(r"\s*+%llguidance[ \t]*+\{[ \t\r\n]*+\}")
"""Options in the braces are left where they stand: the kind refuses them by name."""
_ANY_MARK: Final = re.compile(r"\s*+%llguidance\b")
_GBNF_ROOT: Final = re.compile(r"^[ \t]*+root[ \t]*+::=", re.MULTILINE)
_LARK_START: Final = re.compile(r"^[ \t]*+[?!]{0,2}+start(?:\[[^\]\n]*+\])?(?:\.[0-9]++)?[ \t]*+:(?!:)", re.MULTILINE)
_NOT_LINE_BREAK: Final = re.compile(r"[^\r\n]")


def gbnf(value: JsonValue, *, param: str, dialect: str) -> Carried:
    """A field that is GBNF by its name, and Lark where the text says so in its first line."""
    grammar = text(value, param=param)
    if _ANY_MARK.match(grammar):
        return _lark(grammar, param=param, dialect=dialect)
    return enforced(ContractKind.GBNF, grammar, param=param, dialect=dialect)


def told_by_text(value: JsonValue, *, param: str, dialect: str) -> Carried:
    """A field whose name does not say: the text must.

    Raises:
        InvalidRequestError: it says neither, or both.
    """
    grammar = text(value, param=param)
    if _ANY_MARK.match(grammar):
        return _lark(grammar, param=param, dialect=dialect)
    is_gbnf, is_lark = bool(_GBNF_ROOT.search(grammar)), bool(_LARK_START.search(grammar))
    if is_gbnf != is_lark:
        kind = ContractKind.GBNF if is_gbnf else ContractKind.LARK
        return enforced(kind, grammar, param=param, dialect=dialect)
    found = "both a GBNF `root ::=` and a Lark `start:`" if is_gbnf else "neither a GBNF `root ::=` nor a Lark `start:`"
    message = (
        f"`{param}` defines {found}, so nothing says what it is written in: "
        'send `contract: {"kind": "gbnf" or "lark", "definition": …}`'
    )
    raise InvalidRequestError(RequestFault.INVALID_VALUE, message, param=param)


def _lark(grammar: str, *, param: str, dialect: str) -> Carried:
    # Blanked, not cut: lines and columns of faults stay the caller's.
    mark = _MARK.match(grammar)
    if mark is not None:
        grammar = _NOT_LINE_BREAK.sub(" ", mark[0]) + grammar[mark.end() :]
    return enforced(ContractKind.LARK, grammar, param=param, dialect=dialect)
