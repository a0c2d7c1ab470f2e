"""A contract's patterns on RE2: linear time, bounded memory, the same translation that the compiler used."""

from collections import OrderedDict

import re2

from gateway.validation.errors import UnjudgeablePatternError
from registry.errors import UnsupportedPatternError
from registry.patterns import translate_pattern

MAX_PATTERN_MEMORY_BYTES = 2 * 1024 * 1024
"""Per pattern, program and automaton together; RE2 refuses what does not fit."""

MAX_COMPILED_PATTERNS = 32
"""Per process, least recently used first to go: 64 MiB at the worst."""

_OPTIONS = re2.Options()
_OPTIONS.max_mem = MAX_PATTERN_MEMORY_BYTES
_OPTIONS.log_errors = False

_compiled: "OrderedDict[str, re2._Regexp]" = OrderedDict()


def matches(pattern: str, text: str) -> bool:
    """Whether the ECMA-262 `pattern` is found anywhere in `text`.

    Raises:
        UnjudgeablePatternError: RE2 cannot run it; never skipped, because a skipped pattern is a constraint lost.
    """
    return _compile(pattern).search(text) is not None


def _compile(pattern: str) -> "re2._Regexp":
    if pattern in _compiled:
        _compiled.move_to_end(pattern)
        return _compiled[pattern]
    try:
        program = re2.compile(translate_pattern(pattern), _OPTIONS)
    except UnsupportedPatternError as error:
        raise UnjudgeablePatternError(pattern=pattern, reason=str(error)) from error
    except re2.error as error:
        raise UnjudgeablePatternError(pattern=pattern, reason="RE2 refuses it") from error
    _compiled[pattern] = program
    if len(_compiled) > MAX_COMPILED_PATTERNS:
        _compiled.popitem(last=False)
        # The library keeps a cache of its own, larger and unbounded in bytes.
        re2.purge()
    return program
