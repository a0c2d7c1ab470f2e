"""JSON Pointers, absolute and relative."""

from typing import Final

from compiler_pool.form.formats.reading import matching
from compiler_pool.form.languages import Language

_POINTER: Final = "(?:/(?:[^/~]|~[01])*)*"
_COUNT: Final = "(?:0|[1-9][0-9]*)"


def json_pointer() -> Language:
    """RFC 6901 section 3, the plain string form."""
    return matching(_POINTER)


def relative_json_pointer() -> Language:
    """`draft-bhutton-relative-json-pointer-00`: levels up, an index step, then `#` or a pointer."""
    return matching(f"{_COUNT}(?:[+-]{_COUNT})?(?:#|{_POINTER})")
