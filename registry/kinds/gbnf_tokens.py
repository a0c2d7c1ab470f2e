"""The tokens of a GBNF text (llama.cpp's grammars). Comments and blanks are gone; line feeds count. Linear."""

import re
from dataclasses import dataclass
from typing import Final, NoReturn

from policy.rejection import RejectionCode
from registry.kinds.faults import place, refuse, shown

_TOKEN: Final = re.compile(
    r"""
      (?P<blank>[ \t]++|\#[^\r\n]*+)
    | (?P<newline>[\r\n]++)
    | (?P<string>"(?:\\.|[^"\\])*+")
    | (?P<class>\[(?:\\.|[^\]\\])*+\])
    | (?P<token>!?<[^>]*+>)
    | (?P<name>[A-Za-z0-9_\-]++)
    | (?P<sign>::=|[|().*+?{},])
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class GbnfToken:
    """One token: what kind, its text, and where it starts."""

    kind: str
    text: str
    at: int


def gbnf_tokens(text: str) -> list[GbnfToken]:
    """All tokens, an `end` last. Raises `ContractRejectedError`."""
    tokens: list[GbnfToken] = []
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            _refuse(text, at)
        kind = found.lastgroup
        assert kind is not None
        if kind != "blank":
            tokens.append(GbnfToken(kind, found[0], at))
        at = found.end()
    tokens.append(GbnfToken("end", "", len(text)))
    return tokens


def _refuse(text: str, at: int) -> NoReturn:
    what = {
        '"': "This string is not closed",
        "[": "This character class is not closed",
        "\ufeff": "The text starts with a byte-order mark",
        "\x00": "A null character ends the text for llama.cpp",
    }.get(text[at], f"No token of a GBNF grammar starts with {shown(text[at])}")
    refuse(RejectionCode.INVALID_GRAMMAR, f"{what} (at {place(text, at)}).")
