"""Where the engine may not force tokens: around text that its tokenizer does not give back as it was.

Inside forced text the engine offers one split only, the tokenizer's own. But a tokenizer reads `<|im_end|>` in plain
text as its special token, and one that normalises to NFC spells decomposed letters anew: such a token is not the text
that was forced, and the engine walks into its own dead end. Without forcing every split is offered.
"""

import unicodedata
from typing import Final

from compiler_pool.tokenizer import BoundTokenizer

_WITHOUT_FORCING: Final = '%llguidance {"no_forcing": true}\n'


def with_safe_forcing(grammar: str, tokenizer: BoundTokenizer) -> str:
    """The grammar, with forcing left off if some literal of it could spell what the tokenizer reads otherwise."""
    return without_forcing(grammar) if _may_be_read_otherwise(grammar, tokenizer) else grammar


def without_forcing(grammar: str) -> str:
    """The same language; forced runs are given up."""
    return grammar if grammar.startswith(_WITHOUT_FORCING) else _WITHOUT_FORCING + grammar


def _may_be_read_otherwise(grammar: str, tokenizer: BoundTokenizer) -> bool:
    # Escapes are looked through, not understood: a yes too many costs forced runs, never exactness.
    plain = grammar.replace("\\", "")
    if not unicodedata.is_normalized("NFC", plain):
        return True
    data = plain.encode()
    return any(tokenizer.token_bytes[index] in data for index in tokenizer.special if tokenizer.token_bytes[index])
