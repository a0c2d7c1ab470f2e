"""The tokens of a Lark text, as llguidance 1.9.1's lexer cuts them: at each place the longest one.

Comments and blanks are gone; a line feed is a token, because it ends a rule. Linear in the text.
"""

import re
from dataclasses import dataclass
from typing import Final, NoReturn

from policy.rejection import RejectionCode
from registry.kinds.faults import place, refuse, shown

_TOKEN: Final = re.compile(
    r"""
      (?P<blank>[ \t]++|(?:\#|//)[^\n]*+)
    | (?P<newline>(?:\r?\n)++[ \t]*+)
    | (?P<string>"(?:\\(?:["\\/bfnrt]|u[a-fA-F0-9]{4}|x[a-fA-F0-9]{2})|[^"\\\x00-\x1f\x7f])*+"i?)
    | (?P<regex>/(?:\\[^\n]|[^/\\])++/[imslux]*+)
    | (?P<directive>%[a-zA-Z]*+)
    | (?P<special><[^<>\s]++>)
    | (?P<grammar>@[a-zA-Z0-9_\-]++)
    | (?P<rule>!?[_?]?[a-z][_a-z0-9\-]*+)
    | (?P<terminal>_?[A-Z][_A-Z0-9\-]*+)
    | (?P<hexadecimal>0[xX][0-9a-fA-F]++)
    | (?P<number>[+-]?[0-9]++)
    | (?P<sign>->|::|\.\.|[:=,.(){}\[\]~&|_*+?])
    """,
    re.VERBOSE,
)
# The brackets of an embedded JSON value; strings are skipped whole, so that brackets in them do not count.
_JSON_PIECE: Final = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[\]{}]', re.DOTALL)
_JSON_DIRECTIVES: Final = frozenset({"%json", "%regex"})


@dataclass(frozen=True, slots=True)
class LarkToken:
    """One token: what kind, its text, and where it starts. A directive with JSON has it in `value`."""

    kind: str
    text: str
    at: int
    value: str = ""
    value_at: int = 0


def lark_tokens(text: str) -> list[LarkToken]:
    """All tokens, an `end` last. Raises `ContractRejectedError`."""
    tokens: list[LarkToken] = []
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            _refuse(text, at)
        kind = found.lastgroup
        assert kind is not None
        start, at = at, found.end()
        if kind == "directive" and found[0] in _JSON_DIRECTIVES:
            value_at = _skip_blanks(text, at)
            at = _json_end(text, value_at, found[0])
            tokens.append(LarkToken(kind, found[0], start, text[value_at:at], value_at))
        elif kind != "blank":
            tokens.append(LarkToken(kind, found[0], start))
    tokens.append(LarkToken("end", "", len(text)))
    return tokens


def _skip_blanks(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\n":
        at += 1
    return at


def _json_end(text: str, start: int, directive: str) -> int:
    if not text.startswith("{", start):
        message = f"`{directive}` is followed by a JSON object (at {place(text, start)})."
        refuse(RejectionCode.INVALID_GRAMMAR, message, keyword=directive)
    depth = 0
    for piece in _JSON_PIECE.finditer(text, start):
        depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(piece[0], 0)
        if depth == 0:
            return piece.end()
    message = f"The JSON object after `{directive}` at {place(text, start)} is not closed."
    return refuse(RejectionCode.INVALID_JSON, message, keyword=directive)


def _refuse(text: str, at: int) -> NoReturn:
    what = {
        '"': "This string is not closed, or has an escape that JSON does not know",
        "/": "This regular expression is not closed, or is empty",
        "'": "Strings stand in double quotes",
        "\ufeff": "The text starts with a byte-order mark",
    }.get(text[at], f"No token of a Lark grammar starts with {shown(text[at])}")
    refuse(RejectionCode.INVALID_GRAMMAR, f"{what} (at {place(text, at)}).")
