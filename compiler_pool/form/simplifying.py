"""Languages in fewer words: an engine pays for every intersection and complement, text by text.

Nothing here changes which strings are meant.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache, reduce
from typing import Final

from compiler_pool.form.emptiness import matches_nothing
from compiler_pool.form.languages import (
    EVERY_STRING,
    NO_STRING,
    Among,
    Both,
    Either,
    Except,
    Language,
    Lengths,
    Matching,
    both,
    either,
    excluding,
)
from compiler_pool.form.lengths import bounds_of, common_lengths, held_to, implies
from compiler_pool.form.listing import list_texts
from compiler_pool.form.running import members
from compiler_pool.form.spending import ExpansionSpending
from registry.pattern_syntax import ANY, PatternNode, Repeat

_ANYTHING: Final = Repeat(node=ANY, minimum=0, maximum=None)


def simplified(language: Language, spending: ExpansionSpending) -> Language:
    """The same strings. A finite list stays or becomes `Among`, sorted where it was not given as one.

    Raises `ExpansionSpentError`.
    """
    spending.step()
    match language:
        case Matching(tree=tree):
            return _simple_tree(tree)
        case Among(texts=texts):
            return Among(texts=tuple(dict.fromkeys(texts))) if texts else NO_STRING
        case Lengths():
            return _simple_lengths(language)
        case Except(part=part):
            return _opposite(simplified(part, spending), spending)
        case Both(parts=parts):
            return _conjunction([simplified(part, spending) for part in parts], spending)
        case Either(parts=parts):
            return _disjunction(simplified(part, spending) for part in parts)


@lru_cache(maxsize=256)
def _simple_tree(tree: PatternNode) -> Language:
    if tree == _ANYTHING:
        return EVERY_STRING
    if matches_nothing(tree):
        return NO_STRING
    words = list_texts(tree)
    return Matching(tree=tree) if words is None else Among(texts=words)


def _simple_lengths(lengths: Lengths) -> Language:
    if lengths.maximum is not None and lengths.maximum < lengths.minimum:
        return NO_STRING
    if lengths.maximum == 0:
        return Among(texts=("",))
    return EVERY_STRING if lengths == Lengths() else lengths


def _opposite(part: Language, spending: ExpansionSpending) -> Language:
    match part:
        case Lengths(minimum=minimum, maximum=maximum):
            shorter = (Lengths(maximum=minimum - 1),) if minimum else ()
            longer = (Lengths(minimum=maximum + 1),) if maximum is not None else ()
            return _disjunction([_simple_lengths(lengths) for lengths in (*shorter, *longer)])
        case Among(texts=("",)):
            return Lengths(minimum=1)
        case Either(parts=parts) if parts:
            # One list of words to avoid is cheaper than the complement of a union.
            return _conjunction([_opposite(each, spending) for each in parts], spending)
        case _:
            return excluding(part)


def _conjunction(parts: Iterable[Language], spending: ExpansionSpending) -> Language:
    kept = dict.fromkeys(_opened(parts, Both))
    if NO_STRING in kept or any(excluding(part) in kept for part in kept):
        return NO_STRING
    lists = [part for part in kept if isinstance(part, Among)]
    if lists:
        others = both(*(part for part in kept if part != lists[0]))
        texts = lists[0].texts if others == EVERY_STRING else members(lists[0].texts, others, spending)
        return Among(texts=texts) if texts else NO_STRING
    lengths = reduce(common_lengths, (part for part in kept if isinstance(part, Lengths)), Lengths())
    trees = [part for part in kept if isinstance(part, Matching)]
    avoided = [
        text for part in kept if isinstance(part, Except) and isinstance(part.part, Among) for text in part.part.texts
    ]
    rest = [part for part in kept if not _is_merged(part)]
    simple = _simple_lengths(lengths)
    if simple == NO_STRING or isinstance(simple, Among):
        # Only the empty text is left, if that.
        return (
            NO_STRING if simple == NO_STRING else _conjunction([simple, *trees, *_avoiding(avoided), *rest], spending)
        )
    for place, tree in enumerate(trees):
        held = held_to(tree.tree, lengths)
        if held is not None:
            trees[place] = Matching(tree=held)
            simple = EVERY_STRING
            break
    if simple != EVERY_STRING and any(implies(bounds_of(part), lengths) for part in rest):
        simple = EVERY_STRING
    short = [_simple_tree(tree.tree) for tree in trees]
    if any(not isinstance(tree, Matching) for tree in short):
        return _conjunction([*short, simple, *_avoiding(avoided), *rest], spending)
    if avoided and not short and not rest:
        avoided = [text for text in avoided if _fits(text, lengths)]
    return both(*short, simple, *rest, *_avoiding(avoided))


def _disjunction(parts: Iterable[Language]) -> Language:
    kept = dict.fromkeys(_opened(parts, Either))
    if EVERY_STRING in kept or any(excluding(part) in kept for part in kept):
        return EVERY_STRING
    texts = tuple(dict.fromkeys(text for part in kept if isinstance(part, Among) for text in part.texts))
    others = [part for part in kept if not isinstance(part, Among)]
    if texts:
        texts = tuple(
            text for text in texts if not any(isinstance(part, Lengths) and _fits(text, part) for part in others)
        )
    return either(*others, *([Among(texts=texts)] if texts else []))


def _is_merged(part: Language) -> bool:
    return isinstance(part, Lengths | Matching) or (isinstance(part, Except) and isinstance(part.part, Among))


def _avoiding(texts: list[str]) -> list[Language]:
    return [Except(part=Among(texts=tuple(dict.fromkeys(texts))))] if texts else []


def _fits(text: str, lengths: Lengths) -> bool:
    return len(text) >= lengths.minimum and (lengths.maximum is None or len(text) <= lengths.maximum)


def _opened(parts: Iterable[Language], operator: type[Both] | type[Either]) -> Iterator[Language]:
    for part in parts:
        if isinstance(part, operator):
            yield from _opened(part.parts, operator)
        else:
            yield part
