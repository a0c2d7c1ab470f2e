"""Places in a list, as opaque texts. A cursor holds keys of the list itself and a digest of the question it answers:
it grants nothing, since every page is asked with the viewer's own rights, and cannot lead into another list."""

import base64
import binascii
import json
from collections.abc import Sequence
from hashlib import sha256
from typing import Final

from registry.errors import InvalidNameError

MAX_CURSOR_CHARACTERS: Final = 1_024
_DIGEST_CHARACTERS: Final = 16

Place = Sequence[str | int]


def write_cursor(question: Sequence[object], place: Place) -> str:
    """The cursor that goes on after `place`."""
    text = json.dumps([_digest(question), *place], separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def read_cursor(question: Sequence[object], cursor: str, *, shape: Sequence[type]) -> list[str | int]:
    """The place that `cursor` goes on after.

    Raises:
        InvalidNameError: it is not a cursor of this question.
    """
    try:
        if len(cursor) > MAX_CURSOR_CHARACTERS:
            raise ValueError
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        parts = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))  # noqa: TID251 - bounded above
    except (ValueError, binascii.Error, RecursionError) as error:
        raise InvalidNameError("a cursor", cursor) from error
    if not isinstance(parts, list) or [type(part) for part in parts] != [str, *shape]:
        raise InvalidNameError("a cursor", cursor)
    if parts[0] != _digest(question):
        raise InvalidNameError("a cursor", cursor, reason="it belongs to another question")
    return parts[1:]


def _digest(question: Sequence[object]) -> str:
    text = json.dumps([None if part is None else str(part) for part in question])
    return sha256(text.encode()).hexdigest()[:_DIGEST_CHARACTERS]
