"""The one text of a constant in a form."""

from typing import Final

from compiler_pool.form.spelling import spell_characters
from registry.contract import JsonValue
from registry.text import canonical_json

_DELETE: Final = "\x7f"


def constant_text(value: JsonValue) -> str:
    """The compact text, its members in the order they have, its strings spelled as all strings of a form are."""
    # The one character that canonical JSON leaves as it is and a form does not. It stands in strings alone.
    return canonical_json(value).replace(_DELETE, spell_characters(_DELETE))
