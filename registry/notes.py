"""Free text that people leave beside what they do: messages, reasons, descriptions, labels."""

import unicodedata

from registry.errors import InvalidNameError
from registry.store.bounds import MAX_NOTE_CHARACTERS

_KEPT_CONTROLS = frozenset("\n\t")


def checked_note(what: str, text: str, *, max_characters: int = MAX_NOTE_CHARACTERS) -> str:
    """The text itself. Raises `InvalidNameError` if it is too long or holds what no terminal or database should get."""
    if len(text) > max_characters:
        raise InvalidNameError(what, text, reason=f"it may have {max_characters} characters")
    for character in text:
        category = unicodedata.category(character)
        if category in {"Cc", "Cs"} and character not in _KEPT_CONTROLS:
            raise InvalidNameError(what, text, reason="it holds a control character or a lone surrogate")
    return text
