"""RFC 6901 pointers, as this package writes and reads them."""

from urllib.parse import unquote_to_bytes


def escape(token: str) -> str:
    """One reference token as it stands in a pointer."""
    if "~" in token or "/" in token:
        return token.replace("~", "~0").replace("/", "~1")
    return token


def join(pointer: str, *tokens: str | int) -> str:
    """`pointer` followed by `tokens`, escaped."""
    for token in tokens:
        pointer = f"{pointer}/{escape(token) if isinstance(token, str) else token}"
    return pointer


def tokens_of(pointer: str) -> tuple[str, ...]:
    """The unescaped tokens of a pointer that is empty or starts with `/`."""
    return tuple(token.replace("~1", "/").replace("~0", "~") for token in pointer.split("/")[1:])


def percent_decoded(fragment: str) -> str | None:
    """A URI fragment with its percent escapes undone; `None` if they are not UTF-8."""
    try:
        return unquote_to_bytes(fragment).decode("utf-8")
    except UnicodeDecodeError:
        return None
