"""Whether what a `tokenizer.json` does to text before merging leaves the text as it was."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

_SPACE_MARK: Final = "\u2581"
_SPLITTERS: Final = frozenset({"ByteLevel", "Digits", "Metaspace", "Punctuation", "Split", "UnicodeScripts"})


def keeps_text(document: Mapping[str, Any]) -> bool:
    """True only for steps known to keep text in NFC, the mark of spaces aside: closed to what is not listed here."""
    return all(_is_keeping_normaliser(step) for step in _steps(document.get("normalizer"), "normalizers")) and all(
        # A splitter may drop what it splits at.
        step["type"] in _SPLITTERS and step.get("behavior") != "Removed"
        for step in _steps(document.get("pre_tokenizer"), "pretokenizers")
    )


def _is_keeping_normaliser(step: Mapping[str, Any]) -> bool:
    match step["type"]:
        case "NFC":
            return True
        case "Prepend":  # the engine takes it out, because forced text continues other text
            return True
        case "Replace":
            return bool(step["pattern"] == {"String": " "} and step["content"] == _SPACE_MARK)
        case _:
            return False


def _steps(step: Any, inner: str) -> Iterator[Mapping[str, Any]]:
    if step is None:
        return
    if step["type"] == "Sequence":
        for each in step[inner]:
            yield from _steps(each, inner)
    else:
        yield step
