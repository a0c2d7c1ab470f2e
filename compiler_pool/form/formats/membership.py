"""Whether one string is in a format, as far as its language tells."""

from collections.abc import Callable
from functools import lru_cache
from typing import TypeAlias

import re2

from compiler_pool.form.formats.table import Fit, format_language
from compiler_pool.form.languages import Among, Both, Either, Except, Language, Lengths, Matching
from registry.algebra.truth import Ternary
from registry.patterns import write_pattern

_Test: TypeAlias = Callable[[str], bool]


def in_format(name: str, text: str) -> Ternary:
    """Whether the string is in a format of the specification; `None` where only the validator can tell."""
    is_held = _test_of(name)(text)
    match format_language(name).fit:
        case Fit.EXACT:
            return is_held
        case Fit.NARROWER:
            return True if is_held else None
        case Fit.WIDER:
            return None if is_held else False


@lru_cache(maxsize=32)
def _test_of(name: str) -> _Test:
    """Made once in a process: some take milliseconds to make."""
    return _test(format_language(name).language)


def _test(language: Language) -> _Test:
    match language:
        case Matching(tree=tree):
            program = re2.compile(write_pattern(tree))
            return lambda text: program.fullmatch(text) is not None
        case Among(texts=texts):
            return frozenset(texts).__contains__
        case Lengths(minimum=minimum, maximum=maximum):
            return lambda text: len(text) >= minimum and (maximum is None or len(text) <= maximum)
        case Both(parts=parts):
            tests = [_test(part) for part in parts]
            return lambda text: all(test(text) for test in tests)
        case Either(parts=parts):
            tests = [_test(part) for part in parts]
            return lambda text: any(test(text) for test in tests)
        case Except(part=part):
            inner = _test(part)
            return lambda text: not inner(text)
