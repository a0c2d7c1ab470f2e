"""Kinds of undeclared names: two names are of one kind if all patterns and wishes say the same of both."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Final

from compiler_pool.form.emptiness import is_empty_language
from compiler_pool.form.languages import EVERY_STRING, Among, Language, both, excluding
from compiler_pool.form.making import Making
from compiler_pool.form.pattern_glimpses import begin_apart, sample
from compiler_pool.form.simplifying import simplified
from compiler_pool.form.strings import pattern_language, string_language
from registry.algebra.formulas import Wants
from registry.algebra.keyword_formulas import JsonType

_MOST_DOUBLINGS: Final = 40
"""Past every budget."""
_COMMON_NAMES: Final = ("extra", "Extra", "x", "X", "a", "0", "_", "-", "", "é", "extra name", "x1")
"""Names that mostly show that a kind has some."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NameClass:
    """The undeclared names for which exactly these patterns find a match, and which are as exactly these wishes say."""

    language: Language
    patterns: frozenset[str] = frozenset()
    wishes: frozenset[Wants] = frozenset()


def name_classes(
    patterns: Iterable[str],
    wishes: Iterable[Wants],
    *,
    declared: Iterable[str],
    making: Making,
    is_allowed: Callable[[NameClass], bool],
) -> list[NameClass]:
    """The kinds of names other than the declared ones, without those that `is_allowed` denies; none is empty.

    Raises `ExpansionSpentError`.
    """
    sought, wanted = tuple(patterns), tuple(wishes)
    if sought or wanted:
        return _Sorting(sought, wanted, tuple(declared), making).classes(is_allowed)
    # All names but finitely many.
    one = NameClass(language=EVERY_STRING)
    if not is_allowed(one):
        return []
    taken = tuple(dict.fromkeys(declared))
    making.spending.step()
    return [NameClass(language=excluding(Among(texts=taken)))] if taken else [one]


@dataclass(slots=True, kw_only=True)
class _Kind:
    """Names that are told apart by the patterns looked at so far."""

    within: frozenset[str] = frozenset()
    without: tuple[str, ...] = ()
    seen: list[str] = field(default_factory=list)
    """Names of the kind that were thought of: with one of them it is not empty."""


class _Sorting:
    def __init__(
        self, patterns: Sequence[str], wishes: Sequence[Wants], declared: Sequence[str], making: Making
    ) -> None:
        self._patterns = patterns
        self._languages = {pattern: pattern_language(pattern) for pattern in patterns}
        self._wishes = [(wish, string_language(making.flat([wish], JsonType.STRING), making)) for wish in wishes]
        self._declared = declared
        self._making = making
        self._apart: dict[frozenset[str], bool] = {}

    def classes(self, is_allowed: Callable[[NameClass], bool]) -> list[NameClass]:
        """All of them."""
        # Paid for before it is made: each wish doubles it.
        self._making.spending.step(1 << min(len(self._wishes), _MOST_DOUBLINGS))
        wished = list(product((True, False), repeat=len(self._wishes)))
        found: list[NameClass] = []
        for kind in self._kinds():
            for truths in wished:
                held = frozenset(wish for (wish, _), holds in zip(self._wishes, truths, strict=True) if holds)
                one = NameClass(language=EVERY_STRING, patterns=kind.within, wishes=held)
                if not is_allowed(one):
                    continue
                by_wish = zip(self._wishes, truths, strict=True)
                parts = (language if holds else excluding(language) for (_, language), holds in by_wish)
                language = both(self._language(kind), *parts)
                if (kind.seen and not truths) or not is_empty_language(language, self._making.spending):
                    found.append(replace(one, language=simplified(language, self._making.spending)))
        return found

    def _kinds(self) -> list[_Kind]:
        """Split by one pattern after the other; what is empty is dropped at once, so that kinds stay few."""
        if not self._patterns:
            # All names but finitely many: one that is longer than these is of the kind.
            return [_Kind(seen=["x" * (1 + max(map(len, self._declared), default=0))])]
        samples = dict.fromkeys((*filter(None, map(sample, self._patterns)), *_COMMON_NAMES))
        declared = set(self._declared)
        finds = self._making.solver.truth.finds
        kinds = [_Kind(seen=[name for name in samples if name not in declared])]
        for pattern in self._patterns:
            split: list[_Kind] = []
            for kind in kinds:
                self._making.spending.step(1 + len(kind.seen))
                matched = [name for name in kind.seen if finds(pattern, name)]
                others = [name for name in kind.seen if name not in matched]
                inside = _Kind(within=kind.within | {pattern}, without=kind.without, seen=matched)
                outside = _Kind(within=kind.within, without=(*kind.without, pattern), seen=others)
                split += [one for one in (inside, outside) if one.seen or not self._is_empty(one)]
            kinds = split
        return kinds

    def _is_empty(self, kind: _Kind) -> bool:
        within = [pattern for pattern in self._patterns if pattern in kind.within]
        pairs = ((one, other) for at, one in enumerate(within) for other in within[at + 1 :])
        if any(self._are_apart(one, other) for one, other in pairs):
            return True
        return is_empty_language(self._language(kind), self._making.spending)

    def _are_apart(self, one: str, other: str) -> bool:
        """Whether no name at all matches both patterns."""
        key = frozenset((one, other))
        if key not in self._apart:
            self._apart[key] = begin_apart(one, other) or is_empty_language(
                both(self._languages[one], self._languages[other]), self._making.spending
            )
        return self._apart[key]

    def _language(self, kind: _Kind) -> Language:
        """The undeclared names of the kind, in few words: without what excludes nothing."""
        within = [pattern for pattern in self._patterns if pattern in kind.within]
        without = [pattern for pattern in kind.without if not any(self._are_apart(pattern, other) for other in within)]
        decided = (*within, *without)
        finds = self._making.solver.truth.finds
        taken = tuple(
            name
            for name in self._declared
            if all(bool(finds(pattern, name)) == (pattern in kind.within) for pattern in decided)
        )
        return both(
            *(self._languages[pattern] for pattern in within),
            *(excluding(self._languages[pattern]) for pattern in without),
            *((excluding(Among(texts=taken)),) if taken else ()),
        )
