"""Whether a language holds no string at all: exact, by looking for the shortest one."""

from collections import deque
from collections.abc import Iterator
from itertools import cycle
from math import prod
from typing import Final

from compiler_pool.form.languages import Among, Both, Either, Except, Language, Lengths, Matching, both, excluding
from compiler_pool.form.lengths import bounds_of
from compiler_pool.form.running import LanguageRun
from compiler_pool.form.shared_characters import share_no_text
from compiler_pool.form.spending import ExpansionSpending
from registry.algebra.alphabet import code_points
from registry.pattern_syntax import Anchor, Characters, Choice, PatternNode, Repeat, Sequence

MAX_CASES: Final = 16
"""Ways to take one part of each union, that are looked at one by one."""


def is_empty_language(language: Language, spending: ExpansionSpending) -> bool:
    """Whether no string is in the language. Raises `ExpansionSpentError` where that is too dear to find out."""
    match language:
        case Matching(tree=tree):
            return matches_nothing(tree)
        case Among(texts=texts):
            return not texts
        case Lengths(minimum=minimum, maximum=maximum):
            return maximum is not None and maximum < minimum
        case Either(parts=parts):
            return all(is_empty_language(part, spending) for part in parts)
        case Except(part=Among()):
            return False
        case Both():
            return _is_empty_conjunction(language, spending)
        case Except():
            return _is_unreachable(language, spending)


def matches_nothing(tree: PatternNode) -> bool:
    """Whether a tree without anchors matches no text: somewhere it needs a character out of an empty set."""
    match tree:
        case Characters(ranges=(_, *_), negated=False) | Characters(classes=(_, *_), negated=False):
            return False
        case Characters():
            return all(low >= 0xD800 and high <= 0xDFFF for low, high in code_points(tree))
        case Anchor():
            raise AssertionError(tree)
        case Sequence(parts=parts):
            return any(map(matches_nothing, parts))
        case Choice(branches=branches):
            return all(map(matches_nothing, branches))
        case Repeat(node=node, minimum=minimum):
            return minimum > 0 and matches_nothing(node)


def _is_empty_conjunction(language: Both, spending: ExpansionSpending) -> bool:
    language = Both(parts=tuple(dict.fromkeys(_opened(language))))
    kept = frozenset(language.parts)
    if any(excluding(part) in kept for part in kept):
        return True
    bounds = bounds_of(language)
    if bounds.maximum is not None and bounds.maximum < bounds.minimum:
        return True
    if share_no_text(language.parts, spending):
        return True
    unions = [part for part in language.parts if isinstance(part, Either)]
    if 0 < prod(len(union.parts) for union in unions) <= MAX_CASES and unions:
        # One by one they are far smaller than all at once, and mostly the first will do.
        others = [part for part in language.parts if part != unions[0]]
        return all(is_empty_language(both(branch, *others), spending) for branch in unions[0].parts)
    if any(isinstance(part, Lengths) for part in language.parts):
        # Without a count to keep, there are far fewer states to see that nothing is there.
        unbounded = both(*(part for part in language.parts if not isinstance(part, Lengths)))
        if is_empty_language(unbounded, spending):
            return True
    return _is_unreachable(language, spending)


def _opened(language: Both) -> Iterator[Language]:
    """The parts of a conjunction, and of those within it."""
    for part in language.parts:
        if isinstance(part, Both):
            yield from _opened(part)
        else:
            yield part


def _is_unreachable(language: Language, spending: ExpansionSpending) -> bool:
    run = LanguageRun(language, spending)
    if run.accepts(run.start):
        return False
    seen = {run.start}
    pending = deque(seen)
    # The newest states lead to long texts soonest, the oldest to short ones: each kind alone can be far off.
    for is_oldest in cycle((True, False, False, False)):
        if not pending:
            return True
        for _, after in run.successors(pending.popleft() if is_oldest else pending.pop()):
            if run.accepts(after):
                return False
            if after not in seen:
                seen.add(after)
                pending.append(after)
    raise AssertionError(language)
