"""JSON Pointers, absolute and relative."""

import re2

_POINTER = r"(?:/(?:[^/~]|~[01])*)*"
_ABSOLUTE = re2.compile(f"(?s:{_POINTER})")
_RELATIVE = re2.compile(rf"(?s:(?:0|[1-9][0-9]*)(?:[+-](?:0|[1-9][0-9]*))?(?:#|{_POINTER}))")


def is_json_pointer(text: str) -> bool:
    """RFC 6901 section 3, the plain string form (a fragment identifier is another thing)."""
    return _ABSOLUTE.fullmatch(text) is not None


def is_relative_json_pointer(text: str) -> bool:
    """`draft-bhutton-relative-json-pointer-00`: levels up, an index step, then `#` or a pointer."""
    return _RELATIVE.fullmatch(text) is not None
