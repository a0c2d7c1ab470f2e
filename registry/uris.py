"""RFC 3986 reference resolution, for every scheme: `urllib` leaves references under `urn:` and the like alone."""

import re
from typing import Final

MAX_URI_CHARACTERS: Final = 2_048
"""Of a name that a schema gives itself: it is the base of every reference below, and resolved with each."""

# RFC 3986, appendix B.
_PARTS: Final = re.compile(r"(?:([^:/?#]+):)?(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?", re.DOTALL)


def resolve_uri(base: str, reference: str) -> tuple[str, str]:
    """The URI that `reference` means where `base` is the base, and its fragment (still percent-encoded)."""
    scheme, authority, path, query, fragment = _split(reference)
    if scheme is not None:
        return _join(scheme, authority, _without_dots(path), query), fragment or ""
    base_scheme, base_authority, base_path, base_query, _ = _split(base)
    if authority is not None:
        path = _without_dots(path)
    else:
        authority = base_authority
        if not path:
            path = base_path
            query = query if query is not None else base_query
        elif path.startswith("/"):
            path = _without_dots(path)
        elif base_authority is not None and not base_path:
            path = _without_dots(f"/{path}")
        else:
            path = _without_dots(base_path[: base_path.rfind("/") + 1] + path)
    return _join(base_scheme, authority, path, query), fragment or ""


def _split(uri: str) -> tuple[str | None, str | None, str, str | None, str | None]:
    parts = _PARTS.fullmatch(uri)
    assert parts is not None
    scheme, authority, path, query, fragment = parts.groups()
    return scheme, authority, path, query, fragment


def _join(scheme: str | None, authority: str | None, path: str, query: str | None) -> str:
    head = "" if scheme is None else f"{scheme.lower()}:"
    middle = "" if authority is None else f"//{authority}"
    return f"{head}{middle}{path}" + ("" if query is None else f"?{query}")


def _without_dots(path: str) -> str:
    """RFC 3986, section 5.2.4."""
    output: list[str] = []
    segments = path.split("/")
    for index, segment in enumerate(segments):
        is_last = index == len(segments) - 1
        if segment == "..":
            if len(output) > 1 or (output and output[0]):
                output.pop()
            if is_last:
                output.append("")
        elif segment == ".":
            if is_last:
                output.append("")
        else:
            output.append(segment)
    return "/".join(output)
