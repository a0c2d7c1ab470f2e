"""The texts of a pattern one by one, where it is only a list of words written as a pattern."""

from collections.abc import Iterable
from typing import Final

from registry.pattern_syntax import Anchor, Characters, Choice, PatternNode, Repeat, Sequence

MAX_LISTED: Final = 64
"""Texts of one pattern; more are better left a pattern."""
MAX_ALIKE: Final = 4
"""Characters of one set: `[Yy]es` is two words, `[a-z]` is no list of words."""
MAX_LISTED_CHARACTERS: Final = 1_024
"""Of one text: repeats within repeats are long."""


def list_texts(tree: PatternNode) -> tuple[str, ...] | None:
    """All texts of a tree without anchors, each once, as it names them; `None` where it is no short list."""
    match tree:
        case Characters(negated=True) | Characters(classes=(_, *_)):
            return None
        case Characters():
            points = [
                point for low, high in tree.ranges[: MAX_ALIKE + 1] for point in range(low, min(high, low + 8) + 1)
            ]
            return None if len(points) > MAX_ALIKE else _kept(tuple(map(chr, points)))
        case Anchor():
            raise AssertionError(tree)
        case Sequence(parts=parts):
            texts: tuple[str, ...] | None = ("",)
            for part in parts:
                texts = _joined(texts, list_texts(part))
                if texts is None:
                    return None
            return texts
        case Choice(branches=branches):
            return _united(map(list_texts, branches))
        case Repeat(node=node, minimum=minimum, maximum=maximum):
            inner = list_texts(node)
            if maximum is None or maximum > MAX_LISTED or inner is None:
                return None
            powers: list[tuple[str, ...] | None] = [("",)]
            for _ in range(maximum):
                powers.append(_joined(powers[-1], inner))
            return _united(powers[minimum:])


def _united(lists: Iterable[tuple[str, ...] | None]) -> tuple[str, ...] | None:
    texts: dict[str, None] = {}
    for each in lists:
        if each is None:
            return None
        texts.update(dict.fromkeys(each))
    return _kept(tuple(texts))


def _joined(left: tuple[str, ...] | None, right: tuple[str, ...] | None) -> tuple[str, ...] | None:
    if left is None or right is None:
        return None
    return _kept(tuple(dict.fromkeys(text + more for text in left for more in right)))


def _kept(texts: tuple[str, ...]) -> tuple[str, ...] | None:
    is_short = len(texts) <= MAX_LISTED and all(len(text) <= MAX_LISTED_CHARACTERS for text in texts)
    return texts if is_short else None
