"""Where the engine may not force tokens: around text that its tokenizer does not give back as it was.

Inside forced text the engine offers one split only, the tokenizer's own. But a tokenizer reads `<|im_end|>` in plain
text as its special token, one that normalises to NFC spells decomposed letters anew, another changes other letters,
and a byte without a token is dropped: such tokens are not the text that was forced, and the engine walks into its own
dead end. Without forcing every split is offered.
"""

import re
import unicodedata
from typing import Final

from compiler_pool.tokenizer import BoundTokenizer

_WITHOUT_FORCING: Final = '%llguidance {"no_forcing": true}\n'
_ESCAPE: Final = re.compile(
    r"\\(?:x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|[xuU]\{([0-9A-Fa-f]{1,8})\})|\\"
)
_MAX_CODE_POINT: Final = 0x10FFFF
_VOWELS_AND_FINALS: Final = range(0x1160, 0x1200)
"""Of Hangul: letters that NFC joins to the one before."""


def with_safe_forcing(grammar: str, tokenizer: BoundTokenizer) -> str:
    """The grammar, with forcing left off if some text of it could be one that the tokenizer reads otherwise."""
    return without_forcing(grammar) if _may_be_read_otherwise(grammar, tokenizer) else grammar


def without_forcing(grammar: str) -> str:
    """The same language; forced runs are given up."""
    return grammar if grammar.startswith(_WITHOUT_FORCING) else _WITHOUT_FORCING + grammar


def _may_be_read_otherwise(grammar: str, tokenizer: BoundTokenizer) -> bool:
    if not tokenizer.is_faithful:
        return True
    # Escapes are read wherever they stand, escaped backslashes too: a yes too many costs forced runs, never exactness.
    plain = _with_pairs_joined(_ESCAPE.sub(_character, grammar))
    # Only which characters there are is asked: forced text may be put together from pieces in any order.
    characters = frozenset(plain)
    if tokenizer.composes_text and not all(map(_stays_in_nfc, characters)):
        return True
    if not tokenizer.missing_bytes.isdisjoint("".join(characters).encode()):
        return True
    return any(characters.issuperset(text) for text in tokenizer.misread)


def _stays_in_nfc(character: str) -> bool:
    """Whether NFC leaves it alone, whatever comes before: marks may join, and so do some letters of Hangul."""
    return (
        not unicodedata.category(character).startswith("M")
        and ord(character) not in _VOWELS_AND_FINALS
        and unicodedata.is_normalized("NFC", character)
    )


def _with_pairs_joined(text: str) -> str:
    """Escapes of JSON spell what lies past U+FFFF as two surrogates."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _character(escape: re.Match[str]) -> str:
    digits = next((group for group in escape.groups() if group), None)
    if digits is None:
        return ""
    code = int(digits, 16)
    return chr(code) if code <= _MAX_CODE_POINT else ""
