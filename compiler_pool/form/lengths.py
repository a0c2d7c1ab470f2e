"""How long the texts of a tree are, and trees held to a length: a length beside a pattern costs the engine dearly."""

from collections.abc import Iterable
from functools import reduce

from compiler_pool.form.languages import Among, Both, Either, Except, Language, Lengths, Matching
from registry.pattern_syntax import Anchor, Characters, Choice, PatternNode, Repeat, Sequence


def bounds_of(language: Language) -> Lengths:
    """Lengths that hold all of a language, as though no part of it were empty."""
    match language:
        case Matching(tree=tree):
            return lengths_of(tree)
        case Among(texts=texts):
            return _hull(Lengths(minimum=len(text), maximum=len(text)) for text in texts)
        case Lengths():
            return language
        case Both(parts=parts):
            return reduce(common_lengths, map(bounds_of, parts), Lengths())
        case Either(parts=parts):
            return _hull(map(bounds_of, parts))
        case Except():
            return Lengths()


def lengths_of(tree: PatternNode) -> Lengths:
    """The shortest and the longest length of a tree without anchors, as though none of its sets were empty."""
    match tree:
        case Characters():
            return Lengths(minimum=1, maximum=1)
        case Anchor():
            raise AssertionError(tree)
        case Sequence(parts=parts):
            each = [lengths_of(part) for part in parts]
            return Lengths(minimum=sum(part.minimum for part in each), maximum=_sum([part.maximum for part in each]))
        case Choice(branches=branches):
            return _hull(map(lengths_of, branches))
        case Repeat(node=node, minimum=minimum, maximum=maximum):
            inner = lengths_of(node)
            is_endless = inner.maximum != 0 and maximum != 0 and (inner.maximum is None or maximum is None)
            most = None if is_endless else (inner.maximum or 0) * (maximum or 0)
            return Lengths(minimum=inner.minimum * minimum, maximum=most)


def common_lengths(left: Lengths, right: Lengths) -> Lengths:
    """Lengths in both."""
    maxima = [lengths.maximum for lengths in (left, right) if lengths.maximum is not None]
    return Lengths(minimum=max(left.minimum, right.minimum), maximum=min(maxima) if maxima else None)


def implies(narrow: Lengths, wide: Lengths) -> bool:
    """Whether all lengths of one are lengths of the other."""
    return common_lengths(narrow, wide) == narrow


def held_to(tree: PatternNode, lengths: Lengths) -> "PatternNode | None":
    """The texts of a tree that have one of the lengths, as a tree; `None` where that is no tree of the same shape.

    It is one if all but one repeat have a fixed length: the length is then a bound on that repeat.
    """
    if implies(lengths_of(tree), lengths):
        return tree
    parts = tree.parts if isinstance(tree, Sequence) else (tree,)
    sizes = [lengths_of(part) for part in parts]
    loose = [place for place, size in enumerate(sizes) if size.minimum != size.maximum]
    if len(loose) != 1:
        return None
    place = loose[0]
    repeat = parts[place]
    if not isinstance(repeat, Repeat):
        return None
    unit = lengths_of(repeat.node)
    if unit.minimum != unit.maximum or unit.minimum == 0:
        return None
    fixed = sum(size.minimum for at, size in enumerate(sizes) if at != place)
    least = max(repeat.minimum, -((fixed - lengths.minimum) // unit.minimum))
    most = repeat.maximum
    if lengths.maximum is not None:
        bound = (lengths.maximum - fixed) // unit.minimum
        most = bound if most is None else min(most, bound)
    if most is not None and most < least:
        return Characters()
    held = Repeat(node=repeat.node, minimum=least, maximum=most)
    return held if len(parts) == 1 else Sequence(parts=(*parts[:place], held, *parts[place + 1 :]))


def _hull(each: Iterable[Lengths]) -> Lengths:
    """From the shortest to the longest; of nothing, no length at all."""
    kept = list(each)
    maxima = [lengths.maximum for lengths in kept if lengths.maximum is not None]
    return Lengths(
        minimum=min((lengths.minimum for lengths in kept), default=1),
        maximum=max(maxima, default=0) if len(maxima) == len(kept) else None,
    )


def _sum(maxima: list[int | None]) -> int | None:
    kept = [maximum for maximum in maxima if maximum is not None]
    return sum(kept) if len(kept) == len(maxima) else None
