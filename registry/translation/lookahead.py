r"""Patterns that begin with look-ahead: what must not follow, or must, is a pattern of its own.

`^(?!X)Y` finds a match exactly in strings that `^Y` matches and `^(?:X)` does not: both begin where the string does. So
it is `pattern: ^Y` beside `not: {type: string, pattern: ^(?:X)}`, which engines without look-around can run. Look-ahead
anywhere else has no such counterpart here, and stays refused.
"""

from typing import Final

from registry.contract import JsonValue
from registry.translation.rewriting import Path, Rewriting

_HEADS: Final = {"(?!": False, "(?=": True}
_REPEATS: Final = ("*", "+", "?", "{")
_LOOKING: Final = ("(?!", "(?=", "(?<")
MAX_LOOKED_AHEAD: Final = 8
"""Groups of look-ahead in one pattern."""


def looks_ahead(pattern: JsonValue) -> bool:
    """Whether a pattern may be one of those that are split."""
    return isinstance(pattern, str) and pattern[:1] == "^" and pattern[1:4] in _HEADS


def split_lookahead(rewriting: Rewriting) -> None:
    """Put what a `pattern` looks ahead for into `allOf`, where that says the same."""
    pattern = rewriting.members.get("pattern")
    conjuncts = rewriting.members.get("allOf", [])
    if not isinstance(pattern, str) or not looks_ahead(pattern) or not isinstance(conjuncts, list):
        return
    found = _split(pattern)
    if found is None:
        return
    groups, rest = found
    source: Path = ("pattern",)
    if "allOf" not in rewriting:
        rewriting.origins["allOf",] = source
    wrappers: list[JsonValue] = []
    for must, body in groups:
        at: Path = ("allOf", len(conjuncts) + len(wrappers))
        ahead: dict[str, JsonValue] = {"type": "string", "pattern": f"^(?:{body})"}
        wrappers.append({"pattern": ahead["pattern"]} if must else {"not": ahead})
        # Every place within the wrapper, so that no pointer mixes the author's words with the translation's.
        for below in ((), ("pattern",), ("not",), ("not", "type"), ("not", "pattern")):
            rewriting.origins[at + below] = source
        rewriting.wrapped[at] = ()
    rewriting.members["pattern"] = rest
    rewriting.members["allOf"] = [*conjuncts, *wrappers]
    rewriting.note("look-ahead at the beginning of pattern -> patterns in allOf", "pattern")


def _split(pattern: str) -> tuple[list[tuple[bool, str]], str] | None:
    """What is looked ahead for, group by group, and the pattern without; `None` where there is more to it."""
    groups: list[tuple[bool, str]] = []
    rest = pattern[1:]
    while rest[:3] in _HEADS:
        end = _group_end(rest)
        if end is None or len(groups) == MAX_LOOKED_AHEAD:
            return None
        groups.append((_HEADS[rest[:3]], rest[3:end]))
        rest = rest[end + 1 :]
    parts = [rest, *(body for _, body in groups)]
    if rest.startswith(_REPEATS) or _has_choice(rest) or any(each in part for part in parts for each in _LOOKING):
        return None
    return groups, f"^{rest}"


def _group_end(text: str) -> int | None:
    """Where the group that begins the text is closed."""
    depth = 0
    for at, character in _outside_classes(text):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return at
    return None


def _has_choice(text: str) -> bool:
    """Whether a `|` stands outside all groups: then the look-ahead is of the first alternative only."""
    depth = 0
    for _, character in _outside_classes(text):
        depth += (character == "(") - (character == ")")
        if character == "|" and depth == 0:
            return True
    return False


def _outside_classes(text: str) -> list[tuple[int, str]]:
    """The characters that are neither escaped nor in a class, with their places."""
    found: list[tuple[int, str]] = []
    is_escaped = is_in_class = False
    for at, character in enumerate(text):
        if is_escaped:
            is_escaped = False
        elif character == "\\":
            is_escaped = True
        elif is_in_class:
            is_in_class = character != "]"
        elif character == "[":
            is_in_class = True
        else:
            found.append((at, character))
    return found
