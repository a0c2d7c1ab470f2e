"""Markers in text that is still coming."""


def num_certain(text: str, marker: str) -> int:
    """How many characters of `text` are not the beginning of a marker that may yet come."""
    for length in range(min(len(marker) - 1, len(text)), 0, -1):
        if text.endswith(marker[:length]):
            return len(text) - length
    return len(text)
