"""Kinds of undeclared names: two names are of one kind if all patterns and wishes say the same of both."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from compiler_pool.form.emptiness import is_empty_language
from compiler_pool.form.languages import EVERY_STRING, Among, Language, both, excluding
from compiler_pool.form.making import Making
from compiler_pool.form.simplifying import simplified
from compiler_pool.form.strings import pattern_language, string_language
from registry.algebra.formulas import Wants
from registry.algebra.keyword_formulas import JsonType


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

    It is asked of kinds in full only, so that no language is looked into that no member can have.
    """
    taken = tuple(declared)
    free = excluding(Among(texts=taken)) if taken else EVERY_STRING
    splits = [(pattern, pattern_language(pattern)) for pattern in patterns]
    named = [(wish, string_language(making.flat([wish], JsonType.STRING), making)) for wish in wishes]
    classes = [NameClass(language=free)]
    for pattern, language in splits:
        classes = _split(classes, pattern, language, making)
    for wish, language in named:
        classes = _split(classes, wish, language, making)
    found: list[NameClass] = []
    for one in classes:
        if is_allowed(one):
            language = simplified(one.language, making.spending)
            if not is_empty_language(language, making.spending):
                found.append(replace(one, language=language))
    return found


def _split(classes: list[NameClass], by: str | Wants, language: Language, making: Making) -> list[NameClass]:
    """Each class in two, without those that are empty where that must be known to keep them few."""
    split: list[NameClass] = []
    for one in classes:
        within = both(one.language, language)
        marked = (
            replace(one, language=within, patterns=one.patterns | {by})
            if isinstance(by, str)
            else replace(one, language=within, wishes=one.wishes | {by})
        )
        without = replace(one, language=both(one.language, excluding(language)))
        split += [marked, without]
    making.spending.step(len(split))
    if len(split) <= _FEW:
        return split
    return [one for one in split if not is_empty_language(one.language, making.spending)]


_FEW = 4
"""Classes up to which emptiness is only looked into at the end."""
