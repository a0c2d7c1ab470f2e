"""The one spelling of a regular expression that is a contract: ECMA-262 again, so that it reads back as itself."""

from typing import Final

from registry.pattern_syntax import ANY, Anchor, Characters, Choice, PatternNode, Repeat, Sequence, is_written_plainly

# Punctuation that may stand for itself everywhere, in a class and out of it.
_PLAIN: Final = frozenset(" !\"#%',/:;<=>@_`&~")


def write_regex(node: PatternNode) -> str:
    """The text of a tree without anchors; every caller's spelling of one tree gives one text."""
    node = _simple(node)
    match node:
        case Characters():
            return _characters(node)
        case Anchor():
            raise ValueError("a full match has no anchors")
        case Sequence():
            parts = map(_simple, node.parts)
            return "".join(
                f"(?:{write_regex(part)})" if isinstance(part, Choice) else write_regex(part) for part in parts
            )
        case Choice():
            return "|".join(map(write_regex, node.branches))
        case Repeat():
            inner = write_regex(node.node)
            is_atom = isinstance(_simple(node.node), Characters)
            return (inner if is_atom else f"(?:{inner})") + quantifier(node.minimum, node.maximum)


def _simple(node: PatternNode) -> PatternNode:
    """A sequence of one is that one."""
    while isinstance(node, Sequence) and len(node.parts) == 1:
        node = node.parts[0]
    return node


def quantifier(minimum: int, maximum: int | None) -> str:
    """The shortest spelling of a repetition, the same in every syntax that is read here."""
    match (minimum, maximum):
        case (0, None):
            return "*"
        case (1, None):
            return "+"
        case (0, 1):
            return "?"
        case (_, None):
            return f"{{{minimum},}}"
        case _:
            return f"{{{minimum}}}" if minimum == maximum else f"{{{minimum},{maximum}}}"


def _characters(node: Characters) -> str:
    if node == ANY or (node.negated and not node.ranges and not node.classes):
        return "[^]"
    if not node.negated and not node.classes:
        if not node.ranges:
            return "[]"
        if len(node.ranges) == 1 and node.ranges[0][0] == node.ranges[0][1]:
            return _code_point(node.ranges[0][0])
    parts = []
    for low, high in node.ranges:
        first, last = _code_point(low), _code_point(high)
        parts.append(first if low == high else first + last if high == low + 1 else f"{first}-{last}")
    return f"[{'^' if node.negated else ''}{''.join(parts)}{''.join(node.classes)}]"


def _code_point(code_point: int) -> str:
    character = chr(code_point)
    is_plain = character.isascii() and (character.isalnum() or character in _PLAIN)
    is_plain = is_plain or is_written_plainly(code_point)
    return character if is_plain else f"\\u{{{code_point:X}}}"
